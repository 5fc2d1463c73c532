//! What is counted of a cache.

use std::ops::Sub;

use super::{Kind, Outcome};

/// Events of a last-level cache.
///
/// Each request is one of three kinds and has one of three ends. Of what is read, a miss costs a
/// read of memory; a write-back that misses does not, for it brings the whole line. So `misses`
/// are those of loads and stores alone (as gem5 counts, with which the paper was measured), and
/// `misses` plus `writebacks` are the lines that go over the memory bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Loads that hit, missed and were filled, missed and were not.
    pub loads: Ends,
    /// The same of stores.
    pub stores: Ends,
    /// The same of write-backs of the level above.
    pub from_above: Ends,
    /// Clean lines that had to go.
    pub clean_evictions: u64,
    /// Dirty ones.
    pub dirty_evictions: u64,
    /// Write-backs of the level above to a line that was not dirty here, and flushes of a line that
    /// was dirty only above.
    pub dirtied: u64,
    /// Lines that programs flushed, each time.
    pub flushes: u64,
    /// Those of them that were dirty, here or above, and so were written to memory.
    pub flush_writes: u64,
}

/// How requests of one kind ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// The line was there.
    pub hits: u64,
    /// It was not, and is now.
    pub fills: u64,
    /// It was not, and is not now.
    pub bypasses: u64,
}

impl Ends {
    /// All requests.
    pub fn all(self) -> u64 {
        self.hits + self.misses()
    }

    /// Those for a line that was not there.
    pub fn misses(self) -> u64 {
        self.fills + self.bypasses
    }
}

impl Counts {
    /// Counts a request. What the cache alone knows is left out: [`Counts::dirtied`].
    pub fn note(&mut self, kind: Kind, outcome: &Outcome) {
        let ends = self.of(kind);
        match outcome {
            Outcome::Hit { .. } => ends.hits += 1,
            Outcome::Bypassed => ends.bypasses += 1,
            Outcome::Miss { evicted } => {
                ends.fills += 1;
                if let Some(evicted) = evicted {
                    self.dirty_evictions += u64::from(evicted.dirty);
                    self.clean_evictions += u64::from(!evicted.dirty);
                }
            }
        }
    }

    /// Those of requests of a kind.
    #[inline]
    pub(super) fn of(&mut self, kind: Kind) -> &mut Ends {
        match kind {
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
            Kind::WriteBack => &mut self.from_above,
        }
    }

    /// Requests.
    pub fn accesses(&self) -> u64 {
        self.loads.all() + self.stores.all() + self.from_above.all()
    }

    /// Requests for a line that was there.
    pub fn hits(&self) -> u64 {
        self.loads.hits + self.stores.hits + self.from_above.hits
    }

    /// Loads and stores of a line that was not there: reads of memory.
    pub fn misses(&self) -> u64 {
        self.loads.misses() + self.stores.misses()
    }

    /// Write-backs of the level above for a line that was not there.
    pub fn writeback_misses(&self) -> u64 {
        self.from_above.misses()
    }

    /// Requests for which the policy kept the cache as it was.
    pub fn bypasses(&self) -> u64 {
        self.loads.bypasses + self.stores.bypasses + self.from_above.bypasses
    }

    /// Lines written to memory: dirty ones that had to go or were flushed, and write-backs that passed
    /// by.
    pub fn writebacks(&self) -> u64 {
        self.dirty_evictions + self.from_above.bypasses + self.flush_writes
    }
}

impl Sub for Ends {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            hits: self.hits - before.hits,
            fills: self.fills - before.fills,
            bypasses: self.bypasses - before.bypasses,
        }
    }
}

impl Sub for Counts {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            loads: self.loads - before.loads,
            stores: self.stores - before.stores,
            from_above: self.from_above - before.from_above,
            clean_evictions: self.clean_evictions - before.clean_evictions,
            dirty_evictions: self.dirty_evictions - before.dirty_evictions,
            dirtied: self.dirtied - before.dirtied,
            flushes: self.flushes - before.flushes,
            flush_writes: self.flush_writes - before.flush_writes,
        }
    }
}
