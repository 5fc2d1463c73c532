//! Read-ahead: what it saves a stream, and what it costs who reads elsewhere.

use proptest::prelude::*;
use terrace_sim::files::Run;

use crate::replay::{Load, Request, simulate, simulate_load};
use crate::twin::load;

/// Simulates without read-ahead, and with the kernel's 128 KiB.
fn off_and_on(requests: &[Request], values: &[(&str, &str)]) -> [Run; 2] {
    let values = [&[("readahead", "off,128K")], values].concat();
    simulate(requests, &values).try_into().unwrap()
}

/// Reads of single pages.
fn reads(pages: impl IntoIterator<Item = u64>) -> Vec<Request> {
    pages.into_iter().map(|page| (page, 1, false)).collect()
}

#[test]
fn a_stream_finds_its_pages_in_dram() {
    // A page is worked on as long as it takes to transfer it.
    let values = [("dram", "100p"), ("copy", "41us")];
    let [off, on] = off_and_on(&reads(0..3200), &values);
    let (off, on) = (&off.outcome, &on.outcome);
    assert_eq!((off.counts.disk_requests, off.counts.dram_hits), (3200, 0));
    // Windows of 4, 8 and 16 pages, and then of 32.
    assert_eq!(on.counts.disk_requests, 3 + (3200_u64 - 28).div_ceil(32));
    assert_eq!((on.counts.disk_reads, on.counts.dram_hits), (3200, 3199));
    assert_eq!((on.counts.ahead_used, on.counts.ahead_wasted), (3199, 0));
    assert_eq!((off.counts.seeks, on.counts.seeks), (1, 1));
    let share = on.time.0 as f64 / off.time.0 as f64;
    assert!(
        (0.5..0.56).contains(&share),
        "the disk works beside: {share}"
    );
}

#[test]
fn streams_that_are_mixed_seek_once_a_window() {
    let mixed = reads((0..1600).flat_map(|at| [at, 100_000 + at]));
    let [off, on] = off_and_on(&mixed, &[("dram", "200p")]);
    assert_eq!(off.outcome.counts.seeks, 3200);
    assert!(on.outcome.counts.seeks < 160, "{}", on.outcome.counts.seeks);
    assert!(on.outcome.time.0 < off.outcome.time.0 / 15);
}

/// Pages of a file in an order in which none follows another.
fn elsewhere(pages: u64) -> Vec<Request> {
    reads((0..pages).map(|at| at * 7919 % pages))
}

#[test]
fn who_reads_elsewhere_is_left_alone() {
    let [off, on] = off_and_on(&elsewhere(10_007), &[("dram", "100p")]);
    // The beginning of the file is the only page that opens a window.
    assert_eq!(on.outcome.counts.ahead, 3);
    let share = on.outcome.time.0 as f64 / off.outcome.time.0 as f64;
    assert!((share - 1.0).abs() < 1e-3, "{share}");
}

/// Each pair of pages opens a window of which nothing is used: time and disk are lost, and flash is
/// written no more for it.
#[test]
fn pairs_of_pages_pay_for_windows_that_flash_does_not_take() {
    let pairs = reads((0..2000).flat_map(|at| [0, 1].map(|page| at * 401 % 2000 * 50 + page)));
    let pairs = [reads([99_999]), pairs].concat();
    let values = [
        ("dram", "100p"),
        ("flash-size", "2000p"),
        ("admission", "all"),
    ];
    let [off, on] = off_and_on(&pairs, &values);
    let counts = on.outcome.counts;
    assert!(counts.ahead > 5000, "{}", counts.ahead);
    assert!(counts.ahead_wasted as f64 > 0.95 * counts.ahead as f64);
    assert_eq!(
        counts.ahead_used, 1,
        "of the window at the beginning of the file"
    );
    assert!(on.outcome.time > off.outcome.time);
    let written = |run: &Run| run.outcome.counts.flash_writes;
    assert!(
        written(&on) <= written(&off) + 100,
        "what DRAM had at the end"
    );
}

/// Files of 40 pages with room for 64, each written, read from end to end, and given back.
#[test]
fn nothing_is_read_behind_the_end_of_a_file() {
    let mut load = Load {
        room: Some(64),
        ..Load::default()
    };
    for at in 0..100_u64 {
        // One in three is shorter than the one before in its place.
        let pages = if at % 3 == 2 { 17 } else { 40 };
        let first = 64 * (at % 5);
        load.given_back.push((load.requests.len(), first, 64));
        load.requests.push((first, pages, true));
        // It is pushed out of DRAM.
        load.requests.push((64 * 1000, 60, true));
        load.requests.push((first, 5, false));
        load.requests.push((first + 5, pages - 5, false));
    }
    let values = [("dram", "60p"), ("readahead", "128K")];
    let counts = simulate_load(&load, &values)[0].outcome.counts;
    assert!(counts.ahead_used > 100, "{}", counts.ahead_used);
    assert_eq!(counts.ahead_wasted, 0);
    // With nothing given back, a file seems as long as the longest in its place.
    load.given_back.clear();
    let counts = simulate_load(&load, &values)[0].outcome.counts;
    assert!(counts.ahead_wasted > 100, "{}", counts.ahead_wasted);
}

proptest! {
    #[test]
    fn every_page_is_accounted_for(
        load in load(), dram in prop_oneof![Just("3p"), Just("9p")],
        writes in prop_oneof![Just("through"), Just("back")], interval in prop_oneof![Just("0ns"), Just("5ms")],
        replacement in prop_oneof![Just("lru"), Just("2q"), Just("s3fifo"), Just("linux"), Just("random")],
        admission in prop_oneof![Just("all"), Just("sketch"), Just("all+write-budget:bytes-per-day=64K")],
    ) {
        let values = [
            ("dram", dram), ("flash-size", "off,7p"), ("organisation", "extended,multilevel,memory"),
            ("admission", admission), ("replacement", replacement), ("writes", writes),
            ("interval", interval), ("readahead", "off,1p,16K,128K"),
        ];
        for run in simulate_load(&load, &values) {
            let counts = run.outcome.counts;
            let missed = counts.reads - counts.dram_hits - counts.flash_hits;
            prop_assert_eq!(counts.disk_reads, missed + counts.ahead);
            prop_assert!(counts.ahead_used + counts.ahead_wasted <= counts.ahead);
            prop_assert!(counts.ahead_late <= counts.ahead_used);
            prop_assert!(counts.ahead_used <= counts.dram_hits);
            prop_assert!(counts.disk_requests <= counts.disk_reads);
            prop_assert!(counts.seeks <= counts.disk_requests + counts.disk_writes);
            if run.machine.readahead_pages == 0 {
                prop_assert_eq!((counts.ahead, counts.disk_requests), (0, counts.disk_reads));
            }
            // Flash is not worn by what was only read ahead.
            let used = missed + counts.ahead_used + counts.writes + counts.flash_hits;
            prop_assert!(run.machine.organisation == terrace_sim::files::Organisation::Memory
                || counts.flash_writes <= used);
        }
    }
}
