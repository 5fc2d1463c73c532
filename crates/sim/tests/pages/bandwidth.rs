//! Memories of limited bandwidth: what threads draw, by what memories give and latencies allow.

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_policy::migration::Spec;
use terrace_policy::write;
use terrace_sim::pages::{FaultCost, Fill, Outcome, PageMachine, ThreadOrder};
use terrace_trace::Access;

use crate::machine::{requests, settings, simulate, simulate_traces, touch};

/// Slow memory of 6.6 GB/s whose lines take 305 ns, as those of a module of 3D XPoint; lines of
/// DRAM take 15 ns. All threads begin together.
fn machine(migration: &str) -> PageMachine {
    let mut machine = settings(8);
    machine.migration = Spec::parse(migration).unwrap();
    machine.thread_order = ThreadOrder::Together;
    machine.fast_line_ps = 15_000;
    machine.tier.line_ps = Some(305_000);
    machine.tier.timing.bandwidth = Some(6_600_000_000);
    machine
}

/// Threads that read lines one after the other without computing, each of a page of its own.
fn readers(threads: u16, lines: u64) -> Vec<Access> {
    let line = |line: u64| {
        let of = move |thread: u16| {
            let mut access = touch(thread, 0, thread.into(), false);
            access.address += line % 64 * 64;
            access
        };
        (0..threads).map(of)
    };
    (0..lines).flat_map(line).collect()
}

fn near(found: Option<f64>, wanted: f64, within: f64) -> bool {
    found.is_some_and(|found| (found / wanted - 1.0).abs() < within)
}

/// Without a limit 64 threads draw 64 x 64 bytes in 305 ns, 13.4 GB/s.
#[test]
fn many_threads_draw_what_slow_memory_gives() {
    let drawn = |bandwidth| {
        let mut machine = machine("never");
        machine.tier.timing.bandwidth = bandwidth;
        let outcome = simulate(machine, &[readers(64, 2000)], 977);
        let bytes = (64 * outcome.counts.slow_reads) as f64;
        assert_eq!(outcome.counts.slow_reads, 64 * 2000);
        (bytes / outcome.time().0 as f64, outcome)
    };
    let (unlimited, outcome) = drawn(None);
    assert!(
        near(Some(unlimited), 64.0 * 64.0 / 305.0, 0.01),
        "{unlimited}"
    );
    assert_eq!(
        (outcome.drawn.slow, outcome.times.slow_wait),
        (None, Nanos(0))
    );
    let (limited, outcome) = drawn(Some(6_600_000_000));
    assert!(limited < 6.6 && near(Some(limited), 6.6, 0.01), "{limited}");
    assert_eq!(outcome.drawn.slow, Some(64 * 64 * 2000));
    assert!(near(outcome.rate(outcome.drawn.slow), 6.6e9, 0.01));
    assert_eq!(outcome.drawn.fast, None);
    // A round of all threads takes 64 lines of 9.70 ns, of which each waits all but its 305 ns.
    let waited = 64.0 * 2000.0 * (64.0 * 9.697 - 305.0);
    assert!(
        near(Some(outcome.times.slow_wait.0 as f64), waited, 0.01),
        "{}",
        outcome.times.slow_wait
    );
}

/// One thread has one line under way, of 305 ns, and never waits; it draws 64 bytes in that time.
#[test]
fn one_thread_draws_what_its_latency_allows() {
    let outcome = simulate(machine("never"), &[readers(1, 10_000)], 977);
    assert_eq!(outcome.times.slow_wait, Nanos(0));
    assert!(near(outcome.rate(outcome.drawn.slow), 64.0 / 305e-9, 0.001));
    // At 100 MB/s a line takes 640 ns, longer than its latency.
    let mut slow = machine("never");
    slow.tier.timing.bandwidth = Some(100_000_000);
    let outcome = simulate(slow, &[readers(1, 10_000)], 977);
    assert!(near(outcome.rate(outcome.drawn.slow), 1e8, 0.001));
}

