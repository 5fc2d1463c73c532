//! Small cases calculated by hand.

use std::slice;

use terrace_base::Nanos;
use terrace_policy::replacement;
use terrace_sim::pages::{Around, Inclusion, PageMachine, Prefetch, Work};
use terrace_trace::Access;

use crate::machine::{predictor, readahead, settings, simulate, stream, touch, touches};

const R: bool = false;
const W: bool = true;

#[test]
fn first_touches_cost_what_they_cost_with_dram_alone() {
    let outcome = simulate(settings(2), &[touches(&[(1, R), (2, W), (1, R)])], 2);
    // The first touch begins the clock; each is a trap, clearing the page, and a map.
    assert_eq!(outcome.time(), Nanos(20 + 2 * (1 + 4 + 8)));
    assert_eq!(outcome.all_dram(), outcome.time());
    assert_eq!(outcome.counts.first_touches, 2);
    assert_eq!(outcome.counts.misses(), 2);
    assert_eq!(outcome.counts.writes, 1);
    assert_eq!(outcome.full_at, None);
}

#[test]
fn a_pause_is_as_long_as_its_instructions_say() {
    for pause in [
        1 << 29,
        (1 << 30) - 1,
        1 << 30,
        3_000_000_001,
        1 << 50,
        1 << 63,
    ] {
        let last = 10 + pause;
        let trace = [
            touch(0, 0, 1, W),
            touch(1, 0, 3, R),
            touch(0, 10, 2, R),
            touch(0, last, 1, R),
            touch(0, last + 5, 2, R),
        ];
        for block in 1..6 {
            let outcome = simulate(settings(3), slice::from_ref(&trace.to_vec()), block);
            assert_eq!(outcome.time(), Nanos(last + 5 + 2 * 13), "{pause} {block}");
            assert_eq!(outcome.all_dram(), outcome.time());
        }
    }
}

#[test]
fn a_fault_pays_for_the_write_and_the_read() {
    // 1 goes for 2 and is written at once, for there is no buffer; then it is read again, for
    // which 2 has to be written.
    let outcome = simulate(settings(1), &[touches(&[(1, R), (2, R), (1, R)])], 9);
    let first = 13;
    let second = 10 + 1 + 16 + 1000 + 4 + 8;
    let third = 10 + 1 + 16 + 2 + 1000 + 100 + 4 + 8;
    assert_eq!(outcome.time(), Nanos(first + second + third));
    assert_eq!(outcome.all_dram(), Nanos(20 + 2 * 13));
    assert_eq!((outcome.counts.writebacks, outcome.counts.reads), (2, 1));
    assert_eq!(outcome.full_at, Some(2));
    assert_eq!(outcome.times.evict, Nanos(2000));
    assert_eq!(outcome.times.read, Nanos(100));
    assert_eq!(outcome.latencies.fault(), Some((third - 10) as f64));
    assert_eq!(outcome.latencies.device(), Some(100.0));
}

#[test]
fn an_inclusive_tier_keeps_copies_an_exclusive_one_does_not() {
    // All three pages are written once; from then on they are only read.
    let pages: Vec<_> = (0..30).map(|touch| (touch % 3, touch < 3)).collect();
    let inclusive = simulate(settings(2), &[touches(&pages)], 7);
    assert_eq!(inclusive.counts.writebacks, 3);
    let exclusive = simulate(
        terrace_sim::pages::PageMachine {
            inclusion: Inclusion::Exclusive,
            ..settings(2)
        },
        &[touches(&pages)],
        7,
    );
    assert_eq!(exclusive.counts.evictions, exclusive.counts.writebacks);
    assert_eq!(inclusive.counts.full_misses, exclusive.counts.full_misses);
    // One page's place is free when the next is evicted.
    assert!(exclusive.tier_pages_used < inclusive.tier_pages_used + 1);
}

