//! Reads and writes, each in the order of their places: Linux's deadline scheduler.
//!
//! As the kernel's `block/deadline-iosched.c` has it, with its defaults (Documentation/block/
//! deadline-iosched.txt). Requests go in batches, each of one kind, upwards from the request
//! before, up to 16 in one. When a batch is full, or nothing lies further up, reads are next,
//! unless writes have been passed over twice. The next batch goes on upwards if the last one was of
//! its kind and none of that kind has expired, after 500 ms (reads) or 5 s (writes); else it begins
//! with the oldest of its kind. The priority class of a request has no effect.

use std::collections::BTreeMap;
use std::ops::Bound;

use terrace_base::Nanos;

use super::request::{Kind, Request};

const KINDS: usize = 2;
const READ: usize = Kind::Read as usize;
const WRITE: usize = Kind::Write as usize;
/// Requests in a batch (`fifo_batch`).
const BATCH: u32 = 16;
/// Batches of reads that may go before writes that wait (`writes_starved`).
const STARVED: u32 = 2;
/// How long reads and writes wait before they are the first of the next batch (`read_expire`,
/// `write_expire`).
const EXPIRY: [Nanos; KINDS] = [Nanos(500_000_000), Nanos(5_000_000_000)];

/// Position of a request; ids distinguish requests at the same position.
type Position = (u64, u64);

/// An entry of the table of those that wait, and when it was submitted.
pub(super) type Oldest = Option<(u32, Nanos)>;

/// The waiting requests, sorted, and the position of the sweep.
#[derive(Debug, Default)]
pub(super) struct Elevator {
    sorted: [BTreeMap<Position, u32>; KINDS],
    /// The request that went last.
    last: Position,
    kind: usize,
    /// Requests of the batch that have been served.
    batch: u32,
    /// Batches of reads since writes have waited.
    starved: u32,
}

impl Elevator {
    pub(super) fn insert(&mut self, request: &Request, entry: u32) {
        self.sorted[request.kind as usize].insert(position(request), entry);
    }

    pub(super) fn remove(&mut self, request: &Request) {
        self.sorted[request.kind as usize].remove(&position(request));
    }

    /// Notes that the chosen request was served.
    pub(super) fn went(&mut self, request: &Request) {
        self.kind = request.kind as usize;
        self.last = position(request);
        self.batch += 1;
    }

    /// Returns the next entry; `oldest` are the oldest read and the oldest write.
    pub(super) fn choose(&mut self, now: Nanos, oldest: [Oldest; KINDS]) -> Option<u32> {
        let above = (Bound::Excluded(self.last), Bound::Unbounded);
        let next = self.sorted[self.kind]
            .range(above)
            .next()
            .map(|(_, at)| *at);
        if next.is_some() && self.batch < BATCH {
            return next;
        }
        let kind = self.next_kind(oldest)?;
        let (first, submitted) = oldest[kind]?;
        let expired = now.saturating_sub(submitted) >= EXPIRY[kind];
        let goes_on = next.filter(|_| kind == self.kind && !expired);
        self.batch = 0;
        Some(goes_on.unwrap_or(first))
    }

    /// Returns the kind of the next batch.
    fn next_kind(&mut self, oldest: [Oldest; KINDS]) -> Option<usize> {
        let writes_wait = oldest[WRITE].is_some();
        let starved = writes_wait && self.starved >= STARVED;
        if oldest[READ].is_some() && !starved {
            self.starved += u32::from(writes_wait);
            return Some(READ);
        }
        self.starved = 0;
        writes_wait.then_some(WRITE)
    }
}

fn position(request: &Request) -> Position {
    (request.place, request.id)
}
