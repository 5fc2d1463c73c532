//! Threads: when they begin and what they wait for.

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_sim::pages::{Outcome, PageMachine, ThreadOrder};
use terrace_trace::Access;
use terrace_trace::order::{Event, Order, Point};

use crate::machine::{ordered, settings, simulate, simulate_traces, touch};

fn release(row: usize, thread: u16, point: u64) -> Order {
    event(row, thread, Event::Release(Point(point)))
}

fn acquire(row: usize, thread: u16, point: u64) -> Order {
    event(row, thread, Event::Acquire(Point(point)))
}

fn event(row: usize, thread: u16, event: Event) -> Order {
    Order {
        row: row as u64,
        process: 0,
        thread,
        event,
    }
}

fn replay(machine: PageMachine, accesses: &[Access], orders: &[Order]) -> Outcome {
    simulate_traces(machine, vec![ordered(accesses, orders, 64)])
}

fn together(machine: PageMachine) -> PageMachine {
    PageMachine {
        thread_order: ThreadOrder::Together,
        ..machine
    }
}

/// A touch every thousand instructions of a page that stays in DRAM.
fn walk(thread: u16, touches: u64) -> impl Iterator<Item = Access> {
    (1..=touches).map(move |index| touch(thread, 1000 * index, thread.into(), false))
}

/// What first touches cost beside their instructions in [`settings`].
const FIRST: u64 = 1 + 4 + 8;

#[test]
fn a_thread_begins_when_it_was_created() {
    // The first creates the second after half of its touches; the recorder wrote all of it before.
    let accesses: Vec<_> = walk(0, 10).chain(walk(1, 5)).collect();
    let orders = [release(5, 0, 7), acquire(10, 1, 7)];
    let outcome = replay(settings(4), &accesses, &orders);
    assert!(outcome.time() < Nanos(10_100), "{:?}", outcome.time());
    let by_place = replay(settings(4), &accesses, &[]);
    assert!(by_place.time() > Nanos(13_000), "{:?}", by_place.time());
    // The second would end last.
    let accesses: Vec<_> = walk(0, 10).chain(walk(1, 8)).collect();
    let outcome = replay(settings(4), &accesses, &orders);
    // Its first touch is where its instructions begin.
    assert_eq!(outcome.time(), Nanos(4_000 + 7_000 + 2 * FIRST));
    let outcome = replay(together(settings(4)), &accesses, &orders);
    assert_eq!(outcome.time(), Nanos(9_000 + FIRST));
}

#[test]
fn a_wait_ends_with_the_wake_and_a_wake_may_end_many() {
    // Three threads wait for the first after a touch; it wakes them after ten.
    let mut accesses: Vec<_> = (1..4).flat_map(|thread| walk(thread, 1)).collect();
    accesses.extend(walk(0, 10));
    let mut orders = vec![release(accesses.len(), 0, 50)];
    for thread in 1..4 {
        orders.push(acquire(accesses.len(), thread, 50));
        accesses.extend((2..5).map(|index| touch(thread, 1000 * index, thread.into(), false)));
    }
    let outcome = replay(settings(9), &accesses, &orders);
    // Nine pauses of the first, and three of those that wait.
    let waited = outcome.time();
    assert!(
        waited >= Nanos(12_000) && waited < Nanos(12_100),
        "{waited:?}"
    );
    assert!(replay(together(settings(9)), &accesses, &orders).time() < Nanos(9_100));
}

#[test]
fn a_wait_for_what_a_part_of_a_trace_leaves_out_is_none() {
    let accesses: Vec<_> = walk(0, 10).chain(walk(1, 5)).collect();
    let outcome = replay(
        settings(4),
        &accesses,
        &[acquire(10, 1, 7), release(12, 9, 8)],
    );
    assert_eq!(outcome.time(), Nanos(9_000 + FIRST));
}

/// Threads that touch slices of their own at random, twice as large as DRAM, in the pieces in which
/// a recorder with one processor writes them: whole threads, one after the other.
fn slices(threads: u16) -> (Vec<Access>, Vec<Order>) {
    let (pages, passes) = (40, 60);
    let mut accesses: Vec<_> = (0..3).map(|index| touch(0, 10 * index, 0, false)).collect();
    let mut orders = Vec::new();
    for thread in 1..=threads {
        orders.push(release(3, 0, thread.into()));
    }
    for thread in 1..=threads {
        orders.push(acquire(accesses.len(), thread, thread.into()));
        accesses.extend((0..pages * passes).map(|index| {
            // Knuth's multiplicative hash: pages at random.
            let drawn = (index ^ u64::from(thread) << 20).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
            let page = 100 * u64::from(thread) + drawn % pages;
            touch(thread, 10 * (index + 1), page, false)
        }));
    }
    (accesses, orders)
}

fn merged(accesses: &[Access]) -> Vec<Access> {
    let mut merged = accesses.to_vec();
    merged.sort_by_key(|access| access.instruction);
    merged
}

#[test]
fn threads_over_slices_of_their_own_are_as_if_merged_by_instructions() {
    for threads in 2..=8 {
        let (accesses, orders) = slices(threads);
        let machine = || settings(20 * usize::from(threads));
        let recorded = replay(machine(), &accesses, &orders).slowdown();
        let merged = simulate(machine(), &[merged(&accesses)], 64).slowdown();
        let off = recorded / merged - 1.0;
        assert!(
            off.abs() < 0.08,
            "{threads} threads: {recorded} and {merged}"
        );
        let together = replay(together(machine()), &accesses, &orders).slowdown();
        assert!(
            (together / merged - 1.0).abs() < 0.08,
            "{threads} threads: {together}"
        );
        let by_place = replay(machine(), &accesses, &[]).slowdown();
        assert!(
            by_place < 0.7 * merged,
            "{threads} threads: {by_place} and {merged}"
        );
    }
}

