//! Measures the speed and the misses of each replacement policy: 20 M touches of 1 M pages,
//! Zipf with exponent 1 over scrambled page numbers, a DRAM of 100 k pages, one thread.
//!
//! `cargo bench -p terrace-policy --bench replacement -- [NAME ...]` prints, for the policies named
//! (all without names), the median of several runs in million touches a second, the fastest and
//! the slowest run, and the miss ratio. Policies take turns, so that a neighbour's load hits all.

mod common;

use std::time::Instant;

use common::{unit, wanted};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::replacement::{Entry, PageId, REGISTRY, Replacement, Spec, Touch};

const PAGES: u64 = 1_000_000;
const TOUCHES: usize = 20_000_000;
const DRAM: usize = 100_000;
const RUNS: usize = 5;
const SEED: u64 = 1;

/// Touches by Zipf's law: the page of rank r with a probability that goes as 1 / r.
fn zipf() -> Vec<Touch> {
    let mut sum = 0.0;
    let weights = (1..=PAGES).map(|rank| {
        sum += 1.0 / rank as f64;
        sum
    });
    let cumulative: Vec<f64> = weights.collect();
    let mut random = SplitMix64::seed_from_u64(SEED);
    let mut touch = |_| {
        let mark = unit(&mut random) * sum;
        let rank = cumulative.partition_point(|&weight| weight <= mark) as u64;
        // Hot pages do not lie side by side: the factor has no divisor in common with PAGES.
        let page = rank.min(PAGES - 1) * 618_033 % PAGES;
        Touch {
            page: PageId(page as u32),
            write: random.next_u64().is_multiple_of(4),
        }
    };
    (0..TOUCHES).map(&mut touch).collect()
}

fn make(entry: &'static Entry, touches: &[Touch]) -> Box<dyn Replacement> {
    let future: Vec<_> = touches.iter().map(|touch| touch.page).collect();
    let policy = Spec::from(entry).policy(DRAM, SEED, Some(&future));
    policy.expect("defaults are among the allowed values")
}

/// Returns million touches a second, and the miss ratio, of one run. Making the policy is not
/// timed.
fn run(entry: &'static Entry, touches: &[Touch]) -> (f64, f64) {
    let mut policy = make(entry, touches);
    let start = Instant::now();
    let misses = policy.replay(touches);
    let speed = TOUCHES as f64 / start.elapsed().as_secs_f64() / 1e6;
    (speed, misses as f64 / TOUCHES as f64)
}

fn main() {
    let entries: Vec<_> = wanted(REGISTRY, |entry| entry.name);

    let touches = zipf();
    let mut speeds = vec![Vec::new(); entries.len()];
    let mut ratios = vec![0.0; entries.len()];
    for _ in 0..RUNS {
        for (at, entry) in entries.iter().enumerate() {
            let (speed, ratio) = run(entry, &touches);
            speeds[at].push(speed);
            ratios[at] = ratio;
        }
    }
    println!("{TOUCHES} touches of {PAGES} pages, DRAM of {DRAM} pages, median of {RUNS} runs");
    println!("policy     M touches/s  (slowest to fastest)  miss ratio");
    for (at, entry) in entries.iter().enumerate() {
        speeds[at].sort_by(f64::total_cmp);
        let (median, slowest, fastest) =
            (speeds[at][RUNS / 2], speeds[at][0], speeds[at][RUNS - 1]);
        let (name, ratio) = (entry.name, ratios[at]);
        println!("{name:<10} {median:>11.1}  ({slowest:>7.1} to {fastest:>7.1})    {ratio:>10.4}");
    }
}
