//! What the policies achieve with programs that run for minutes.

use terrace_base::Bytes;

use super::{Load, server};
use crate::machine::simulate;

const MIB: f64 = (1 << 20) as f64;

#[test]
fn a_cold_part_leaves_and_the_program_hardly_stalls() {
    let mut load = Load::new(2_000);
    load.scan(0..1_500);
    load.hot(500, 400);
    let outcome = simulate(server("slowdown:goal=0.02"), &[load.accesses], 4096);
    let controlled = outcome.control.expect("there is a policy");
    let last = outcome.looks.last().expect("there were looks");
    let held = last.dram.0 / 4096;
    assert!(held <= 1_000, "half of the cold part is out: {held} pages");
    assert!(controlled.stalls < 0.02, "{controlled:?}");
    let by_hand: f64 = outcome
        .looks
        .iter()
        .map(|look| look.dram.0 as f64 * look.looks as f64)
        .sum();
    let mean = by_hand / controlled.looks as f64 / MIB;
    let told = controlled.dram_mean.0 as f64 / MIB;
    assert!((mean - told).abs() < 0.05 * told, "{mean} {told}");
}

#[test]
fn a_burst_ends_in_a_second() {
    let mut load = Load::new(2_000);
    load.scan(0..8_000);
    load.hot(500, 400);
    let begin = load.now;
    // All of the cold table at once, as fast as the machine can: for longer than between looks.
    load.pause = 1_000;
    load.scan(500..8_000);
    load.pause = 500_000;
    load.hot(500, 60);
    let outcome = simulate(server("slowdown"), &[load.accesses], 4096);
    let worst = outcome.control.as_ref().and_then(|one| one.stalls_worst);
    assert!(worst > Some(0.1), "the burst stalls: {worst:?}");
    let behind = |look: &&terrace_sim::pages::Look| look.time_ns.0 > begin;
    let behind: Vec<_> = outcome.looks.iter().filter(behind).collect();
    assert!(
        behind.iter().any(|look| look.given_back > Bytes(0)),
        "something is given back"
    );
    let hurts = behind.iter().filter(|look| look.stalls() > Some(0.02));
    let until = hurts.map(|look| look.time_ns.0).max().unwrap_or(begin);
    assert!(
        until - begin <= 2_000_000_000,
        "it is over after {} ms",
        (until - begin) / 1_000_000
    );
}

#[test]
fn a_steady_program_is_left_alone() {
    let returns = |seconds| {
        let mut load = Load::new(500);
        load.scan(0..600);
        // Most pages are lukewarm: each is used every six seconds.
        load.hot(600, seconds);
        let outcome = simulate(server("slowdown:goal=0.02"), &[load.accesses], 4096);
        outcome.control.expect("there is a policy").returns
    };
    let (short, long) = (returns(500), returns(4_000));
    assert!(long <= short + 9, "{short} returns, then {long}");
}

#[test]
fn a_program_that_uses_all_is_hardly_moved() {
    let mut load = Load::new(200);
    (0..100).for_each(|_| load.scan(0..600));
    let outcome = simulate(server("slowdown"), &[load.accesses], 4096);
    let controlled = outcome.control.expect("there is a policy");
    // Two pages at each of 540 looks else.
    assert!(controlled.reclaimed > Bytes(0) && controlled.reclaimed < Bytes::of_pages(300));
    let used = outcome.looks.iter().filter(|look| look.reason == "used");
    assert!(used.map(|look| look.looks).sum::<u64>() > 300);
}
