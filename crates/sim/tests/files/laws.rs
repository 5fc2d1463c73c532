//! What holds of every machine.

use proptest::prelude::*;
use terrace_sim::files::Organisation;

use crate::replay::{simulate, simulate_one};
use crate::twin::requests;

proptest! {
    #[test]
    fn every_page_comes_from_somewhere(
        requests in requests(), warmup in 0..100_u64, buffer in prop_oneof![Just("0"), Just("3")],
        replacement in prop_oneof![Just("lru"), Just("2q"), Just("s3fifo")],
        flash in prop_oneof![Just("lru"), Just("fifo"), Just("s3fifo")],
        admission in prop_oneof![
            Just("all"), Just("second-read"), Just("sketch"), Just("size:most=8K"), Just("sequential:pages=2"),
            Just("all+write-budget:bytes-per-day=64K"),
        ],
    ) {
        let warmup = warmup.to_string();
        let values = [
            ("dram", "3p,9p"), ("flash-size", "off,7p"), ("organisation", "extended,multilevel,memory"),
            ("admission", admission), ("replacement", replacement), ("flash-replacement", flash),
            ("writes", "through,back"), ("write-buffer", buffer), ("warmup", &warmup),
        ];
        for run in simulate(&requests, &values) {
            let (outcome, machine) = (&run.outcome, &run.machine);
            let counts = outcome.counts;
            prop_assert_eq!(counts.dram_hits + counts.flash_hits + counts.disk_reads, counts.reads);
            prop_assert!(counts.seeks <= counts.disk_reads + counts.disk_writes);
            let refused: u64 = outcome.refused.iter().map(|(_, pages)| pages).sum();
            prop_assert_eq!(counts.refused, refused);
            let worn = outcome.worn.as_ref().map_or(0.0, |worn| worn.mean() * worn.places() as f64);
            prop_assert_eq!(counts.flash_writes as f64, worn.round());
            // A page is written to flash once for each time that it came to DRAM: flash may have
            // lost it meanwhile.
            if machine.organisation != Organisation::Memory && warmup == "0" {
                prop_assert!(counts.flash_writes <= counts.disk_reads + counts.writes + counts.flash_hits);
            }
            if machine.flash_pages == 0 {
                prop_assert_eq!(counts.flash_writes + counts.flash_hits + counts.refused, 0);
            }
            let sums = outcome.points.last().map(|point| (point.counts, point.time));
            prop_assert_eq!(sums, Some((counts, outcome.time)));
        }
    }

    /// What is counted after a warm-up is what is counted of all requests, without what is counted
    /// of the first. All of it lasts less than a day.
    #[test]
    fn a_warm_up_is_left_out(
        requests in requests(), part in 0.0..1.0_f64,
        admission in prop_oneof![Just("all"), Just("second-read"), Just("all+write-budget:bytes-per-day=64K")],
    ) {
        let first = (requests.len() as f64 * part) as usize;
        let values = [
            ("dram", "5p"), ("flash-size", "off,7p"), ("organisation", "extended,multilevel,memory"),
            ("admission", admission), ("writes", "back"),
        ];
        let warmup = [("warmup", &*first.to_string())];
        let (all, before) = (simulate(&requests, &values), simulate(&requests[..first], &values));
        let after = simulate(&requests, &[&values[..], &warmup].concat());
        for ((all, before), after) in all.iter().zip(&before).zip(&after) {
            let [all, before, after] = [all, before, after].map(|run| &run.outcome);
            prop_assert_eq!(after.counts, all.counts - before.counts);
            prop_assert_eq!(after.time, all.time - before.time);
            let refused: u64 = after.refused.iter().map(|(_, pages)| pages).sum();
            prop_assert_eq!(refused, after.counts.refused);
            if let Some(busiest) = after.busiest_day {
                prop_assert_eq!(busiest, after.counts.flash_written());
            }
        }
    }

    /// A flash that takes no time is never slower than none.
    #[test]
    fn free_flash_never_costs_time(requests in requests()) {
        let values = [
            ("dram", "4p"), ("flash-size", "off,9p"), ("admission", "all"), ("flash-slow-down", "0"),
            // Without seeks: the reads that flash saves may have led the disk to the next.
            ("disk-latency", "0"),
        ];
        let runs = simulate(&requests, &values);
        prop_assert!(runs[1].outcome.time <= runs[0].outcome.time);
    }
}