#[test]
fn an_eviction_buffer_hides_writes_and_gives_pages_back() {
    let mut buffered = settings(1);
    buffered.eviction_buffer = 4;
    // 1 is still in the buffer when it is needed again: no read, no write.
    let outcome = simulate(buffered, &[touches(&[(1, W), (2, W), (1, R)])], 9);
    assert_eq!((outcome.counts.rescues, outcome.counts.writebacks), (1, 0));
    let rescue = 10 + 1 + 16 + 8;
    assert_eq!(outcome.time(), Nanos(13 + (10 + 1 + 16 + 12) + rescue));
}

/// As Linux does with a dirty page that its reclaim comes to.
#[test]
fn a_policy_has_dirty_pages_written_that_stay() {
    let mut machine = settings(3);
    machine.replacement = replacement::Spec::parse("linux").expect("it is there");
    (machine.fault.write_out, machine.fault.write_again) = (Nanos(32), Nanos(64));
    // For 4 leaves 2, and 1 is written, which is a hit then, and dirty again; for 2 leave 3 and 4,
    // and 1 is written again.
    let before = [(1, W), (2, R), (3, R), (4, R), (1, W), (5, R), (2, R)];
    let outcome = simulate(machine.clone(), &[touches(&before)], 9);
    let counts = &outcome.counts;
    assert_eq!((counts.full_misses, counts.evictions), (1, 3));
    assert_eq!(counts.writebacks, 2 + 3);
    assert_eq!(outcome.times.write_out, Nanos(4 * 32 + 64));
    // It goes without another write for 6.
    let after: Vec<_> = before.into_iter().chain([(6, R)]).collect();
    let gone = simulate(machine.clone(), &[touches(&after)], 9);
    assert_eq!(gone.counts.evictions, 4);
    // Its tier holds no page of DRAM: what leaves is written.
    machine.inclusion = Inclusion::Exclusive;
    let counts = simulate(machine, &[touches(&after)], 9).counts;
    assert_eq!(counts.writebacks, counts.evictions);
}

#[test]
fn a_second_thread_waits_for_the_same_read() {
    // Both touch page 1 and push it out with 2; at 2000 and 2010 both want it back.
    let program = [
        touch(0, 0, 1, R),
        touch(0, 10, 2, R),
        touch(1, 0, 2, R),
        touch(0, 4000, 1, R),
        touch(1, 4010, 1, R),
    ];
    let outcome = simulate(settings(1), &[program.to_vec()], 9);
    assert_eq!(outcome.counts.full_misses, 1);
    assert_eq!(outcome.counts.partial_misses, 1);
    assert_eq!(outcome.programs[0].threads, 2);
}

#[test]
fn programs_have_pages_of_their_own() {
    let program = touches(&[(1, R), (1, R)]);
    let outcome = simulate(settings(4), &[program.clone(), program], 9);
    assert_eq!(outcome.footprint_pages, 2);
    assert_eq!(outcome.counts.first_touches, 2);
    assert_eq!(outcome.programs.len(), 2);
    assert_eq!(outcome.programs[0], outcome.programs[1]);
}

/// Fedorov 2016, 5.4.2: the program waits for the pages of the block before its own.
#[test]
fn readahead_reads_the_aligned_block_in_its_order() {
    let mut machine = settings(8);
    machine.eviction_buffer = 8;
    machine.prefetch = readahead(Around::Block, 2);
    // Pages are evicted in their order, written four at a time, and lie in this order in the tier.
    let pass = (0..16).map(|page| touch(0, page * 10_000, page, W));
    let program: Vec<_> = pass.chain([touch(0, 200_000, 2, R)]).collect();
    let outcome = simulate(machine.clone(), slice::from_ref(&program), 99);
    assert_eq!(outcome.counts.reads, 4);
    assert_eq!(outcome.story.issued, 3);
    // Each of the three others is made room for and handed over.
    let mut costly = machine.clone();
    costly.fault.readahead = Nanos(5);
    let costly = simulate(costly, slice::from_ref(&program), 99);
    assert_eq!(costly.times.prefetch, Nanos(3 * 5));
    assert_eq!(costly.time(), outcome.time() + Nanos(3 * 5));
    let read = outcome.times.read;
    machine.prefetch = Prefetch::Off;
    let alone = simulate(machine, &[program], 99);
    assert_eq!(alone.counts.reads, 1);
    assert!(
        read >= alone.times.read + Nanos(200),
        "0 and 1 are read before 2"
    );
}

