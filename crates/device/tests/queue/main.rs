//! The queue against a slow twin, and against what must hold for every device.

mod elevator;
mod twin;

use std::collections::BTreeSet;

use proptest::prelude::*;
use terrace_base::Nanos;
use terrace_device::{Class, Completion, Deadlines, Kind, Order, Queue, Request, Timing};
use twin::{CLASSES, Twin};

/// One call of a driver.
#[derive(Clone, Debug)]
enum Call {
    Submit {
        after: u64,
        kind: Kind,
        class: Class,
        place: u64,
        bytes: u64,
    },
    /// Promotes the request that was submitted this many requests before the last.
    Promote(u64),
    Cancel(u64),
    Complete {
        after: u64,
    },
}

fn call() -> impl Strategy<Value = Call> {
    let kind = prop_oneof![Just(Kind::Read), Just(Kind::Write)];
    let class = prop::sample::select(&CLASSES[..]);
    prop_oneof![
        6 => (0u64..60, kind, class, 0u64..50, 0u64..3000).prop_map(|(after, kind, class, place, bytes)| {
            Call::Submit { after, kind, class, place, bytes }
        }),
        1 => (0u64..8).prop_map(Call::Promote),
        1 => (0u64..8).prop_map(Call::Cancel),
        3 => (0u64..150).prop_map(|after| Call::Complete { after }),
    ]
}

fn timing() -> impl Strategy<Value = Timing> {
    let order = prop_oneof![
        Just(Order::Plain),
        Just(Order::RoundRobin),
        Just(Order::Elevator),
        (0u64..600, 0u64..600).prop_map(|(prefetch, background)| {
            Order::Deadline(Deadlines {
                prefetch: Nanos(prefetch),
                background: Nanos(background),
            })
        }),
    ];
    let bandwidth = prop::option::of(1_000_000_000u64..60_000_000_000);
    (0u64..200, 0u64..200, 1u32..5, bandwidth, order).prop_map(
        |(read, write, channels, bandwidth, order)| Timing {
            read: Nanos(read),
            write: Nanos(write),
            channels,
            bandwidth,
            order,
        },
    )
}

/// What a queue did with some calls.
#[derive(Default)]
struct Log {
    submitted: Vec<u64>,
    promoted: BTreeSet<u64>,
    cancelled: BTreeSet<u64>,
    completions: Vec<Completion>,
}

/// Makes the calls and then takes all that is left, holding queue and twin together.
fn drive(timing: Timing, calls: &[Call]) -> Log {
    let mut queue = Queue::new(timing);
    let mut twin = Twin::new(timing);
    let mut log = Log::default();
    let mut now = 0;
    let mut next_id = 0u64;
    for call in calls {
        match *call {
            Call::Submit {
                after,
                kind,
                class,
                place,
                bytes,
            } => {
                now += after;
                let request = Request {
                    id: next_id,
                    kind,
                    class,
                    place,
                    bytes,
                };
                queue.submit(Nanos(now), request);
                twin.submit(now, request);
                log.submitted.push(next_id);
                next_id += 1;
            }
            Call::Promote(back) => {
                let id = next_id.saturating_sub(back + 1);
                let waited = queue.promote(id);
                assert_eq!(waited, twin.promote(id));
                if waited {
                    log.promoted.insert(id);
                }
            }
            Call::Cancel(back) => {
                let id = next_id.saturating_sub(back + 1);
                let cancelled = queue.cancel(id);
                assert_eq!(cancelled, twin.cancel(id));
                if cancelled.is_some() {
                    assert!(log.cancelled.insert(id));
                }
            }
            Call::Complete { after } => {
                now += after;
                take_all(&mut queue, &mut twin, now, &mut log);
            }
        }
        let demand = |(r, _): &&(Request, u64)| r.class == Class::Demand;
        assert_eq!(queue.waiting(), twin.waiting.len());
        assert_eq!(
            queue.demand_waiting(),
            twin.waiting.iter().filter(demand).count()
        );
        assert_eq!(queue.running(), twin.running.len());
        assert!(
            queue.idle() == 0 || queue.waiting() == 0,
            "idle while some wait"
        );
    }
    take_all(&mut queue, &mut twin, u64::MAX, &mut log);
    assert_eq!(queue.next_completion(), None);
    log
}

