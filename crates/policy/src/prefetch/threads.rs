//! What a predictor knows of each thread, bounded.

use super::lru::Lru;
use crate::page::{Fault, Space, Thread};

/// Threads remembered; beyond, those that faulted least recently are forgotten.
const THREADS: usize = 4096;

/// A state for every thread. A number that turns up in another address space is another thread.
pub(super) struct Threads<T>(Lru<Thread, (Space, T)>);

impl<T: Default> Threads<T> {
    /// Nobody is known.
    pub(super) fn new() -> Self {
        Self(Lru::new(THREADS))
    }

    /// The state of the thread that faulted.
    pub(super) fn of(&mut self, fault: &Fault) -> &mut T {
        let new = || (fault.at.space, T::default());
        let state = self.0.touch_or_insert(fault.thread, new);
        if state.0 != fault.at.space {
            *state = new();
        }
        &mut state.1
    }

    /// The state of a thread, if it is known.
    pub(super) fn get_mut(&mut self, thread: Thread) -> Option<&mut T> {
        self.0.peek_mut(&thread).map(|(_, state)| state)
    }

    /// The address space is gone, and its threads with it.
    pub(super) fn forget(&mut self, space: Space) {
        self.0.retain(|_, (home, _)| *home != space);
    }
}