/// Linux 6.18, mm/swap_state.c: where what is read ahead is not used, single pages are read. A walk
/// through the columns of a matrix uses every third page, which half of DRAM has room for; blocks
/// of fixed size fill DRAM with the others. Live, a walk of 18 MB had 5,737 faults and read 5,760
/// pages; the simulation has 5,508 to 5,625 faults, and 2.25 million with blocks.
#[test]
fn readahead_follows_the_use_of_what_it_read() {
    let mut machine = settings(144);
    machine.eviction_buffer = 32;
    let rows = 0..96;
    let column = |column: u64| rows.clone().map(move |row| 3 * row + column / 8);
    let walk = (0..288).chain((0..24).flat_map(column)).enumerate();
    let program: Vec<_> = walk
        .map(|(step, page)| touch(0, 10_000 * step as u64, page, step < 288))
        .collect();
    let mut faults = |prefetch| {
        machine.prefetch = prefetch;
        let outcome = simulate(machine.clone(), slice::from_ref(&program), 9);
        outcome.counts.full_misses + outcome.counts.partial_misses
    };
    let single = faults(Prefetch::Off);
    let [addresses, slots, block] = [Around::Addresses, Around::Slots, Around::Block]
        .map(|around| faults(readahead(around, 3)));
    assert!(addresses.abs_diff(single) < 20, "{addresses} for {single}");
    assert!(slots.abs_diff(single) < 20, "{slots} for {single}");
    assert!(block > 3 * single, "{block} for {single}");
}

/// Linux 6.18: a page that comes for a store gets the next place of the swap area when it leaves.
/// Live, with vm.page-cluster 3 and 4,084 pages of DRAM, this program had 26,044 major faults and
/// read 39,254 pages; with loads in place of the later stores 31,540 and 31,544.
#[test]
fn what_is_stored_to_lies_where_it_last_left() {
    const PAGES: u64 = 8192;
    let mut machine = settings(4084);
    machine.replacement = replacement::Spec::parse("linux").expect("it is there");
    machine.eviction_buffer = 64;
    machine.prefetch = readahead(Around::Slots, 3);
    for (write, faults, reads) in [(W, 26_044, 39_254), (R, 31_540, 31_544)] {
        let first = (0..PAGES).map(|page| (page, W));
        let later = (0..4 * PAGES).map(|step| (step * 1237 % PAGES, write));
        let steps = (0..).step_by(10_000).zip(first.chain(later));
        let program: Vec<_> = steps
            .map(|(instruction, (page, write))| touch(0, instruction, page, write))
            .collect();
        let counts = simulate(machine.clone(), &[program], 1024).counts;
        let near = |simulated: u64, live: u64| simulated.abs_diff(live) * 33 < live;
        assert!(near(counts.full_misses, faults), "{counts:?}");
        assert!(near(counts.reads, reads), "{counts:?}");
    }
}

