//! A cache: its lines under a policy.

use super::{Geometry, LlcPolicy, Request, Tags};

/// A set-associative, write-back, write-allocate cache.
pub struct Cache {
    pub(super) tags: Tags,
    policy: Box<dyn LlcPolicy>,
}

/// An evicted line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line.
    pub line: u64,
    /// Whether the line has to be written to memory.
    pub dirty: bool,
}

/// Outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The line was in the cache.
    Hit {
        /// [`LlcPolicy::position`] before the hit.
        position: Option<usize>,
    },
    /// The line was not in the cache and is now.
    Miss {
        /// The evicted line; `None` while there is room.
        evicted: Option<Evicted>,
    },
    /// The line was not in the cache and is not now. A write-back goes to memory.
    Bypassed,
}

impl Cache {
    /// Makes an empty cache.
    pub fn new(geometry: Geometry, policy: Box<dyn LlcPolicy>) -> Self {
        Self {
            tags: Tags::new(geometry),
            policy,
        }
    }

    /// Serves a request.
    pub fn access(&mut self, request: &Request) -> Outcome {
        self.tags.access(&mut *self.policy, request)
    }

    /// Serves requests in order, and appends the outcome of each. This is faster than one by one.
    pub fn serve(&mut self, requests: &[Request], outcomes: &mut Vec<Outcome>) {
        self.policy.serve(&mut self.tags, requests, outcomes);
    }

    /// Tells the policy of all requests to come: [`LlcPolicy::foresee`].
    pub fn foresee(&mut self, requests: &mut dyn Iterator<Item = Request>) {
        self.policy.foresee(requests);
    }

    /// Flushes a line for a program: see [`Tags::flush`]. The policy is not asked.
    pub fn flush(&mut self, line: u64, dirty_above: bool, invalidates: bool) -> bool {
        self.tags.flush(line, dirty_above, invalidates)
    }

    /// Counts as dirty what was evicted last, since it was dirty in the level above: see
    /// [`Tags::evicted_dirty`].
    pub fn evicted_dirty(&mut self, evicted: &mut Evicted) {
        self.tags.evicted_dirty(evicted);
    }

    /// Returns the policy.
    pub fn policy(&self) -> &dyn LlcPolicy {
        &*self.policy
    }

    /// Returns the lines.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Number of dirty lines.
    pub fn dirty_lines(&self) -> u64 {
        self.tags.dirty_lines()
    }

    /// Returns the shape of the cache.
    pub fn geometry(&self) -> Geometry {
        self.tags.geometry()
    }
}