/// A program that creates two threads over slices of their own, joins the first, and goes on. The
/// rows of the second come before what it does then or, as where a processor was busy, behind,
/// which is more than is read at once.
fn joined(late: bool, point: impl Fn(u64) -> Point) -> (Vec<Access>, Vec<Order>) {
    let (mut accesses, _) = slices(2);
    let end = accesses.len().div_ceil(2) + 1;
    let second = accesses.split_off(end);
    let after = (0..1 << 18).map(|index| touch(0, 30 + index, 0, false));
    let mut orders = Vec::new();
    for thread in [1, 2] {
        orders.push(event(3, 0, Event::Release(point(thread))));
    }
    orders.push(event(3, 1, Event::Acquire(point(1))));
    orders.push(release(end, 1, 50));
    let begin = Event::Acquire(point(2));
    match late {
        true => {
            orders.push(acquire(accesses.len(), 0, 50));
            accesses.extend(after);
            orders.push(event(accesses.len(), 2, begin));
            accesses.extend(second);
        }
        false => {
            orders.push(event(accesses.len(), 2, begin));
            accesses.extend(second);
            orders.push(acquire(accesses.len(), 0, 50));
            accesses.extend(after);
        }
    }
    (accesses, orders)
}

#[test]
fn a_thread_whose_rows_come_late_began_when_it_was_created() {
    let time = |late, point: fn(u64) -> Point| {
        let (accesses, orders) = joined(late, point);
        replay(settings(40), &accesses, &orders).time()
    };
    let creation = |thread| Point(thread).of_creation();
    assert_eq!(time(true, creation), time(false, creation));
    // Where nothing says that there is another, the first goes on as if alone.
    assert!(time(true, Point) < time(false, Point));
}

/// A program of several threads: touches, releases, and acquires of points that were released
/// before.
fn programs() -> impl Strategy<Value = (Vec<Access>, Vec<Order>)> {
    let step = (0..4_u16, 0..12_u64, 0..10_u8, any::<prop::sample::Index>());
    prop::collection::vec(step, 1..200).prop_map(|steps| {
        let (mut accesses, mut orders, mut points) = (vec![touch(0, 0, 0, false)], Vec::new(), 0);
        let mut executed = [0; 4];
        for (thread, page, kind, which) in steps {
            match kind {
                0 => {
                    orders.push(release(accesses.len(), thread, points));
                    points += 1;
                }
                1 if points > 0 => {
                    let point = which.index(points as usize) as u64;
                    orders.push(acquire(accesses.len(), thread, point));
                }
                _ => {
                    executed[usize::from(thread)] += 10;
                    accesses.push(touch(
                        thread,
                        executed[usize::from(thread)],
                        page,
                        kind == 2,
                    ));
                }
            }
        }
        // A trace ends with a row.
        accesses.push(touch(0, executed[0] + 10, 0, false));
        (accesses, orders)
    })
}

proptest! {
    /// Every order of earlier points can be kept, on a machine with faults: all touches are made.
    #[test]
    fn all_touches_are_made((accesses, orders) in programs(), dram in 1..14_usize, block in 1..40_usize) {
        let outcome = simulate_traces(settings(dram), vec![ordered(&accesses, &orders, block)]);
        prop_assert_eq!(outcome.counts.accesses, accesses.len() as u64);
    }

    /// On a machine that holds all pages, times are those of the longest path through the events.
    #[test]
    fn time_is_the_longest_path((accesses, orders) in programs(), block in 1..40_usize) {
        let machine = PageMachine { dram_pages: 16, fault: Default::default(), ..settings(16) };
        let outcome = simulate_traces(machine, vec![ordered(&accesses, &orders, block)]);
        prop_assert_eq!(outcome.time(), Nanos(longest_path(&accesses, &orders)));
    }
}

/// The end of the last thread, where a thread takes a nanosecond an instruction, begins with what
/// it comes after and otherwise behind the row before its first, and nothing else takes time.
fn longest_path(accesses: &[Access], orders: &[Order]) -> u64 {
    let mut clocks: [Option<u64>; 4] = [None; 4];
    let (mut counts, mut points) = ([0; 4], std::collections::HashMap::new());
    let mut orders = orders.iter().peekable();
    let mut waits = [const { Vec::new() }; 4];
    let mut last: Option<usize> = None;
    for (row, access) in accesses.iter().enumerate() {
        while let Some(order) = orders.next_if(|order| order.row == row as u64) {
            let thread = usize::from(order.thread);
            match order.event {
                Event::Release(point) => {
                    if let Some(clock) = &mut clocks[thread] {
                        let waited = waits[thread]
                            .drain(..)
                            .filter_map(|point| points.get(&point));
                        *clock = waited.copied().fold(*clock, u64::max);
                        points.insert(point, *clock);
                    }
                }
                Event::Acquire(point) => waits[thread].push(point),
            }
        }
        let thread = usize::from(access.thread);
        let waited = waits[thread]
            .iter()
            .filter_map(|point| points.get(point))
            .max()
            .copied();
        let ordered = !waits[thread].is_empty();
        waits[thread].clear();
        let first = match ordered {
            true => 0,
            false => last.and_then(|last| clocks[last]).unwrap_or(0),
        };
        let begin = clocks[thread].unwrap_or(first).max(waited.unwrap_or(0));
        let spent = clocks[thread].map_or(0, |_| access.instruction - counts[thread]);
        clocks[thread] = Some(begin + spent);
        counts[thread] = access.instruction;
        last = Some(thread);
    }
    clocks.into_iter().flatten().max().unwrap_or(0)
}