/// Fedorov 2016, 5.5.2: neighbours go to different devices, which read at the same time.
#[test]
fn several_devices_serve_at_the_same_time_and_readahead_stays_on_one() {
    let mut machine = settings(8);
    machine.eviction_buffer = 8;
    machine.prefetch = readahead(Around::Block, 1);
    machine.tier.devices = 2;
    // Pages 0 to 7 go to the devices in turn: 0, 2, 4, 6 to one, 1, 3, 5, 7 to the other.
    let pass = (0..16).map(|page| touch(0, page * 10_000, page, W));
    let blocks = |page| pass.clone().chain([touch(0, 200_000, page, R)]).collect();
    // 2 with 0, which is read before it; 1 with 3, which is read behind it.
    for (page, waits) in [(2, 200), (1, 100)] {
        let outcome = simulate(machine.clone(), &[blocks(page)], 99);
        assert_eq!((outcome.counts.reads, outcome.story.issued), (2, 1));
        assert_eq!(outcome.times.read, Nanos(waits), "page {page}");
    }
    // Four pages of two devices take as long as two of one; all are foretold at once.
    let program: Vec<_> = blocks(0);
    let mut read = |devices| {
        machine.prefetch = predictor("spatial:degree=3");
        machine.work = Work::Synchronous;
        machine.tier.devices = devices;
        let outcome = simulate(machine.clone(), slice::from_ref(&program), 99);
        assert_eq!(outcome.counts.reads, 4);
        (outcome.time(), outcome.tier_pages_used)
    };
    let (one, two) = (read(1), read(2));
    assert_eq!(one.1, two.1);
    assert_eq!(one.0, two.0 + Nanos(200));
}

/// Oskin & Loh 2015, V.D: what is fetched ahead pushes nothing out of memory proper.
#[test]
fn a_prefetch_cache_keeps_fetched_pages_apart() {
    let mut machine = settings(4);
    machine.eviction_buffer = 8;
    machine.prefetch = predictor("spatial:degree=2");
    // 10 to 15 go to the tier; 0 and 1 fill memory. 10 is needed, 11 and 12 are foretold.
    let pages = [10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 0, 1, 10];
    let step = |(step, page): (usize, &u64)| touch(0, 10_000 * step as u64, *page, W);
    let mut program: Vec<_> = pages.iter().enumerate().map(step).collect();
    let mut after = |page, cache| {
        program.truncate(pages.len());
        program.push(touch(0, 1_000_000, page, R));
        machine.prefetch_cache = cache;
        let mut sized = machine.clone();
        sized.dram_pages = 2 + cache.max(2);
        let outcome = simulate(sized, slice::from_ref(&program), 99);
        (outcome.counts.misses(), outcome.story.used, outcome.time())
    };
    // 1 was used just before 10: it is there with the cache, and 11 as well.
    let there = after(1, 2);
    let foreseen = after(11, 2);
    assert_eq!((foreseen.0, foreseen.1), (there.0, there.1 + 1));
    // A minor fault, and what goes for it.
    assert_eq!(foreseen.2, there.2 + Nanos(1 + 8 + 16));
    // With room for one, only the second of the two that were fetched is there.
    assert_eq!(after(12, 1).1, after(11, 1).1 + 1);
}

/// A machine, and a program on it: 100 pages lie in the tier; 0 is needed, and 8 after it are
/// foretold; then 80 is needed.
fn foretold_twice() -> (PageMachine, Vec<Access>) {
    let mut machine = settings(64);
    machine.eviction_buffer = 64;
    let pass = (0..164).map(|page| touch(0, page * 10_000, page, W));
    let ends = [
        touch(0, 2_000_000, 0, R),
        touch(0, 2_000_001, 80, R),
        touch(0, 3_000_000, 80, R),
    ];
    (machine, pass.chain(ends).collect())
}

/// Awad 2016, 5.3: a fault causes no prefetches while some are on their way, and hands no work
/// over.
#[test]
fn a_fault_causes_prefetches_only_while_none_is_on_its_way() {
    let (mut machine, program) = foretold_twice();
    machine.prefetch = predictor("spatial");
    machine.fault.prefetch = Nanos(7);
    for (work, issued, handed) in [(Work::Asynchronous, 16, 14), (Work::Single, 8, 7)] {
        machine.work = work;
        let outcome = simulate(machine.clone(), slice::from_ref(&program), 99);
        assert_eq!(outcome.story.issued, issued, "{work:?}");
        assert_eq!(outcome.times.prefetch, Nanos(handed), "{work:?}");
    }
}

