//! The requests that wait for a channel, and which of them goes next.
//!
//! One list a class (one in all in plain order, one a kind for the elevator), linked through a
//! table, so that a request in the middle of a list can be promoted or cancelled without a search.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use terrace_base::Nanos;

use super::elevator::{Elevator, Oldest};
use super::request::{Class, Kind, Request};
use crate::timing::{Deadlines, Order};

/// No entry.
const NONE: u32 = u32::MAX;

const CLASSES: usize = 3;
const DEMAND: usize = Class::Demand as usize;
const PREFETCH: usize = Class::Prefetch as usize;
const BACKGROUND: usize = Class::Background as usize;

#[derive(Debug)]
pub(super) struct Waiting {
    order: Order,
    lists: [List; CLASSES],
    /// For the elevator only: the same requests, sorted.
    elevator: Option<Elevator>,
    entries: Vec<Entry>,
    /// Entries that hold no request.
    free: Vec<u32>,
    by_id: HashMap<u64, u32, BuildHasherDefault<IdHasher>>,
    demand: usize,
    /// The list served last.
    last: usize,
    /// Whether it was served for its deadline.
    last_overdue: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    request: Request,
    submitted: Nanos,
    before: u32,
    after: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    front: u32,
    back: u32,
}

impl Waiting {
    pub(super) fn new(order: Order) -> Self {
        let empty = List {
            front: NONE,
            back: NONE,
        };
        Self {
            order,
            lists: [empty; CLASSES],
            elevator: (order == Order::Elevator).then(Elevator::default),
            entries: Vec::new(),
            free: Vec::new(),
            by_id: HashMap::default(),
            demand: 0,
            last: BACKGROUND,
            last_overdue: false,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn demand(&self) -> usize {
        self.demand
    }

    pub(super) fn push(&mut self, request: Request, submitted: Nanos) {
        let entry = Entry {
            request,
            submitted,
            before: NONE,
            after: NONE,
        };
        let at = self.free.pop().unwrap_or_else(|| {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        });
        self.entries[at as usize] = entry;
        self.by_id.insert(request.id, at);
        self.demand += usize::from(request.class == Class::Demand);
        self.append(at);
        if let Some(elevator) = &mut self.elevator {
            elevator.insert(&request, at);
        }
    }

    /// Notes that a request starts at once, since none waits and a channel is idle.
    pub(super) fn pass(&mut self, request: Request, now: Nanos) {
        if self.elevator.is_some() {
            self.push(request, now);
            self.take(now);
        }
    }

    /// Removes and returns the next request at `now`, and its time of submission.
    pub(super) fn take(&mut self, now: Nanos) -> Option<(Request, Nanos)> {
        let oldest = [Kind::Read, Kind::Write].map(|kind| self.oldest(kind as usize));
        let at = match &mut self.elevator {
            Some(elevator) => elevator.choose(now, oldest)?,
            None => self.lists[self.choose(now)?].front,
        };
        let taken = self.withdraw(at);
        if let Some(elevator) = &mut self.elevator {
            elevator.went(&taken.0);
        }
        Some(taken)
    }

    fn oldest(&self, list: usize) -> Oldest {
        let at = self.lists[list].front;
        let entry = self.entries.get(at as usize)?;
        Some((at, entry.submitted))
    }

    pub(super) fn promote(&mut self, id: u64) -> bool {
        let Some(&at) = self.by_id.get(&id) else {
            return false;
        };
        if self.entries[at as usize].request.class == Class::Demand {
            return true;
        }
        let in_place = matches!(self.order, Order::Plain | Order::Elevator);
        if !in_place {
            self.unlink(at);
        }
        self.entries[at as usize].request.class = Class::Demand;
        self.demand += 1;
        if !in_place {
            self.append(at);
        }
        true
    }

    pub(super) fn cancel(&mut self, id: u64) -> Option<Request> {
        let at = *self.by_id.get(&id)?;
        Some(self.withdraw(at).0)
    }

    /// Returns the list whose front is next.
    fn choose(&mut self, now: Nanos) -> Option<usize> {
        let waits = |list: &usize| self.lists[*list].front != NONE;
        let overdue = match self.order {
            Order::Deadline(deadlines) => self.overdue(now, deadlines),
            _ => None,
        };
        // A flood of late prefetches must not starve demand.
        let yields = self.last_overdue && waits(&DEMAND);
        let overdue = overdue.filter(|_| !yields);
        let list = overdue.or_else(|| match self.order {
            Order::RoundRobin => (1..=CLASSES)
                .map(|step| (self.last + step) % CLASSES)
                .find(waits),
            Order::Plain | Order::Elevator | Order::Deadline(_) => (0..CLASSES).find(waits),
        })?;
        self.last = list;
        self.last_overdue = overdue.is_some();
        Some(list)
    }

    /// Returns the list whose front is past its deadline, the later one if both are.
    fn overdue(&self, now: Nanos, deadlines: Deadlines) -> Option<usize> {
        let patience = [
            (PREFETCH, deadlines.prefetch),
            (BACKGROUND, deadlines.background),
        ];
        let overdue = patience.into_iter().filter_map(|(list, patience)| {
            let (_, submitted) = self.oldest(list)?;
            let waited = now.saturating_sub(submitted);
            Some((Reverse(waited.0.checked_sub(patience.0)?), list))
        });
        overdue.min().map(|(_, list)| list)
    }

    fn list_of(&self, at: u32) -> usize {
        let request = &self.entries[at as usize].request;
        match self.order {
            Order::Plain => 0,
            Order::Elevator => request.kind as usize,
            Order::RoundRobin | Order::Deadline(_) => request.class as usize,
        }
    }

    fn append(&mut self, at: u32) {
        let list = self.list_of(at);
        let back = std::mem::replace(&mut self.lists[list].back, at);
        self.entries[at as usize].before = back;
        self.entries[at as usize].after = NONE;
        match back {
            NONE => self.lists[list].front = at,
            back => self.entries[back as usize].after = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let list = self.list_of(at);
        let Entry { before, after, .. } = self.entries[at as usize];
        match before {
            NONE => self.lists[list].front = after,
            before => self.entries[before as usize].after = after,
        }
        match after {
            NONE => self.lists[list].back = before,
            after => self.entries[after as usize].before = before,
        }
    }

    fn withdraw(&mut self, at: u32) -> (Request, Nanos) {
        self.unlink(at);
        self.free.push(at);
        let entry = self.entries[at as usize];
        let request = entry.request;
        self.by_id.remove(&request.id);
        if let Some(elevator) = &mut self.elevator {
            elevator.remove(&request);
        }
        self.demand -= usize::from(request.class == Class::Demand);
        (request, entry.submitted)
    }
}

/// Hashes ids, which are consecutive numbers and not chosen by an adversary.
#[derive(Default)]
struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, id: u64) {
        // 2^64 over the golden ratio; both halves of the product depend on all of the id.
        let product = u128::from(self.0 ^ id) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
