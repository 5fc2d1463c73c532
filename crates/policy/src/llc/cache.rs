//! A cache: its lines under a policy.

use super::{Above, Geometry, LlcPolicy, Request, Tags};

/// A set-associative, write-back, write-allocate cache.
pub struct Cache {
    pub(super) tags: Tags,
    policy: Box<dyn LlcPolicy>,
    /// What an exclusive cache knows of the level above; `None` for another.
    above: Option<Above>,
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
    /// The line was not in the cache and is not now.
    Bypassed {
        /// Whether it goes to memory, since it is dirty.
        written: bool,
    },
    /// The line was not in the cache, which is exclusive, and goes to the level above alone.
    Passed,
}

impl Cache {
    /// Makes an empty cache.
    pub fn new(geometry: Geometry, policy: Box<dyn LlcPolicy>) -> Self {
        Self {
            tags: Tags::new(geometry),
            policy,
            above: None,
        }
    }

    /// Makes an empty cache exclusive: a victim cache of the level above ([`Above`]). `None` where
    /// its policy has no meaning there.
    #[must_use]
    pub fn exclusive(mut self) -> Option<Self> {
        let suits = self.policy.go_exclusive();
        self.above = Some(Above::new(self.geometry()));
        suits.then_some(self)
    }

    /// Whether the cache is exclusive.
    pub fn is_exclusive(&self) -> bool {
        self.above.is_some()
    }

    /// Serves a request to a cache that is not exclusive.
    pub fn access(&mut self, request: &Request) -> Outcome {
        debug_assert!(!self.is_exclusive(), "Cache::serve knows what is above");
        self.tags.access(&mut *self.policy, request)
    }

    /// Serves requests in order, and appends the outcome of each. This is faster than one by one.
    pub fn serve(&mut self, requests: &[Request], outcomes: &mut Vec<Outcome>) {
        let (policy, tags) = (&mut self.policy, &mut self.tags);
        match &mut self.above {
            None => policy.serve(tags, requests, outcomes),
            Some(above) => policy.serve_exclusive(tags, above, requests, outcomes),
        }
    }

    /// Tells the policy of all requests to come: [`LlcPolicy::foresee`].
    pub fn foresee(&mut self, requests: &mut dyn Iterator<Item = Request>) {
        self.policy.foresee(requests);
    }

    /// Flushes a line for a program: see [`Tags::flush`]. The policy is not asked.
    pub fn flush(&mut self, line: u64, dirty_above: bool, invalidates: bool) -> bool {
        let above = self.above.as_mut();
        let taken = above.is_some_and(|above| above.flush(line, invalidates));
        self.tags.flush(line, dirty_above || taken, invalidates)
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

    /// Number of places that have been filled, some of them perhaps free again in an exclusive
    /// cache, whose hits free them.
    pub fn ever_filled(&self) -> usize {
        let above = self.above.as_ref();
        above.map_or(self.tags.filled(), Above::ever_filled)
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