/// All pages are in DRAM, whose channels are as many as the threads that use them.
#[test]
fn dram_gives_what_it_has_through_its_channels() {
    let run = |channels, bandwidth| {
        let mut machine = machine("benefit");
        (machine.fast_bandwidth, machine.fast_channels) = (Some(bandwidth), channels);
        simulate(machine, &[readers(8, 5000)], 977)
    };
    // 8 x 64 bytes in 15 ns are 34 GB/s.
    for (channels, bandwidth, drawn) in [
        (1, 20e9, 20e9),
        (1, 50e9, 8.0 * 64.0 / 15e-9),
        (8, 20e9, 20e9),
        (8, 50e9, 8.0 * 64.0 / 15e-9),
    ] {
        let outcome = run(channels, bandwidth as u64);
        assert_eq!(outcome.counts.slow_accesses, 0);
        assert_eq!(outcome.drawn.slow, Some(0));
        let found = outcome.rate(outcome.drawn.fast);
        assert!(
            near(found, drawn, 0.01),
            "{channels} {bandwidth}: {found:?}"
        );
        // Threads that begin together wait for each other once at most.
        let once = Nanos(8 * 15);
        assert_eq!(outcome.times.fast_wait > once, drawn == bandwidth);
        // Times of the threads add up to their clocks, all of which end together.
        let all = outcome.times.compute + outcome.times.fast_wait;
        assert!(near(
            Some(all.0 as f64),
            8.0 * outcome.time().0 as f64,
            0.01
        ));
    }
}

/// A device more is as much bandwidth more.
#[test]
fn devices_add_up() {
    let mut machine = machine("never");
    machine.tier.devices = 2;
    let outcome = simulate(machine, &[readers(128, 1000)], 977);
    assert!(near(outcome.rate(outcome.drawn.slow), 13.2e9, 0.01));
}

/// A page of 64 lines takes 64 x 9.70 ns to leave slow memory, and its copy 4.
#[test]
fn a_page_that_moves_occupies_its_channels() {
    let run = |bandwidth: Option<u64>, fast: Option<u64>| {
        let mut machine = machine("sampled:interval=1us,every=1,seen=1");
        (machine.dram_pages, machine.fast_bandwidth) = (1, fast);
        machine.tier.timing.bandwidth = bandwidth;
        let all: Vec<_> = (0..200)
            .map(|at| touch(0, at, u64::from(at > 0), false))
            .collect();
        let outcome = simulate(machine, &[all], 7);
        let counts = outcome.counts;
        assert_eq!((counts.move_reads, counts.move_writes), (64, 64));
        outcome
    };
    let free = run(None, None);
    assert_eq!(free.times.slow_wait + free.times.fast_wait, Nanos(0));
    let slow = run(Some(6_600_000_000), None);
    // The demotion writes slow memory for 620.6 ns, of which it took 1000 anyway; the promotion
    // reads it for 620.6, of which 4 are its copy.
    let waited = slow.times.slow_wait.0;
    assert!((615..=617).contains(&waited), "{waited}");
    let served = slow.counts.slow_accesses;
    assert_eq!(slow.drawn.slow, Some(64 * (128 + served)));
    assert_eq!(slow.time().0 - free.time().0, waited);
    // At 3.3 GB/s DRAM takes 1241 ns a page: 241 more than the demotion, and 1237 than the
    // promotion, behind which its lines take 4 ns more than DRAM's latency.
    let both = run(Some(6_600_000_000), Some(3_300_000_000));
    let moved = (241 + 1237 - 616) as i64;
    let lines = both.times.fast_wait.0 as i64 - moved;
    let per_line = (64e12 / 3.3e9 - 15_000.0) / 1000.0;
    let most = per_line * (200 - served) as f64;
    assert!((0..=most as i64 + 3).contains(&lines), "{lines} of {most}");
    assert_eq!(both.drawn.fast, Some(64 * (128 + 200 - served)));
}

/// Threads that read lines of all pages alike, each in an order of its own.
fn spread(threads: u16, lines: u64, pages: u64) -> Vec<Access> {
    let of = |line: u64, thread: u64| {
        let mixed = (line * u64::from(threads) + thread).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        touch(thread as u16, 0, (mixed >> 32) % pages, false)
    };
    let round = |line| (0..u64::from(threads)).map(move |thread| of(line, thread));
    (0..lines).flat_map(round).collect()
}

/// DRAM gives 20 GB/s, slow memory 5, both together 25 if DRAM serves four lines of five.
#[test]
fn interleaved_pages_draw_what_both_memories_give() {
    let rate = |migration: &str, dram| {
        let mut machine = machine(migration);
        (machine.dram_pages, machine.fast_bandwidth) = (dram, Some(20_000_000_000));
        machine.tier.timing.bandwidth = Some(5_000_000_000);
        let outcome = simulate(machine, &[spread(64, 3000, 100)], 977);
        (64 * 64 * 3000) as f64 / outcome.time().0 as f64
    };
    assert!(near(Some(rate("hot", 100)), 20.0, 0.02), "all in DRAM");
    assert!(near(Some(rate("never", 100)), 5.0, 0.02), "none in DRAM");
    let both = rate("interleave:fast=4,slow=1", 100);
    assert!((22.5..25.0).contains(&both), "{both}");
    // Half of the lines at 5 GB/s are as many at a time as 10 GB/s.
    let even = rate("interleave:fast=1,slow=1", 100);
    assert!(near(Some(even), 10.0, 0.05), "{even}");
    let full = rate("interleave:fast=4,slow=1", 50);
    assert!(
        near(Some(full), 10.0, 0.05),
        "{full}: DRAM had room for half"
    );
}

