//! Bounded state of a predictor for each thread.

use super::lru::Lru;
use crate::page::{Fault, Space, Thread};

/// Most threads remembered; then the thread that faulted least recently is forgotten.
const THREADS: usize = 4096;

/// A state for every thread. The same number in another address space is another thread.
pub(super) struct Threads<T>(Lru<Thread, (Space, T)>);

impl<T: Default> Threads<T> {
    /// Starts without any thread.
    pub(super) fn new() -> Self {
        Self(Lru::new(THREADS))
    }

    /// Returns the state of the faulting thread.
    pub(super) fn of(&mut self, fault: &Fault) -> &mut T {
        let new = || (fault.at.space, T::default());
        let state = self.0.touch_or_insert(fault.thread, new);
        if state.0 != fault.at.space {
            *state = new();
        }
        &mut state.1
    }

    /// Returns the state of a thread, if it is known.
    pub(super) fn get_mut(&mut self, thread: Thread) -> Option<&mut T> {
        self.0.peek_mut(&thread).map(|(_, state)| state)
    }

    /// Forgets the threads of an address space that has ended.
    pub(super) fn forget(&mut self, space: Space) {
        self.0.retain(|_, (home, _)| *home != space);
    }
}
