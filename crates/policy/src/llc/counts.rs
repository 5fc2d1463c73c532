//! Event counts of a cache.

use std::ops::Sub;

use super::{Kind, Outcome};

/// Events of a last-level cache.
///
/// Each request is of one of five kinds and has one of three ends. A load, store or prefetch that
/// misses costs a read of memory; a line that the level above evicts does not, because it comes
/// whole. `misses` counts loads and stores alone (as gem5, with which the paper was measured);
/// `reads` has prefetches as well, and `reads` plus `writebacks` are the lines that cross the
/// memory bus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Ends of loads.
    pub loads: Ends,
    /// Ends of stores.
    pub stores: Ends,
    /// Ends of write-backs of the level above.
    pub from_above: Ends,
    /// Ends of prefetches of the level above.
    pub prefetches: Ends,
    /// Ends of lines that the level above evicted unwritten, in an exclusive cache; others are not
    /// told of them.
    pub clean_victims: Ends,
    /// Clean lines evicted.
    pub clean_evictions: u64,
    /// Dirty lines evicted.
    pub dirty_evictions: u64,
    /// Write-backs of the level above to a line that was clean here, and flushes and evictions of a
    /// line that was dirty only above. In an exclusive cache dirty lines that came back, and
    /// flushes of a line that was dirty above.
    pub dirtied: u64,
    /// Dirty lines that hits took out of an exclusive cache.
    pub taken_dirty: u64,
    /// Dirty lines that bypassed the cache.
    pub dirty_bypasses: u64,
    /// Lines flushed by programs, each time.
    pub flushes: u64,
    /// Flushed lines that were dirty, here or above, and so were written to memory.
    pub flush_writes: u64,
    /// Dirty lines that were written to memory before they were evicted, and stayed clean.
    pub early_writes: u64,
}

/// Ends of requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ends {
    /// Requests for a line in the cache.
    pub hits: u64,
    /// Requests that brought the line in; of an exclusive cache, into the level above.
    pub fills: u64,
    /// Requests that bypassed the cache.
    pub bypasses: u64,
}

impl Ends {
    /// Number of requests.
    pub fn all(self) -> u64 {
        self.hits + self.misses()
    }

    /// Number of requests for a line that was not in the cache.
    pub fn misses(self) -> u64 {
        self.fills + self.bypasses
    }
}

impl Counts {
    /// Counts a request, but not [`Counts::dirtied`] and [`Counts::taken_dirty`], which only the
    /// cache knows.
    pub fn note(&mut self, kind: Kind, outcome: &Outcome) {
        let ends = self.of(kind);
        match outcome {
            Outcome::Hit { .. } => ends.hits += 1,
            Outcome::Passed => ends.fills += 1,
            Outcome::Bypassed { written } => {
                ends.bypasses += 1;
                self.dirty_bypasses += u64::from(*written);
            }
            Outcome::Miss { evicted } => {
                ends.fills += 1;
                if let Some(evicted) = evicted {
                    self.dirty_evictions += u64::from(evicted.dirty);
                    self.clean_evictions += u64::from(!evicted.dirty);
                }
            }
        }
    }

    /// Returns the ends of requests of a kind.
    #[inline]
    pub(super) fn of(&mut self, kind: Kind) -> &mut Ends {
        match kind {
            Kind::Load => &mut self.loads,
            Kind::Store => &mut self.stores,
            Kind::WriteBack => &mut self.from_above,
            Kind::Prefetch => &mut self.prefetches,
            Kind::CleanVictim => &mut self.clean_victims,
        }
    }

    /// Number of requests.
    pub fn accesses(&self) -> u64 {
        let evicted_above = self.from_above.all() + self.clean_victims.all();
        self.loads.all() + self.stores.all() + self.prefetches.all() + evicted_above
    }

    /// Number of requests for a line in the cache.
    pub fn hits(&self) -> u64 {
        self.loads.hits + self.stores.hits + self.from_above.hits + self.prefetches.hits
    }

    /// Number of loads and stores of a line that was not in the cache.
    pub fn misses(&self) -> u64 {
        self.loads.misses() + self.stores.misses()
    }

    /// Number of lines read from memory: misses, and prefetches of a line that was not in the
    /// cache.
    pub fn reads(&self) -> u64 {
        self.misses() + self.prefetches.misses()
    }

    /// Number of write-backs of the level above for a line that was not in the cache.
    pub fn writeback_misses(&self) -> u64 {
        self.from_above.misses()
    }

    /// Number of requests that bypassed the cache.
    pub fn bypasses(&self) -> u64 {
        let reads = self.loads.bypasses + self.stores.bypasses + self.prefetches.bypasses;
        reads + self.from_above.bypasses + self.clean_victims.bypasses
    }

    /// Number of lines written to memory: dirty lines evicted, flushed or written early, and those
    /// that bypassed the cache.
    pub fn writebacks(&self) -> u64 {
        let others = self.dirty_bypasses + self.flush_writes + self.early_writes;
        self.dirty_evictions + others
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
            prefetches: self.prefetches - before.prefetches,
            clean_victims: self.clean_victims - before.clean_victims,
            clean_evictions: self.clean_evictions - before.clean_evictions,
            dirty_evictions: self.dirty_evictions - before.dirty_evictions,
            dirtied: self.dirtied - before.dirtied,
            taken_dirty: self.taken_dirty - before.taken_dirty,
            dirty_bypasses: self.dirty_bypasses - before.dirty_bypasses,
            flushes: self.flushes - before.flushes,
            flush_writes: self.flush_writes - before.flush_writes,
            early_writes: self.early_writes - before.early_writes,
        }
    }
}