fn take_all(queue: &mut Queue, twin: &mut Twin, now: u64, log: &mut Log) {
    loop {
        let foretold = queue.next_completion();
        let ended = queue.complete(Nanos(now));
        assert_eq!(ended, twin.complete(now));
        let Some(ended) = ended else { break };
        assert_eq!(Some(ended.finished), foretold);
        log.completions.push(ended);
    }
}

/// Transfers under way at a moment.
fn under_way(completions: &[Completion], at: Nanos) -> usize {
    let at_it = |c: &&Completion| c.started <= at && at < c.finished;
    completions.iter().filter(at_it).count()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn what_must_hold_for_every_device(
        timing in timing(), calls in prop::collection::vec(call(), 0..120),
    ) {
        let log = drive(timing, &calls);
        let channels = timing.channels as usize;

        let mut ends: Vec<_> = log.completions.iter().map(|c| c.request.id).collect();
        ends.extend(&log.cancelled);
        ends.sort_unstable();
        prop_assert_eq!(&ends, &log.submitted, "each ends once, or is cancelled once");

        let finished: Vec<_> = log.completions.iter().map(|c| c.finished).collect();
        prop_assert!(finished.is_sorted(), "handed out as they end");

        let moments: BTreeSet<_> = log.completions.iter()
            .flat_map(|c| [c.submitted, c.started, c.finished])
            .collect();
        for moment in &moments {
            prop_assert!(under_way(&log.completions, *moment) <= channels);
        }
        for c in &log.completions {
            prop_assert!(c.submitted <= c.started && c.started <= c.finished);
            for moment in moments.range(c.submitted..c.started) {
                let busy = under_way(&log.completions, *moment);
                prop_assert_eq!(busy, channels, "{:?} waits while a channel is idle", c);
            }
        }

        for class in CLASSES.into_iter().filter(|_| timing.order != Order::Elevator) {
            let mut of_class: Vec<_> = log.completions.iter()
                .filter(|c| c.request.class == class && !log.promoted.contains(&c.request.id))
                .collect();
            of_class.sort_by_key(|c| c.request.id);
            prop_assert!(of_class.is_sorted_by_key(|c| c.started), "first come, first served");
        }
    }

    #[test]
    fn the_bus_carries_no_more_than_it_can(
        timing in timing(), calls in prop::collection::vec(call(), 0..60),
    ) {
        let log = drive(timing, &calls);
        for from in log.completions.iter().map(|c| c.started) {
            for to in log.completions.iter().map(|c| c.finished).filter(|to| *to >= from) {
                let carried: Nanos = log.completions.iter()
                    .filter(|c| c.started >= from && c.finished <= to)
                    .map(|c| timing.transfer(c.request.bytes))
                    .sum();
                prop_assert!(carried <= to - from, "{} in {}", carried, to - from);
            }
        }
    }

    #[test]
    fn a_driver_that_comes_late_sees_the_same(
        timing in timing(), calls in prop::collection::vec(call(), 0..80),
    ) {
        let submits: Vec<_> = calls.iter()
            .filter(|call| matches!(call, Call::Submit { .. }))
            .cloned()
            .collect();
        let eager: Vec<_> = submits.iter()
            .flat_map(|submit| [Call::Complete { after: 0 }, submit.clone()])
            .collect();
        prop_assert_eq!(drive(timing, &submits).completions, drive(timing, &eager).completions);
    }

    #[test]
    fn no_numbers_make_it_panic(
        requests in prop::collection::vec((any::<u64>(), any::<u64>(), 0u64..4), 0..40),
        read in any::<u64>(), channels in 0u32..3, bandwidth in prop::option::of(0u64..3),
        sorted in any::<bool>(),
    ) {
        let deadlines = Deadlines { prefetch: Nanos(read), background: Nanos(1) };
        let mut queue = Queue::new(Timing {
            read: Nanos(read), write: Nanos(read), channels, bandwidth,
            order: if sorted { Order::Elevator } else { Order::Deadline(deadlines) },
        });
        let mut ended = 0;
        for (now, bytes, id) in &requests {
            let class = CLASSES[(bytes % 3) as usize];
            let kind = if bytes % 2 == 0 { Kind::Read } else { Kind::Write };
            queue.submit(Nanos(*now), Request { id: *id, kind, class, place: *bytes, bytes: *bytes });
            queue.promote(id ^ 1);
            ended += usize::from(queue.cancel(id ^ 2).is_some());
        }
        while queue.complete(Nanos(u64::MAX)).is_some() {
            ended += 1;
        }
        prop_assert_eq!(ended, requests.len(), "even where ids are used twice");
    }
}

