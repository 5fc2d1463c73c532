//! The index: finds the run of an offset without a lock, and tells what each chunk may hold.
//!
//! A run is looked up only by a thread that holds a lane (or before any other thread knows the
//! heap), and is freed only when every lane has been given back since the run was forgotten
//! ([`Lanes::pass_by`](crate::lane::Lanes::pass_by)). So a run that was found can be used until the
//! lane is given back. The same guarantees that what was checked against a chunk's [`Holds`] and
//! then stored there was stored before the chunk is used for something else.

use std::array;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use super::run::Run;
use crate::lock::lock;

/// Chunks covered by a leaf.
const LEAF: u64 = 1 << 10;
/// Forgotten runs are kept until there are this many: then freeing them is worth waiting for all
/// lanes.
const MANY: usize = 256;

/// What a chunk holds, as checked before it is read or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holds {
    /// Nothing, or data that only the heap itself may change.
    Own = 0,
    /// Persistent objects.
    Objects = 1,
    /// Roots.
    Roots = 2,
    /// Memory that was handed to the program, which may change it at any time.
    Capacity = 3,
}

struct Leaf {
    runs: [AtomicPtr<Run>; LEAF as usize],
    holds: [AtomicU8; LEAF as usize],
}

/// The runs of a pool by chunk.
pub(crate) struct Index {
    leaves: Box<[OnceLock<Box<Leaf>>]>,
    /// Runs that are no longer found, but that a thread may still be using.
    #[expect(clippy::vec_box)]
    forgotten: Mutex<Vec<Box<Run>>>,
    forgotten_count: AtomicUsize,
}

impl Index {
    /// Returns the index of a pool of at most `chunks` chunks.
    pub fn new(max_chunks: u64) -> Self {
        let leaves = max_chunks.div_ceil(LEAF).max(1);
        Self {
            leaves: (0..leaves).map(|_| OnceLock::new()).collect(),
            forgotten: Mutex::default(),
            forgotten_count: AtomicUsize::new(0),
        }
    }

    /// Returns the run in which a chunk lies. The caller holds a lane as long as it uses the run.
    #[inline]
    pub fn get(&self, chunk: u64) -> Option<&Run> {
        let leaf = self.leaf(chunk)?;
        let run = leaf.runs[(chunk % LEAF) as usize].load(Ordering::SeqCst);
        // SAFETY: it was a box, and is freed only after every thread that may have found it has
        // given back the lane under which it did.
        unsafe { run.as_ref() }
    }

    /// Returns what a chunk holds.
    #[inline]
    pub fn holds(&self, chunk: u64) -> Holds {
        let of = |leaf: &Leaf| leaf.holds[(chunk % LEAF) as usize].load(Ordering::SeqCst);
        match self.leaf(chunk).map_or(0, of) {
            1 => Holds::Objects,
            2 => Holds::Roots,
            3 => Holds::Capacity,
            _ => Holds::Own,
        }
    }

    /// Sets what chunks hold.
    pub fn set_holds(&self, chunk: u64, count: u64, holds: Holds) {
        for chunk in chunk..chunk + count {
            let leaf = self.make_leaf(chunk);
            leaf.holds[(chunk % LEAF) as usize].store(holds as u8, Ordering::SeqCst);
        }
    }

    /// Enters the run that begins with a chunk and fills `count` chunks.
    pub fn insert(&self, chunk: u64, count: u64, run: Run) -> &Run {
        let new = Box::into_raw(Box::new(run));
        for chunk in chunk..chunk + count {
            let leaf = self.make_leaf(chunk);
            let old = leaf.runs[(chunk % LEAF) as usize].swap(new, Ordering::AcqRel);
            assert!(old.is_null(), "chunk {chunk} lies in a run already");
        }
        // SAFETY: same as in `get`.
        unsafe { &*new }
    }

    /// Enters the run that begins with a chunk under all of its `count` chunks.
    pub fn cover(&self, chunk: u64, count: u64) {
        let first = self.make_leaf(chunk);
        let run = first.runs[(chunk % LEAF) as usize].load(Ordering::Acquire);
        for chunk in chunk + 1..chunk + count {
            let leaf = self.make_leaf(chunk);
            leaf.runs[(chunk % LEAF) as usize].store(run, Ordering::Release);
        }
    }

    /// Forgets the run of `count` chunks. No object lies in it, and no cache has a slot of it.
    pub fn remove(&self, chunk: u64, count: u64) {
        let mut old: *mut Run = ptr::null_mut();
        for chunk in chunk..chunk + count {
            let leaf = self.make_leaf(chunk);
            let of = leaf.runs[(chunk % LEAF) as usize].swap(ptr::null_mut(), Ordering::SeqCst);
            old = if old.is_null() { of } else { old };
            leaf.holds[(chunk % LEAF) as usize].store(Holds::Own as u8, Ordering::SeqCst);
        }
        if !old.is_null() {
            // SAFETY: `insert` made it from a box, and after the swaps only this thread has it.
            let run = unsafe { Box::from_raw(old) };
            let mut forgotten = lock(&self.forgotten);
            forgotten.push(run);
            let count = forgotten.len();
            self.forgotten_count.store(count, Ordering::Relaxed);
        }
    }

    /// Returns whether enough runs were forgotten to free them.
    #[inline]
    pub fn is_cluttered(&self) -> bool {
        self.forgotten_count.load(Ordering::Relaxed) >= MANY
    }

    /// Takes the forgotten runs. The caller frees them when every lane has been given back.
    #[expect(clippy::vec_box)]
    pub fn take_forgotten(&self) -> Vec<Box<Run>> {
        let mut forgotten = lock(&self.forgotten);
        self.forgotten_count.store(0, Ordering::Relaxed);
        std::mem::take(&mut *forgotten)
    }

    #[inline]
    fn leaf(&self, chunk: u64) -> Option<&Leaf> {
        Some(self.leaves.get((chunk / LEAF) as usize)?.get()?)
    }

    fn make_leaf(&self, chunk: u64) -> &Leaf {
        self.leaves[(chunk / LEAF) as usize].get_or_init(|| {
            Box::new(Leaf {
                runs: array::from_fn(|_| AtomicPtr::default()),
                holds: array::from_fn(|_| AtomicU8::default()),
            })
        })
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        let mut last = ptr::null_mut();
        for leaf in self.leaves.iter_mut().filter_map(OnceLock::get_mut) {
            for run in leaf.runs.iter_mut().map(|run| *run.get_mut()) {
                // The chunks of a run follow each other.
                if !run.is_null() && run != last {
                    // SAFETY: `insert` made it from a box, and no other user is left.
                    drop(unsafe { Box::from_raw(run) });
                    last = run;
                }
            }
        }
    }
}