/// Fedorov 2016, figure 5.5: without a secondary queue a demand request waits for all prefetches
/// that came before it; with one, for no more than the one that is being served.
#[test]
fn a_fault_waits_for_prefetches_in_the_main_queue() {
    let (mut machine, program) = foretold_twice();
    let mut waited = |prefetch| {
        machine.prefetch = predictor(prefetch);
        let outcome = simulate(machine.clone(), slice::from_ref(&program), 99);
        assert_eq!(outcome.story.issued, 16, "{prefetch}");
        outcome.times.read.0
    };
    assert_eq!(
        waited("spatial:queue=direct"),
        100 + 900 - (4 + 8 + 1 + 1 + 16 + 2)
    );
    assert_eq!(waited("spatial"), 100 + 200 - (4 + 8 + 1 + 1 + 16 + 2));
}

/// Fedorov 2016, 5.4.5: at the second fault 7 hints wait in a queue of 16, so it queues 9/16 of its
/// 8 pages, rounded up.
#[test]
fn a_fault_queues_fewer_hints_where_others_wait() {
    let (mut machine, program) = foretold_twice();
    machine.prefetch = predictor("spatial:hints=16,throttle=occupancy");
    let outcome = simulate(machine, &[program], 99);
    assert_eq!((outcome.story.issued, outcome.story.filtered), (13, 3));
}

#[test]
fn a_sequential_pass_is_foreseen() {
    let mut machine = settings(512);
    machine.eviction_buffer = 64;
    machine.tier.timing.channels = 4;
    machine.tier.timing.write = Nanos(10);
    let passes: Vec<_> = (0..4 * 2048).map(|touch| (touch % 2048, R)).collect();
    let program: Vec<_> = passes
        .iter()
        .enumerate()
        .map(|(index, (page, write))| touch(0, index as u64 * 100, *page, *write))
        .collect();
    let alone = simulate(machine.clone(), slice::from_ref(&program), 100);
    machine.prefetch = stream();
    let foreseen = simulate(machine.clone(), slice::from_ref(&program), 100);
    assert_eq!(alone.counts.full_misses, 3 * 2048);
    assert!(foreseen.counts.full_misses < 100, "{:?}", foreseen.counts);
    assert!(foreseen.story.used > 5500, "{:?}", foreseen.counts);
    assert!(foreseen.time() < alone.time());
    machine.work = Work::Synchronous;
    let synchronous = simulate(machine, &[program], 100);
    assert!(
        synchronous.time() > foreseen.time(),
        "who waits for prefetches is later"
    );
}

#[test]
fn figures_after_a_warmup_leave_it_out() {
    let pages: Vec<_> = (0..36).map(|touch| (touch % 4, touch < 4)).collect();
    let mut machine = settings(3);
    let whole = simulate(machine.clone(), &[touches(&pages)], 9);
    machine.warmup = 8;
    let warm = simulate(machine, &[touches(&pages)], 9);
    assert_eq!(warm.counts.accesses, 28);
    assert_eq!(warm.counts.first_touches, 0);
    assert_eq!(warm.counts.full_misses, whole.counts.full_misses - 4);
    assert_eq!((whole.is_cold(), warm.is_cold()), (Some(true), Some(false)));
    assert!(warm.time() < whole.time());
}

