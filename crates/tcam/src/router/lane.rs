//! The updates of one prefix length, and the shadow blocks that they are in.

use std::collections::VecDeque;

use terrace_base::Nanos;

use super::flush::Flush;
use crate::count::Counts;
use crate::update::Change;

/// What belongs to a length.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The shadow block that takes updates.
    pub accepting: Option<u32>,
    /// Full shadow blocks; the first is being written to flash.
    pub sealed: VecDeque<Flush>,
    /// Updates that wait for a shadow block, with the times of their arrival.
    pub waiting: VecDeque<(Nanos, Change)>,
    pub counts: Counts,
}

impl Lane {
    /// Returns the number of shadow blocks.
    pub fn owned(&self) -> usize {
        self.sealed.len() + usize::from(self.accepting.is_some())
    }
}
