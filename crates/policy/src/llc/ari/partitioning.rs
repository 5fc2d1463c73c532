//! One of the static policies that ARI chooses from.

use crate::llc::InForce;
use crate::llc::nhm::Insertion;

/// A partitioning nHm of the LRU stack, with an insertion (Fedorov 2016, 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// Ways of the high-hit partition: n.
    pub high: usize,
    /// Position of new lines.
    pub insertion: Insertion,
}

impl Partitioning {
    /// LRU in a cache of `ways` ways: mHm with insertion at MRU.
    pub fn lru(ways: usize) -> Self {
        Self {
            high: ways,
            insertion: Insertion::Mru,
        }
    }

    /// Returns the partitioning with the other insertion.
    pub fn flipped(self) -> Self {
        let insertion = match self.insertion {
            Insertion::Mru => Insertion::Low,
            Insertion::Low => Insertion::Mru,
        };
        Self { insertion, ..self }
    }

    /// Returns the number of lines of the set before a new one. A line that is written back goes to
    /// MRU if `dirty` says so, and otherwise where read lines go.
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