/// Threads that read lines of some pages four times as often as those of as many others.
fn hot_and_cold(threads: u16, lines: u64, pages: u64) -> Vec<Access> {
    let mut all = spread(threads, lines, 5 * pages);
    for access in &mut all {
        let page = access.address / 4096;
        // Of five, four are of the first pages.
        access.address = if page < 4 * pages {
            page % pages * 4096
        } else {
            (pages + page % pages) * 4096
        };
    }
    all
}

/// Runs what is hot and cold under a policy that trades, where DRAM has room for what is hot.
fn trade(name: &str, threads: u16, fast: u64) -> Outcome {
    let mut machine = machine(&format!("{name}:every=2,turns=16,slack=0.05"));
    (machine.dram_pages, machine.fast_bandwidth) = (20, Some(fast));
    machine.tier.timing.bandwidth = Some(20_000_000_000);
    machine.tier.line_ps = Some(60_000);
    simulate(
        machine,
        &[hot_and_cold(threads, 400_000 / u64::from(threads), 20)],
        977,
    )
}

/// DRAM gives 20 GB/s and slow memory as much, and four of five accesses are to pages that fit in
/// DRAM, which then take a line of 3.2 ns each, 4 ns for all five. Half of them would take 2.
#[test]
fn balance_draws_from_both_memories_where_one_is_not_enough() {
    let (hottest, even) = (
        trade("benefit", 32, 20_000_000_000),
        trade("balance", 32, 20_000_000_000),
    );
    let share = |outcome: &Outcome| {
        let [fast, slow] =
            [outcome.drawn.fast, outcome.drawn.slow].map(|drawn| drawn.unwrap() as f64);
        fast / (fast + slow)
    };
    assert!(share(&hottest) > 0.75, "{}", share(&hottest));
    assert!((0.45..0.65).contains(&share(&even)), "{}", share(&even));
    let gain = hottest.time().0 as f64 / even.time().0 as f64;
    assert!(gain > 1.2, "{gain}");
}

/// Four threads draw 4 x 64 bytes in 15 ns, 17 GB/s, and DRAM gives 200.
#[test]
fn balance_is_benefit_where_nothing_is_busy() {
    let [hottest, even] = ["benefit", "balance"].map(|name| trade(name, 4, 200_000_000_000));
    let ratio = hottest.time().0 as f64 / even.time().0 as f64;
    assert!((0.97..1.03).contains(&ratio), "{ratio}");
}

/// A thread that moves many pages at once is ahead of the others, which use the channels that it
/// leaves free: nobody waits for longer than the channels are busy.
#[test]
fn moves_keep_nobody_waiting_for_idle_channels() {
    let mut machine = machine("balance");
    machine.fault = FaultCost::linux();
    (machine.dram_pages, machine.fast_bandwidth) = (200, Some(20_000_000_000));
    machine.tier.timing.bandwidth = Some(20_000_000_000);
    machine.tier.line_ps = Some(30_000);
    let outcome = simulate(machine, &[spread(64, 4000, 200)], 977);
    let bytes = outcome.drawn.fast.unwrap() + outcome.drawn.slow.unwrap();
    let waited = outcome.times.fast_wait + outcome.times.slow_wait;
    let (busy, waited) = (bytes as f64 / 20.0, waited.0 as f64 / 64.0);
    let moved = outcome.counts.demotions;
    assert!(
        waited < busy && moved > 40,
        "{waited} of {busy} ns, {moved} moved"
    );
}

/// At 1 MB/s the only line takes 64 us, which is no less than its latency.
#[test]
fn a_line_takes_the_time_of_its_bytes() {
    let mut machine = machine("never");
    machine.tier.timing.bandwidth = Some(1_000_000);
    let outcome = simulate(machine, &[readers(1, 1)], 977);
    let time = outcome.time().0;
    assert!((63_998..64_010).contains(&time), "{time}");
}

