//! Last-level caches: which lines stay, and where new ones are put.
//!
//! An [`LlcPolicy`] decides over the lines of one set-associative cache. A [`Cache`] holds the
//! lines: it looks a [`Request`] up, tells the policy of hits and fills, and asks it for a victim
//! if a set is full. Lines are written back, and allocated on writes; a line that the level above
//! writes back is dirty here until it is evicted, and no read makes it clean.
//!
//! A [`Prefetcher`] decides which lines the level above reads ahead of their use, [`LastWrites`]
//! which of those that it writes back get no more writes.
//!
//! To add a policy: copy [`lru`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/llc/slow`.

pub mod ari;
mod bounds;
mod cache;
mod counts;
pub mod dblk;
pub mod density;
pub mod dip;
pub mod drrip;
mod duel;
mod early;
pub mod fifo;
mod geometry;
pub mod hawkeye;
mod last_write;
pub mod lru;
mod make;
pub mod mockingjay;
pub mod nhm;
pub mod nru;
pub mod opt;
pub mod plru;
mod prefetch;
pub mod random;
mod recency;
mod registry;
pub mod rlr;
mod sampled;
pub mod ship;
mod signature;
mod skewed;
mod tags;
#[cfg(test)]
mod testing;

pub use bounds::{Bounds, bounds};
pub use cache::{Cache, Evicted, Outcome};
pub use counts::{Counts, Ends};
pub use duel::Duel;
pub use geometry::{Geometry, Place};
pub use last_write::LastWrites;
pub use make::{Entry, Made, Make, Spec};
pub use prefetch::Prefetcher;
pub use recency::Recency;
pub use registry::REGISTRY;
pub use sampled::Sampled;
pub use tags::{Above, Tags, Victim};

/// Default size of a line in bytes.
pub const LINE_BYTES: u64 = 64;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A load missed in the level above: the line is read.
    Load,
    /// A store missed in the level above: the line is read, and will be dirty there.
    Store,
    /// The level above evicts a dirty line: it is written.
    WriteBack,
    /// The level above reads a line for which nobody has asked yet.
    Prefetch,
    /// The level above evicts a line that was not written there, and the cache is exclusive.
    CleanVictim,
}

impl Kind {
    /// Whether the request writes the line here.
    pub fn writes(self) -> bool {
        self == Self::WriteBack
    }

    /// Whether the level above asks for the line, rather than evicts it.
    pub fn reads(self) -> bool {
        !matches!(self, Self::WriteBack | Self::CleanVictim)
    }

    /// Whether a core waits for the line: a load or store.
    pub fn is_demand(self) -> bool {
        matches!(self, Self::Load | Self::Store)
    }
}

/// A request of the level above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Line: its address divided by the size of a line, unique over all processes.
    pub line: u64,
    /// Address of the instruction, for a [`Kind::Prefetch`] of that which caused it; 0 if it is not
    /// known, as for a [`Kind::WriteBack`] or [`Kind::CleanVictim`].
    pub ip: u64,
    /// Core that makes the request.
    pub core: u8,
    /// Kind of the request.
    pub kind: Kind,
}

/// Choice of a victim for a line that missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Evicts the line in this way.
    Evict(usize),
    /// Evicts nothing: the line bypasses the cache. A dirty one then goes to memory.
    Bypass,
}

/// Partitioning in force, for policies that change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Ways of the high-hit partition: the n of nHm (Fedorov 2016, 2.2).
    pub high: usize,
    /// Whether new lines are put at the top of the low-hit partition, rather than at MRU.
    pub low_insertion: bool,
}

/// Decides over the lines of one cache.
///
/// For each request the cache calls [`LlcPolicy::request`], and then [`LlcPolicy::hit`]; or on a
/// miss [`LlcPolicy::choose`] unless the set has a free way, and [`LlcPolicy::fill`] unless the
/// line bypasses the cache. An exclusive cache ([`Cache::exclusive`]) calls other methods: see
/// [`Above`].
pub trait LlcPolicy: Send {
    /// Serves requests to the lines of the cache, and appends the outcome of each. Every policy
    /// compiles this default for itself, so that one virtual call serves many requests.
    fn serve(&mut self, tags: &mut Tags, requests: &[Request], outcomes: &mut Vec<Outcome>) {
        tags.serve(self, requests, outcomes);
    }

    /// Told of all requests to come, before the first, for policies that know the future
    /// ([`Make::ByFuture`]).
    fn foresee(&mut self, _requests: &mut dyn Iterator<Item = Request>) {}

    /// Called for each request before the look-up, for policies that sample sets.
    fn request(&mut self, _set: usize, _request: &Request) {}

    /// Called when the request has hit the line in `place`.
    fn hit(&mut self, place: Place, request: &Request);

    /// Returns the victim for a request that missed in a full set. Bit w of `dirty` is set if way w
    /// is dirty.
    fn choose(&mut self, set: usize, dirty: u64, request: &Request) -> Choice;

    /// Called when the line of the request has been put in `place`.
    fn fill(&mut self, place: Place, request: &Request);

    /// Serves requests to an exclusive cache, as [`LlcPolicy::serve`] to another.
    fn serve_exclusive(
        &mut self,
        tags: &mut Tags,
        above: &mut Above,
        requests: &[Request],
        outcomes: &mut Vec<Outcome>,
    ) {
        tags.serve_exclusive(self, above, requests, outcomes);
    }

    /// Told before the first request that the cache is exclusive. Returns whether the policy has a
    /// meaning there; one that returns false is not used.
    fn go_exclusive(&mut self) -> bool {
        false
    }

    /// Called in an exclusive cache when the request has hit the line in `place`, which leaves the
    /// cache. The place is filled before another line of the set is evicted.
    fn take(&mut self, place: Place, request: &Request) {
        self.hit(place, request);
    }

    /// Called in an exclusive cache when the request has missed: the line goes to the level above
    /// alone.
    fn pass(&mut self, _set: usize, _request: &Request) {}

    /// Called in an exclusive cache when a line has been put in `place` that the level above
    /// evicted. The request is that which took the line there.
    fn insert(&mut self, place: Place, request: &Request, _victim: Victim) {
        self.fill(place, request);
    }

    /// Whether lines may bypass the cache.
    fn bypasses(&self) -> bool {
        false
    }

    /// Returns the number of lines of the set used more recently than that in `place`, for policies
    /// that keep such an order.
    fn position(&self, _place: Place) -> Option<usize> {
        None
    }

    /// Whether the line in `place` is in the low-hit part of its set: those that are to leave next
    /// (Fedorov 2016, 2.2). `None` for policies that do not tell; those that do tell
    /// [`LlcPolicy::position`], too.
    fn low_hit(&self, _place: Place) -> Option<bool> {
        None
    }

    /// Returns the partitioning in force, for policies that change it.
    fn in_force(&self) -> Option<InForce> {
        None
    }

    /// Returns the bits stored beyond the tags, the dirty bits and the LRU order of the cache.
    fn storage_bits(&self) -> u64 {
        0
    }
}