const CHANNEL: Timing = Timing {
    read: Nanos(100),
    write: Nanos(1000),
    channels: 1,
    bandwidth: None,
    order: Order::Plain,
};

/// Submits one request of each class at time 0, in this order, and returns the order of starting.
fn order_of(timing: Timing, classes: &[Class]) -> Vec<u64> {
    let mut queue = Queue::new(timing);
    for (id, class) in (0..).zip(classes) {
        queue.submit(Nanos(0), read(id, *class));
    }
    ids(&mut queue)
}

fn read(id: u64, class: Class) -> Request {
    Request {
        id,
        kind: Kind::Read,
        class,
        place: 0,
        bytes: 4096,
    }
}

fn ids(queue: &mut Queue) -> Vec<u64> {
    let mut ended = Vec::new();
    while let Some(c) = queue.complete(Nanos(u64::MAX)) {
        ended.push(c.request.id);
    }
    ended
}

#[test]
fn each_order_by_hand() {
    use Class::{Background as B, Demand as D, Prefetch as P};
    // The first finds the device idle.
    let classes = [P, B, P, P, D, D];
    let with = |order| order_of(Timing { order, ..CHANNEL }, &classes);
    assert_eq!(with(Order::Plain), [0, 1, 2, 3, 4, 5]);
    assert_eq!(with(Order::RoundRobin), [0, 4, 2, 1, 5, 3]);
    assert_eq!(
        with(Order::Deadline(Deadlines::default())),
        [0, 4, 5, 2, 3, 1]
    );
}

#[test]
fn what_is_overdue_takes_every_second_turn_from_demand() {
    use Class::{Background as B, Demand as D, Prefetch as P};
    let order = Order::Deadline(Deadlines {
        prefetch: Nanos(200),
        background: Nanos(250),
    });
    let classes = [D, P, P, B, D, D, D, D];
    // Two demand reads pass before anything is overdue, at 200; the write-back is at 250.
    let expected = [0, 4, 1, 5, 2, 6, 3, 7];
    assert_eq!(order_of(Timing { order, ..CHANNEL }, &classes), expected);
}

#[test]
fn a_write_back_waits_no_longer_than_its_deadline_and_one_read() {
    let background = Nanos(5_000);
    let order = Order::Deadline(Deadlines {
        background,
        ..Deadlines::default()
    });
    let mut queue = Queue::new(Timing { order, ..CHANNEL });
    queue.submit(Nanos(0), read(0, Class::Demand));
    queue.submit(Nanos(0), read(1, Class::Background));
    // Demand that never lets up: one more read each time one ends.
    queue.submit(Nanos(0), read(2, Class::Demand));
    for id in 3.. {
        let now = queue.next_completion().unwrap();
        let ended = queue.complete(now).unwrap();
        if ended.request.id == 1 {
            assert_eq!(ended.started, background);
            break;
        }
        assert!(id < 100, "it starves");
        queue.submit(now, read(id, Class::Demand));
    }
}

#[test]
fn a_promoted_prefetch_goes_before_the_others() {
    let order = Order::Deadline(Deadlines::default());
    let mut queue = Queue::new(Timing { order, ..CHANNEL });
    for id in 0..4 {
        queue.submit(Nanos(0), read(id, Class::Prefetch));
    }
    assert_eq!(queue.demand_waiting(), 0);
    assert!(queue.promote(2));
    assert!(!queue.promote(0), "it has started");
    assert_eq!(queue.demand_waiting(), 1);
    assert_eq!(queue.cancel(0), None, "it has started");
    assert_eq!(queue.cancel(1), Some(read(1, Class::Prefetch)));
    assert_eq!(ids(&mut queue), [0, 2, 3]);
}

#[test]
fn channels_overlap_and_the_bus_does_not() {
    let two = Timing {
        channels: 2,
        bandwidth: Some(4096 * 1_000_000_000 / 80),
        ..CHANNEL
    };
    let mut queue = Queue::new(two);
    for id in 0..3 {
        queue.submit(Nanos(0), read(id, Class::Demand));
    }
    let finished: Vec<_> = std::iter::from_fn(|| queue.complete(Nanos(u64::MAX)))
        .map(|c| (c.started.0, c.finished.0))
        .collect();
    // 80 ns on the bus each: the first within its latency, the second behind the first.
    assert_eq!(finished, [(0, 100), (0, 160), (100, 240)]);
}