/// Processes that the trace shows one after the other, as a shell starts them, take as long as
/// one thread that does it all.
#[test]
fn what_comes_one_after_the_other_is_not_at_once() {
    let steps: Vec<_> = (0..300u64)
        .map(|step| (step / 100, step % 7, step % 3 == 0))
        .collect();
    let apart = |(index, &(thread, page, write)): (usize, &(u64, u64, bool))| Access {
        process: thread as u16,
        ..touch(thread as u16, (index as u64 % 100) * 10, page, write)
    };
    let apart: Vec<_> = steps.iter().enumerate().map(apart).collect();
    let together = |(index, &(thread, page, write)): (usize, &(u64, u64, bool))| {
        touch(0, index as u64 * 10, page + 100 * thread, write)
    };
    let together: Vec<_> = steps.iter().enumerate().map(together).collect();
    for (warmup, block) in [(0, 1000), (0, 7), (150, 30)] {
        let mut machine = settings(5);
        machine.warmup = warmup;
        let apart = simulate(machine.clone(), slice::from_ref(&apart), block);
        let together = simulate(machine, slice::from_ref(&together), block);
        assert_eq!(apart.programs[0].threads, 3);
        assert_eq!(apart.counts, together.counts);
        // Two pauses of 10 instructions are none between threads.
        let gaps = together.time() - apart.time();
        assert!(gaps <= Nanos(20), "{apart:?} {together:?}");
        assert!((apart.slowdown() / together.slowdown() - 1.0).abs() < 0.02);
        assert_eq!(apart.times.shootdown, Nanos::ZERO);
    }
}

/// A process that another starts after its last touch waits for the fault of that touch, even if
/// a third thread is behind when it is made.
#[test]
fn who_waits_for_a_run_waits_for_its_last_fault() {
    let process = |process, thread, instruction, page| Access {
        process,
        ..touch(thread, instruction, page, W)
    };
    // A third thread runs beside; the last touch of the first faults on page 1, which had to go.
    let beside = |step: u64| process(0, 1, step * 10, 3 + step.min(5));
    let mut program = vec![
        process(0, 0, 0, 1),
        process(0, 0, 10, 2),
        process(0, 1, 0, 3),
    ];
    program.extend((1..1000).map(beside));
    program.push(process(0, 0, 5_000, 1));
    program.push(process(1, 2, 0, 9));
    program.push(process(1, 2, 300_000, 9));
    let mut machine = settings(2);
    machine.eviction_buffer = 1;
    let outcome = simulate(machine.clone(), slice::from_ref(&program), 4);
    machine.tier.timing.read = Nanos(100_000);
    let slow = simulate(machine, &[program], 4);
    let later = slow.time() - outcome.time();
    assert!(later >= Nanos(90_000), "{later}: {outcome:?} {slow:?}");
}

/// A thread that waits for another begins again where that one has come to.
#[test]
fn who_slept_over_the_warmup_does_not_bring_its_sleep() {
    let mut program = vec![touch(0, 0, 1, R)];
    program.extend((0..300_000).map(|step| touch(1, step * 100, 2, R)));
    program.extend((1..1000).map(|step| touch(0, step * 100, 1, R)));
    let mut machine = settings(4);
    machine.warmup = 290_000;
    let outcome = simulate(machine, &[program], 5000);
    assert!(outcome.time() < Nanos(12_000 * 100), "{outcome:?}");
    assert!(outcome.times.idle <= outcome.time(), "{outcome:?}");
}

#[test]
fn a_warmup_longer_than_the_trace_leaves_the_whole() {
    let mut machine = settings(3);
    machine.warmup = 100;
    assert_eq!(
        simulate(machine, &[touches(&[(1, R)])], 9).counts.accesses,
        1
    );
}

#[test]
fn every_policy_runs_in_the_simulator() {
    let pages: Vec<_> = (0..400u64)
        .map(|touch| (touch * touch % 23, touch % 3 == 0))
        .collect();
    for entry in replacement::REGISTRY {
        if let replacement::Make::Online(_) = entry.make {
            let mut machine = settings(7);
            machine.replacement = entry.into();
            let outcome = simulate(machine, &[touches(&pages)], 50);
            assert_eq!(outcome.counts.first_touches, 12, "{}", entry.name);
            assert!(outcome.counts.full_misses > 0, "{}", entry.name);
        }
    }
}
