//! Locks in DRAM: each for the groups whose numbers end with the same bits, so that a group and the
//! one that it splits off have the same.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The most locks of a map.
const MAX: u64 = 1024;

/// The locks of a map.
pub(super) struct Stripes {
    /// Of each: how many entries came since the map was opened.
    stripes: Box<[Stripe]>,
}

#[repr(align(64))]
struct Stripe(RwLock<i64>);

/// Nobody else changes these groups.
pub(super) type Writing<'s> = RwLockWriteGuard<'s, i64>;

impl Stripes {
    /// For a map that began with so many groups.
    pub fn new(first_groups: u64) -> Self {
        let count = first_groups.min(MAX);
        let stripe = |_| Stripe(RwLock::new(0));
        Self {
            stripes: (0..count).map(stripe).collect(),
        }
    }

    pub fn len(&self) -> u64 {
        self.stripes.len() as u64
    }

    /// Holds off those who change the groups of a hash, or of a group's number.
    #[inline]
    pub fn read(&self, hash: u64) -> RwLockReadGuard<'_, i64> {
        let lock = &self.of(hash).0;
        lock.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds off all others.
    #[inline]
    pub fn write(&self, hash: u64) -> Writing<'_> {
        let lock = &self.of(hash).0;
        lock.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Holds off all who change anything.
    pub fn read_all(&self) -> Vec<RwLockReadGuard<'_, i64>> {
        (0..self.len()).map(|i| self.read(i)).collect()
    }

    /// Holds off all others from everything.
    pub fn write_all(&self) -> Vec<Writing<'_>> {
        (0..self.len()).map(|i| self.write(i)).collect()
    }

    /// Which one is that of a hash, or of a group's number.
    #[inline]
    pub fn number(&self, hash: u64) -> usize {
        // There are a power of two of them.
        hash as usize & (self.stripes.len() - 1)
    }

    #[inline]
    fn of(&self, hash: u64) -> &Stripe {
        &self.stripes[self.number(hash)]
    }
}
