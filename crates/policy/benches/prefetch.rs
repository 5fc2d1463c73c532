//! Measures the time that each predictor takes for a fault: three streams of 1 M faults of one
//! thread.
//!
//! `cargo bench -p terrace-policy --bench prefetch -- [NAME ...]` prints, for the predictors named
//! (all that do not know the future without names), nanoseconds a fault, medians of several runs.
//! A page of every prediction is reported used, which keeps predictors bold; that is in the time.
//! The memory knows every page at once, so the driver's part is not. Times are by the
//! processor time of the one thread, as Linux counts it in `/proc/thread-self/schedstat`, and
//! predictors take turns, so that a neighbour's load hits all.

mod common;

use std::time::Duration;

use common::{unit, wanted};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::prefetch::{Entry, Make, Outcome, Params, Predictor, REGISTRY};
use terrace_policy::{Fault, Location, Memory, Page, Residence, Slot, Space, Thread};

const FAULTS: usize = 1_000_000;
const PAGES: u64 = 1_000_000;
const CHAIN: usize = 200_000;
const RUNS: usize = 5;
const SEED: u64 = 1;
const SPACE: Space = Space(1);

/// Page after page, and in between two walks of other strides, one of them backwards.
fn strides() -> Vec<u64> {
    let walks = |k: u64| [k, 10_000_000 + 17 * k, k + 1, 90_000_000 - 5 * k];
    (0..).step_by(2).flat_map(walks).take(FAULTS).collect()
}

/// Draws pages by Zipf's law: the page of rank r with a probability that goes nearly as 1 / r.
fn zipf() -> Vec<u64> {
    let mut random = SplitMix64::seed_from_u64(SEED);
    let mut page = |_| {
        let rank = ((PAGES as f64).powf(unit(&mut random)) as u64).min(PAGES - 1);
        // Hot pages do not lie side by side: the factor has no divisor in common with PAGES.
        rank * 618_033 % PAGES
    };
    (0..FAULTS).map(&mut page).collect()
}

/// The same random walk over all pages of a chain, again and again.
fn chase() -> Vec<u64> {
    let mut random = SplitMix64::seed_from_u64(SEED);
    let mut chain: Vec<u64> = (0..CHAIN as u64).collect();
    for last in (1..CHAIN).rev() {
        chain.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
    }
    chain.iter().copied().cycle().take(FAULTS).collect()
}

/// A memory whose pages all lie in the tier, in the order of addresses.
struct Everywhere;

impl Memory for Everywhere {
    fn residence(&mut self, _: Location) -> Residence {
        Residence::InTier
    }

    fn slot(&mut self, at: Location) -> Option<Slot> {
        Some(Slot(at.page.0))
    }

    fn page_in(&mut self, slot: Slot) -> Option<Location> {
        Some(Location::new(SPACE, Page(slot.0)))
    }
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    let schedstat = std::fs::read_to_string("/proc/thread-self/schedstat");
    let schedstat = schedstat.expect("a Linux with schedstat");
    let nanos = schedstat.split(' ').next().and_then(|n| n.parse().ok());
    Duration::from_nanos(nanos.expect("a number of nanoseconds"))
}

/// Returns nanoseconds a fault, and pages named a fault.
fn run(mut predictor: Box<dyn Predictor>, faults: &[u64]) -> (f64, f64) {
    let mut named = Vec::new();
    let mut pages = 0;
    let begin = processor_time();
    for &page in faults {
        let fault = Fault {
            thread: Thread(1),
            at: Location::new(SPACE, Page(page)),
            offset: 0,
        };
        predictor.fault(&fault, &mut Everywhere, &mut named);
        for prediction in named.drain(..) {
            pages += prediction.pages.len();
            predictor.outcome(prediction.source, Outcome::Used);
        }
    }
    let time = processor_time() - begin;
    let a_fault = 1.0 / faults.len() as f64;
    (time.as_nanos() as f64 * a_fault, pages as f64 * a_fault)
}

fn make(entry: &Entry) -> Option<Box<dyn Predictor>> {
    match entry.make {
        Make::Online(make) => Some(make(&mut Params::default()).expect("defaults are in range")),
        Make::Offline(_) => None,
    }
}

fn main() {
    let mut entries = wanted(REGISTRY, |entry| entry.name);
    entries.retain(|entry| !entry.knows_future());

    let streams = [("strides", strides()), ("zipf", zipf()), ("chase", chase())];
    println!("{FAULTS} faults, median of {RUNS} runs: ns a fault (pages named a fault)");
    print!("{:<14}", "predictor");
    streams.iter().for_each(|(name, _)| print!("{name:>18}"));
    println!();
    let mut times = vec![[const { Vec::new() }; 3]; entries.len()];
    let mut pages = vec![[0.0; 3]; entries.len()];
    for _ in 0..RUNS {
        for (at, entry) in entries.iter().enumerate() {
            for (stream, (_, faults)) in streams.iter().enumerate() {
                let Some(predictor) = make(entry) else {
                    continue;
                };
                let (time, named) = run(predictor, faults);
                times[at][stream].push(time);
                pages[at][stream] = named;
            }
        }
    }
    for (at, entry) in entries.iter().enumerate() {
        print!("{:<14}", entry.name);
        for (times, pages) in times[at].iter_mut().zip(&pages[at]) {
            times.sort_by(f64::total_cmp);
            print!("{:>10.0} ({pages:>5.1})", times[RUNS / 2]);
        }
        println!();
    }
}
