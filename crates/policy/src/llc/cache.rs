//! A cache: its lines, under a policy.

use super::{Geometry, LlcPolicy, Request, Tags};

/// A set-associative, write-back, write-allocate cache.
pub struct Cache {
    tags: Tags,
    policy: Box<dyn LlcPolicy>,
}

/// A line that had to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evicted {
    /// The line.
    pub line: u64,
    /// Whether it has to be written to memory.
    pub dirty: bool,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The line was there, behind so many others of its set, if the policy keeps an order.
    Hit {
        /// [`LlcPolicy::position`] before the hit.
        position: Option<usize>,
    },
    /// It was not, and is now.
    Miss {
        /// Who had to go; none while there is room.
        evicted: Option<Evicted>,
    },
    /// It was not, and is not now. What was to be written goes to memory.
    Bypassed,
}

impl Cache {
    /// An empty one.
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

    /// Serves requests in their order, and appends what became of each. That is faster than one by
    /// one.
    pub fn serve(&mut self, requests: &[Request], outcomes: &mut Vec<Outcome>) {
        self.policy.serve(&mut self.tags, requests, outcomes);
    }

    /// A program flushes a line: see [`Tags::flush`]. The policy is not asked.
    pub fn flush(&mut self, line: u64, dirty_above: bool, invalidates: bool) -> bool {
        self.tags.flush(line, dirty_above, invalidates)
    }

    /// Its policy.
    pub fn policy(&self) -> &dyn LlcPolicy {
        &*self.policy
    }

    /// Its lines.
    pub fn tags(&self) -> &Tags {
        &self.tags
    }

    /// How many of its lines are dirty now.
    pub fn dirty_lines(&self) -> u64 {
        self.tags.dirty_lines()
    }

    /// Its shape.
    pub fn geometry(&self) -> Geometry {
        self.tags.geometry()
    }
}
