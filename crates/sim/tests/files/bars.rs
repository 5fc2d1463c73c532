//! An endurance budget and a one-pass scan, in each organisation.

use terrace_base::Bytes;
use terrace_sim::files::Run;
use terrace_trace::Block;
use terrace_trace::generate::{KernelSettings, Zipf};

use crate::replay::{Request, simulate};

/// Requests of a Zipf load for 20,000 pages.
fn zipf(exponent: f64, requests: u64) -> Vec<Request> {
    let kind = Zipf {
        exponent,
        item: Bytes(4096),
        in_order: false,
        writes: 0,
    };
    let settings = KernelSettings {
        accesses: requests,
        footprint: Bytes::of_pages(20_000),
        seed: 1,
    };
    let mut source = kind.source(&settings).unwrap();
    let (mut block, mut all) = (Block::default(), Vec::new());
    while source.next_block(&mut block).unwrap() {
        all.extend(
            block
                .address
                .iter()
                .map(|address| (address / 4096, 1, false)),
        );
    }
    all
}

fn hit_rate(run: &Run) -> f64 {
    run.outcome.counts.hit_rate().unwrap()
}

/// Ten days with a tenth of the pages in DRAM; budgets of a fifth and a twentieth of what is
/// written without one. Returns the least share of the unbounded hits in each organisation.
fn shares_of_hits(exponent: f64, flash: &str) -> [f64; 3] {
    let requests = zipf(exponent, 500_000);
    ["extended", "multilevel", "memory"].map(|organisation| {
        let machine = [
            ("dram", "2000p"),
            ("flash-size", flash),
            ("interval", "1728ms"),
            ("admission", "all"),
            ("organisation", organisation),
        ];
        let mut least = f64::INFINITY;
        let unbounded = &simulate(&requests, &machine)[0];
        let a_day = unbounded.outcome.counts.flash_written().0 / 10;
        let budgets = format!("{},{}", a_day / 5, a_day / 20);
        for bounded in simulate(
            &requests,
            &[&machine[..], &[("budget", &*budgets)]].concat(),
        ) {
            let budget = bounded.machine.budget.unwrap().0 as f64;
            let day = bounded.outcome.busiest_day.unwrap().0 as f64 / budget;
            assert!(day <= 1.05, "{organisation}: {day} of {budget}");
            least = least.min(hit_rate(&bounded) / hit_rate(unbounded));
        }
        least
    })
}

/// Loads on which nothing was chosen. The rule of multilevel main memory under a budget was chosen
/// on exponents of 0.7, 0.9 and 1.1, with 5000, 3000 and 8000 pages of flash.
#[test]
fn a_budget_is_kept_and_costs_few_hits() {
    for (exponent, flash) in [(0.8, "4000p"), (1.0, "6000p"), (1.2, "10000p")] {
        let shares = shares_of_hits(exponent, flash);
        assert!(
            shares.iter().all(|share| *share >= 0.9),
            "{exponent}: {shares:?}"
        );
    }
}

/// A scan of ten times the flash, over a flash that is in use. Its first reads evict what is in
/// DRAM, some of which flash may want: a scan that is as long as DRAM says how much.
#[test]
fn a_scan_writes_little() {
    let (dram, flash) = (2000, 6000);
    let before = zipf(1.0, 200_000);
    let after = |pages: u64| {
        let scan = (0..pages / 8).map(|at| ((1 << 30) | (at * 8), 8, false));
        before.iter().copied().chain(scan).collect::<Vec<Request>>()
    };
    for organisation in ["extended", "multilevel", "memory"] {
        let machine = [
            ("dram", &*format!("{dram}p")),
            ("flash-size", &*format!("{flash}p")),
            ("organisation", organisation),
            (
                "admission",
                "second-read,sketch,sketch:reads=3,sequential+second-read,second-read+write-budget",
            ),
        ];
        let (short, long) = (
            simulate(&after(dram), &machine),
            simulate(&after(10 * flash), &machine),
        );
        for (short, long) in short.iter().zip(&long) {
            let written = |run: &Run| run.outcome.counts.flash_writes;
            let share = (written(long) - written(short)) as f64 / flash as f64;
            let admission = &long.machine.admission;
            assert!(
                share < 0.01,
                "{organisation} {admission}: {share} of the flash"
            );
        }
    }
}
