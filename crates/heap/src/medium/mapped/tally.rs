//! Counters that cost a thread two plain instructions: each thread has a cell of its own.

use std::cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::super::Counts;
use crate::lock::lock;

/// Threads that have a cell of their own; more than that share the last.
const OWNED: usize = 256;
/// The cell that threads share.
const SHARED: usize = OWNED;
/// Stands for a thread that has not counted yet.
const UNKNOWN: usize = usize::MAX;

/// The counts of one medium.
pub(super) struct Tally {
    cells: Box<[Cell]>,
}

/// What is counted.
#[derive(Clone, Copy)]
pub(super) enum Counter {
    Lines,
    Fences,
    Syncs,
    Bytes,
}

#[derive(Default)]
#[repr(align(64))]
struct Cell {
    counters: [AtomicU64; 4],
    /// Whether something was flushed since the last fence.
    flushed: AtomicBool,
}

/// This thread's part of a [`Tally`].
pub(super) struct Mine<'a> {
    cell: &'a Cell,
    shared: bool,
}

impl Tally {
    pub fn new() -> Self {
        let cells = (0..=OWNED).map(|_| Cell::default()).collect();
        Self { cells }
    }

    /// This thread's cell.
    #[inline]
    pub fn mine(&self) -> Mine<'_> {
        let index = thread_index();
        Mine {
            cell: &self.cells[index],
            shared: index == SHARED,
        }
    }

    /// Returns all threads' counts together.
    pub fn sum(&self) -> Counts {
        let sum = |counter: Counter| {
            let of = |cell: &Cell| cell.counters[counter as usize].load(Ordering::Relaxed);
            self.cells.iter().map(of).sum()
        };
        Counts {
            lines: sum(Counter::Lines),
            fences: sum(Counter::Fences),
            syncs: sum(Counter::Syncs),
            bytes: sum(Counter::Bytes),
        }
    }
}

impl Mine<'_> {
    /// Notes a flush.
    #[inline]
    pub fn flushed(&self) {
        self.cell.flushed.store(true, Ordering::Relaxed);
    }

    /// Returns whether this thread may have flushed since its last call.
    pub fn take_flushed(&self) -> bool {
        // In a shared cell, the flag that one thread takes would be missing for the others.
        self.shared || self.cell.flushed.swap(false, Ordering::Relaxed)
    }

    #[inline]
    pub fn add(&self, counter: Counter, more: u64) {
        let counter = &self.cell.counters[counter as usize];
        if self.shared {
            counter.fetch_add(more, Ordering::Relaxed);
        } else {
            // No other thread writes it. A locked instruction would wait for the stores before.
            counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
        }
    }
}

/// The indices that no living thread has.
struct Free {
    returned: Vec<usize>,
    /// Indices from here on were never used.
    next: usize,
}

static FREE: Mutex<Free> = Mutex::new(Free {
    returned: Vec::new(),
    next: 0,
});

/// Gives the thread's index back when the thread ends.
struct Lease(usize);

thread_local! {
    static INDEX: cell::Cell<usize> = const { cell::Cell::new(UNKNOWN) };
    static LEASE: Lease = Lease::new();
}

#[inline]
fn thread_index() -> usize {
    match INDEX.get() {
        UNKNOWN => first_index(),
        index => index,
    }
}

#[cold]
fn first_index() -> usize {
    // A thread that counts in another destructor after its lease is gone uses the shared cell.
    let index = LEASE.try_with(|lease| lease.0).unwrap_or(SHARED);
    INDEX.set(index);
    index
}

impl Lease {
    fn new() -> Self {
        let mut free = lock(&FREE);
        let index = free.returned.pop().unwrap_or(free.next);
        free.next = free.next.max(index + 1).min(SHARED);
        Lease(index)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        INDEX.set(SHARED);
        if self.0 != SHARED {
            lock(&FREE).returned.push(self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// More threads than cells, at once and one after the other: nothing is lost.
    #[test]
    fn counts_of_all_threads_add_up() {
        let tally = Tally::new();
        let count = || {
            for _ in 0..100 {
                tally.mine().add(Counter::Lines, 2);
                tally.mine().add(Counter::Fences, 1);
                tally.mine().add(Counter::Bytes, 7);
            }
        };
        let threads = OWNED as u64 + 60;
        for _ in 0..2 {
            thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(count))));
        }
        let counts = Counts {
            lines: 400 * threads,
            fences: 200 * threads,
            syncs: 0,
            bytes: 1400 * threads,
        };
        assert_eq!(tally.sum(), counts);
    }

    #[test]
    fn a_thread_knows_whether_it_has_flushed() {
        let tally = Tally::new();
        assert!(!tally.mine().take_flushed());
        tally.mine().flushed();
        assert!(tally.mine().take_flushed());
        assert!(!tally.mine().take_flushed());
    }

    #[test]
    fn those_who_share_a_cell_take_it_for_flushed() {
        let (cell, shared) = (&Cell::default(), true);
        assert!(Mine { cell, shared }.take_flushed());
    }
}
