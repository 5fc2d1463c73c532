//! What a set is kept by: one of the static policies that ARI chooses from.

use crate::llc::InForce;
use crate::llc::nhm::Insertion;

/// A partitioning nHm of the LRU stack, with an insertion (Fedorov 2016, 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// Ways of the high-hit partition: n.
    pub high: usize,
    /// Where new lines are put.
    pub insertion: Insertion,
}

impl Partitioning {
    /// LRU in a cache of so many ways: mHm with insertion at MRU.
    pub fn lru(ways: usize) -> Self {
        Self {
            high: ways,
            insertion: Insertion::Mru,
        }
    }

    /// The same with the other insertion.
    pub fn flipped(self) -> Self {
        let insertion = match self.insertion {
            Insertion::Mru => Insertion::Low,
            Insertion::Low => Insertion::Mru,
        };
        Self { insertion, ..self }
    }

    /// Behind how many lines of the set a new one is put. One that is written back goes to MRU
    /// where `dirty` says so, and else where those that are read go.
    #[inline]
    pub fn position(self, dirty: Insertion, writes: bool) -> usize {
        match dirty {
            Insertion::Mru if writes => 0,
            _ => self.insertion.position(self.high),
        }
    }
}

impl From<Partitioning> for InForce {
    fn from(partitioning: Partitioning) -> Self {
        Self {
            high: partitioning.high,
            low_insertion: partitioning.insertion == Insertion::Low,
        }
    }
}