/// Four reads halve what the sketch has counted: a page is worth a second write by a read that
/// flash served.
#[test]
fn admission_is_told_of_hits() {
    let [a, b, c] = [0, 100, 200].map(|page| (page, 1, false));
    let requests = [a, b, a, c, a, (0, 1, true), b];
    let values = [
        ("dram", "1p"),
        ("flash-size", "4p"),
        ("admission", "sketch"),
    ];
    let counts = simulate_one(&requests, &values).outcome.counts;
    assert_eq!(counts.flash_hits, 1, "the third read of the first page");
    assert_eq!(counts.stale, 1);
    assert_eq!(counts.flash_writes, 2);
}

/// Under a budget, multilevel main memory reads a page where it is, and what is in DRAM stays
/// there.
#[test]
fn a_page_that_is_held_back_moves_nothing() {
    let [a, b] = [0, 100].map(|page| (page, 1, false));
    let values = [
        ("dram", "1p"),
        ("flash-size", "9p"),
        ("organisation", "memory"),
        ("admission", "all"),
        ("budget", "1G"),
    ];
    let counts = simulate_one(&[a, b, a, b, a, b], &values).outcome.counts;
    assert_eq!((counts.disk_reads, counts.flash_writes), (2, 1));
    assert_eq!((counts.flash_hits, counts.dram_hits), (2, 2));
}

#[test]
fn slower_flash_takes_longer() {
    let requests: Vec<_> = (0..20_000_u64)
        .map(|at| (at * 7919 % 500, 1, at % 9 == 0))
        .collect();
    let values = [
        ("dram", "50p"),
        ("flash-size", "600p"),
        ("admission", "all"),
        ("flash-slow-down", "1,2,5,10"),
    ];
    let times: Vec<u64> = simulate(&requests, &values)
        .iter()
        .map(|run| run.outcome.time.0)
        .collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
}

/// Pages that are read again and again wear two places of flash alternately; both definitions of
/// life agree.
#[test]
fn even_wear_is_a_life() {
    let requests: Vec<_> = (0..30_000_u64).map(|at| (at % 3, 1, false)).collect();
    let values = [
        ("dram", "1p"),
        ("flash-size", "2p"),
        ("admission", "all"),
        ("interval", "1s"),
    ];
    let run = simulate_one(&requests, &values);
    let (levelled, first) = (run.lifetime().unwrap(), run.first_failure().unwrap());
    assert!((levelled / first - 1.0).abs() < 0.01, "{levelled} {first}");
    // 15,000 writes a place in 30,000 seconds, of 10,000 that a cell endures: some hours.
    let hours = levelled * 365.25 * 24.0;
    let expected = 10_000.0 / 15_000.0 * 30_000.0 / 3600.0;
    assert!((hours / expected - 1.0).abs() < 0.01, "{hours} {expected}");
}

/// Few places are written, among many that are not: levelling moves what they hold, which is
/// counted as written.
#[test]
fn levelling_spreads_wear() {
    let requests: Vec<_> = (0..30_000_u64).map(|at| (at % 3, 1, false)).collect();
    let values = [
        ("dram", "1p"),
        ("flash-size", "64p"),
        ("admission", "all"),
        ("organisation", "memory"),
        ("levelling", "none,randomised:psi=16,start-gap:psi=16"),
        ("interval", "1s"),
    ];
    let runs = simulate(&requests, &values);
    let worn = |run: &terrace_sim::files::Run| run.outcome.worn.clone().unwrap();
    let written = |run| worn(run).mean() * worn(run).places() as f64;
    for levelled in &runs[1..] {
        assert_eq!(levelled.outcome.counts, runs[0].outcome.counts);
        assert!(written(levelled) > written(&runs[0]));
        assert!(worn(levelled).most() < worn(&runs[0]).most() / 4.0);
        assert!(levelled.first_failure() > runs[0].first_failure());
    }
}
