//! Last-level caches: which lines stay, and where new ones are put.
//!
//! An [`LlcPolicy`] decides over the lines of one set-associative cache. A [`Cache`] holds the
//! lines themselves: it looks a [`Request`] up, tells the policy of hits and fills, and asks it
//! whom to evict where a set is full. Lines are written back, and allocated on writes; a line that
//! the level above writes back is dirty here until it is evicted, and no read makes it clean.
//!
//! To add a policy: copy [`lru`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/llc/slow`.

pub mod ari;
mod bimodal;
mod cache;
mod counts;
pub mod dblk;
pub mod density;
pub mod dip;
pub mod drrip;
mod duel;
mod geometry;
pub mod hawkeye;
pub mod lru;
pub mod mockingjay;
pub mod nhm;
pub mod nru;
pub mod random;
mod recency;
mod registry;
pub mod rlr;
mod sampled;
pub mod ship;
mod signature;
mod spec;
mod splitmix;
mod spread;
mod tags;
#[cfg(test)]
mod testing;

pub use bimodal::Bimodal;
pub use cache::{Cache, Evicted, Outcome};
pub use counts::{Counts, Ends};
pub use duel::Duel;
pub use geometry::{Geometry, Place};
pub use recency::Recency;
pub use registry::{Entry, Made, REGISTRY, by_name};
pub use sampled::Sampled;
pub use spec::Spec;
pub use splitmix::SplitMix64;
pub use tags::Tags;

/// Bytes of a line where nothing else is said.
pub const LINE_BYTES: u64 = 64;

/// Why a line is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A load missed in the level above: the line is read.
    Load,
    /// A store missed in the level above: the line is read, and will be dirty there.
    Store,
    /// The level above throws a dirty line out: it is written.
    WriteBack,
}

impl Kind {
    /// Whether the line is written here.
    pub fn writes(self) -> bool {
        self == Self::WriteBack
    }
}

/// What the level above asks of the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The line: its address divided by the bytes of a line, unique over all processes.
    pub line: u64,
    /// The address of the instruction; 0 where it is not known, as for a [`Kind::WriteBack`].
    pub ip: u64,
    /// The core that it comes from.
    pub core: u8,
    /// Why.
    pub kind: Kind,
}

/// Whom to evict for a line that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The line in this way.
    Evict(usize),
    /// Nobody: the line passes the cache by. A [`Kind::WriteBack`] then goes to memory.
    Bypass,
}

/// How lines are kept and inserted in the next while, by those policies that change it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// Ways of the high-hit partition: the n of nHm (Fedorov 2016, 2.2).
    pub high: usize,
    /// Whether new lines are put at the top of the low-hit partition, rather than at MRU.
    pub low_insertion: bool,
}

/// Decides over the lines of one cache.
///
/// For each request the cache calls [`LlcPolicy::request`], and then [`LlcPolicy::hit`]; or, where
/// the line is not there, [`LlcPolicy::choose`] unless the set has a free way, and
/// [`LlcPolicy::fill`] unless it was bypassed.
pub trait LlcPolicy: Send {
    /// Serves requests to the lines of its cache, and appends what became of each. Every policy has
    /// this for itself, as it stands here: so that it is called once for many requests, and not
    /// several times for each.
    fn serve(&mut self, tags: &mut Tags, requests: &[Request], outcomes: &mut Vec<Outcome>) {
        tags.serve(self, requests, outcomes);
    }

    /// A request has come, and it is not known yet whether it hits: for policies that sample sets.
    fn request(&mut self, _set: usize, _request: &Request) {}

    /// It has hit.
    fn hit(&mut self, place: Place, request: &Request);

    /// It has missed, and no way of the set is free. Bit w of `dirty` is set where way w is dirty.
    fn choose(&mut self, set: usize, dirty: u64, request: &Request) -> Choice;

    /// Its line is in this place from now on; what was there is gone.
    fn fill(&mut self, place: Place, request: &Request);

    /// How many lines of its set were used more recently than this one, for policies that keep
    /// such an order.
    fn position(&self, _place: Place) -> Option<usize> {
        None
    }

    /// How lines are kept now, for policies that change it.
    fn in_force(&self) -> Option<InForce> {
        None
    }

    /// Bits that it stores beyond the tags, the dirty bits and the LRU order of the cache.
    fn storage_bits(&self) -> u64 {
        0
    }
}