/// What caches write back draws from slow memory as well, and from DRAM.
#[test]
fn lines_that_are_written_back_are_drawn() {
    let run = |migration| {
        let rows: Vec<_> = (0..100).map(|at| touch(0, at, at % 2, at >= 50)).collect();
        let mut machine = machine(migration);
        machine.fast_bandwidth = Some(1_000_000_000);
        let outcome = simulate_traces(machine, vec![requests(&rows, 7)]);
        assert_eq!(outcome.counts.line_writebacks, 50);
        outcome.drawn
    };
    let (slow, fast) = (run("never"), run("benefit"));
    assert_eq!((slow.slow, slow.fast), (Some(64 * 100), Some(0)));
    assert_eq!((fast.slow, fast.fast), (Some(0), Some(64 * 100)));
}

#[test]
fn figures_begin_behind_the_warm_up() {
    let mut machine = machine("never");
    machine.warmup = 600;
    let outcome = simulate(machine, &[readers(1, 1000)], 977);
    assert_eq!(outcome.drawn.slow, Some(64 * 400));
}

#[test]
fn channels_of_dram_without_bandwidth_are_refused() {
    let refused = |machine: &PageMachine| machine.bypass().unwrap_err().to_string();
    let mut machine = machine("never");
    machine.fast_channels = 2;
    assert!(refused(&machine).contains("‘fast-bandwidth’"));
    machine.fast_bandwidth = Some(1_000_000_000);
    assert!(machine.bypass().is_ok());
    machine.migration = Spec::parse("fault").unwrap();
    assert!(refused(&machine).contains("‘migration’"));
}

fn figures(outcome: &Outcome) -> (Nanos, Nanos) {
    (
        outcome.time(),
        outcome.times.fast_wait + outcome.times.slow_wait,
    )
}

proptest! {
    /// No thread draws more than memories give, or waits where bandwidth is more than all threads
    /// can draw; times of threads add up.
    #[test]
    fn nothing_is_drawn_that_is_not_there(
        rows in prop::collection::vec((0..6_u16, 0..4_u64, 0..64_u64, any::<bool>()), 1..200),
        rate in 1..40_u64, fast in 1..40_u64, channels in 1..5_u32, sectors: bool,
    ) {
        let rows: Vec<_> = rows.into_iter().enumerate().map(|(at, (thread, page, line, write))| {
            // A page is of one thread: who touches a shared one first depends on who waits.
            let mut access = touch(thread, at as u64, 6 * page + u64::from(thread), write);
            access.address += 64 * line;
            access
        }).collect();
        for migration in ["never", "benefit:every=1,turns=0.06,slack=1", "sampled:interval=1us,every=1,seen=1"] {
            let mut machine = machine(migration);
            machine.fill = if sectors { Fill::Sectors } else { Fill::Page };
            machine.writing.schemes = write::Spec::parse_list("lines").unwrap();
            machine.writing.pages = 24;
            machine.tier.timing.channels = channels;
            machine.fast_channels = channels;
            machine.tier.timing.bandwidth = Some(rate * 1_000_000_000);
            machine.fast_bandwidth = Some(fast * 1_000_000_000);
            let outcome = simulate(machine.clone(), std::slice::from_ref(&rows), 31);
            let counts = &outcome.counts;
            let slow = counts.slow_reads + counts.slow_writes + counts.move_reads + counts.move_writes;
            prop_assert_eq!(outcome.drawn.slow, Some(64 * slow));
            // What is under way at the end is not over: a page at most for each thread.
            let over = |drawn: Option<u64>| drawn.unwrap_or(0).saturating_sub(6 * 4096 + 64) as f64;
            let time = outcome.time().0 as f64 + 1.0;
            prop_assert!(over(outcome.drawn.slow) <= rate as f64 * time, "{}", migration);
            prop_assert!(over(outcome.drawn.fast) <= fast as f64 * time, "{}", migration);
            machine.tier.timing.bandwidth = None;
            (machine.fast_bandwidth, machine.fast_channels) = (None, 1);
            let free = simulate(machine.clone(), std::slice::from_ref(&rows), 31);
            prop_assert_eq!(free.times.slow_wait + free.times.fast_wait, Nanos(0));
            if migration == "never" {
                prop_assert!(free.time() <= outcome.time());
                machine.tier.timing.bandwidth = Some(1_000_000_000_000_000);
                machine.fast_bandwidth = Some(1_000_000_000_000_000);
                let wide = simulate(machine, std::slice::from_ref(&rows), 31);
                let (time, waited) = figures(&wide);
                prop_assert!(waited < Nanos(1 + rows.len() as u64 / 50), "{}", waited);
                prop_assert!(time <= free.time() + waited);
            }
        }
    }
}
