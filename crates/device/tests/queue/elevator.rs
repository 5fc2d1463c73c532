//! The elevator, slow and as its documentation has it, and by hand.

use terrace_base::Nanos;
use terrace_device::{Class, Kind, Order, Queue, Request};

use crate::{CHANNEL, Timing, ids};

/// Where the sweep is.
#[derive(Default)]
pub struct Elevator {
    /// Kind, place and id of the request that went last.
    last: Option<(Kind, u64, u64)>,
    batch: u32,
    batches_of_reads: u32,
}

impl Elevator {
    /// Which of those that wait, with their times, the oldest first, goes next; it does.
    pub fn choose(&mut self, waiting: &[(Request, u64)], now: u64) -> usize {
        let oldest = |kind| waiting.iter().position(|(r, _)| r.kind == kind);
        let (kind, place, id) = self.last.unwrap_or((Kind::Read, 0, 0));
        let above = |r: &Request| r.kind == kind && (r.place, r.id) > (place, id);
        let next = (0..waiting.len())
            .filter(|at| above(&waiting[*at].0))
            .min_by_key(|at| (waiting[*at].0.place, waiting[*at].0.id));
        let chosen = match next {
            Some(next) if self.batch < 16 => next,
            _ => {
                self.batch = 0;
                let (read, write) = (oldest(Kind::Read), oldest(Kind::Write));
                let reads = read.is_some() && (write.is_none() || self.batches_of_reads < 2);
                match (reads, write) {
                    (true, Some(_)) => self.batches_of_reads += 1,
                    (true, None) => {}
                    (false, _) => self.batches_of_reads = 0,
                }
                let (first, patience) = match reads {
                    true => (read.unwrap(), 500_000_000),
                    false => (write.unwrap(), 5_000_000_000),
                };
                let expired = now >= waiting[first].1 + patience;
                match next {
                    Some(next) if waiting[next].0.kind == waiting[first].0.kind && !expired => next,
                    _ => first,
                }
            }
        };
        let request = waiting[chosen].0;
        self.last = Some((request.kind, request.place, request.id));
        self.batch += 1;
        chosen
    }
}

/// Submits these at time 0 and returns the places in the order of starting.
fn places(requests: &[(Kind, u64)], timing: Timing) -> Vec<u64> {
    let mut queue = Queue::new(timing);
    for (id, (kind, place)) in (0..).zip(requests) {
        queue.submit(Nanos(0), request(id, *kind, *place));
    }
    let ids = ids(&mut queue);
    ids.iter().map(|id| requests[*id as usize].1).collect()
}

fn request(id: u64, kind: Kind, place: u64) -> Request {
    let class = Class::Demand;
    Request {
        id,
        kind,
        class,
        place,
        bytes: 4096,
    }
}

fn elevator() -> Timing {
    Timing {
        order: Order::Elevator,
        ..CHANNEL
    }
}

#[test]
fn upwards_and_then_from_the_oldest() {
    use Kind::Read as R;
    // The first finds the device idle. From 50 upwards, then from 30, which is the oldest, upwards.
    let requests = [(R, 50), (R, 30), (R, 70), (R, 40), (R, 10), (R, 60)];
    assert_eq!(places(&requests, elevator()), [50, 60, 70, 30, 40, 10]);
}

#[test]
fn reads_before_writes_which_are_passed_over_twice() {
    use Kind::{Read as R, Write as W};
    // Every read lies below the one before, so each is a batch of its own.
    let requests = [(R, 90), (W, 5), (W, 6), (R, 80), (R, 70), (R, 60), (R, 50)];
    assert_eq!(
        places(&requests, elevator()),
        [90, 80, 70, 5, 6, 60, 50],
        "two batches of reads, one of writes"
    );
}

#[test]
fn sixteen_in_a_batch() {
    let reads = (100..120).map(|place| (Kind::Read, place));
    let requests: Vec<_> = reads.chain([(Kind::Write, 1)]).collect();
    let served = places(&requests, elevator());
    // Writes may be passed over twice, so twenty reads are served in two batches.
    assert_eq!(served[..20], (100..120).collect::<Vec<_>>());
    let mut queue = Queue::new(elevator());
    for id in 0..20 {
        queue.submit(Nanos(0), request(id, Kind::Write, id));
    }
    queue.submit(Nanos(0), request(20, Kind::Read, 0));
    assert_eq!(
        ids(&mut queue)[16],
        20,
        "a read waits for a batch of writes"
    );
}

#[test]
fn who_has_expired_is_first() {
    let mut queue = Queue::new(Timing {
        read: Nanos(600_000_000),
        ..elevator()
    });
    for (id, place) in (0..).zip([10, 5].into_iter().chain(11..40)) {
        queue.submit(Nanos(0), request(id, Kind::Read, place));
    }
    let served = ids(&mut queue);
    assert_eq!(
        served[15..18],
        [16, 1, 17],
        "5 after a batch, and upwards again"
    );
}
