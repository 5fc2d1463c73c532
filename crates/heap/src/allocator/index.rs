//! From an offset to its run, without a lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::run::Run;

/// Chunks of a leaf.
const LEAF: u64 = 1 << 10;

type Leaf = Box<[AtomicPtr<Run>]>;

/// The runs of a pool by chunk.
pub(crate) struct Index {
    leaves: Box<[OnceLock<Leaf>]>,
}

impl Index {
    /// For a pool of at most so many chunks.
    pub fn new(max_chunks: u64) -> Self {
        let leaves = max_chunks.div_ceil(LEAF).max(1);
        Self {
            leaves: (0..leaves).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The run that begins with a chunk.
    #[inline]
    pub fn get(&self, chunk: u64) -> Option<&Run> {
        let leaf = self.leaves.get((chunk / LEAF) as usize)?.get()?;
        let run = leaf[(chunk % LEAF) as usize].load(Ordering::Acquire);
        // SAFETY: it was a box, and is freed only by `remove`, which is called when nobody has an
        // object in the run, nor a slot of it in a cache, so that nobody looks it up.
        unsafe { run.as_ref() }
    }

    /// Says which run begins with a chunk.
    pub fn insert(&self, chunk: u64, run: Run) -> &Run {
        let none = || AtomicPtr::new(std::ptr::null_mut());
        let leaf = self.leaves[(chunk / LEAF) as usize]
            .get_or_init(|| (0..LEAF).map(|_| none()).collect());
        let entry = &leaf[(chunk % LEAF) as usize];
        let new = Box::into_raw(Box::new(run));
        let old = entry.swap(new, Ordering::AcqRel);
        assert!(old.is_null(), "chunk {chunk} begins a run already");
        // SAFETY: as in `get`.
        unsafe { &*new }
    }

    /// Forgets a run.
    ///
    /// # Safety
    ///
    /// Nobody uses it, or looks it up meanwhile.
    pub unsafe fn remove(&self, chunk: u64) {
        let leaf = self.leaves[(chunk / LEAF) as usize].get();
        let entry = leaf.map(|leaf| &leaf[(chunk % LEAF) as usize]);
        let old = entry.map(|entry| entry.swap(std::ptr::null_mut(), Ordering::AcqRel));
        if let Some(old) = old.filter(|old| !old.is_null()) {
            // SAFETY: `insert` made it from a box, and the swap has made it ours alone.
            drop(unsafe { Box::from_raw(old) });
        }
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        for leaf in self.leaves.iter_mut().filter_map(OnceLock::get_mut) {
            for run in leaf.iter_mut().map(|run| *run.get_mut()) {
                if !run.is_null() {
                    // SAFETY: `insert` made it from a box, and nobody else is left.
                    drop(unsafe { Box::from_raw(run) });
                }
            }
        }
    }
}
