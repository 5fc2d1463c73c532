//! Locks in DRAM: each for the groups whose numbers end with the same bits, so that a group and the
//! one that it splits off have the same. Each keeps the stamp of the last operation under it
//! (`crate::lane::stamp`): who holds it takes over from that one, and leaves his own.

use std::slice;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::lane::stamp::Stamp;

/// The most locks of a map.
const MAX: u64 = 1024;

/// The locks of a map.
pub(super) struct Stripes {
    locks: Box<[Lock]>,
    /// The last operation of each lane when the map was opened. Some may have been through another
    /// handle, which is gone.
    before: Vec<Stamp>,
}

/// A lock, in one cache line with what it guards.
#[repr(align(64))]
struct Lock(RwLock<Stripe>);

/// What is known of the groups under a lock, and the lines and entries that belong to them.
#[derive(Default)]
pub(super) struct Stripe {
    /// Entries that came since the map was opened.
    pub came: i64,
    /// The operation that last changed any of them, since then. Those of other lanes that name any
    /// are never done again.
    pub last: Option<Stamp>,
}

/// Nobody else changes these groups.
pub(super) type Writing<'s> = RwLockWriteGuard<'s, Stripe>;

impl Stripes {
    /// For a map that began with so many groups, and that operations up to `before` of each lane may
    /// have changed.
    pub fn new(first_groups: u64, before: Vec<Stamp>) -> Self {
        let count = first_groups.min(MAX);
        Self {
            locks: (0..count).map(|_| Lock(RwLock::default())).collect(),
            before,
        }
    }

    pub fn len(&self) -> u64 {
        self.locks.len() as u64
    }

    /// From which operations whoever changes anything under a stripe has to take over.
    #[inline]
    pub fn last<'s>(&'s self, stripe: &'s Stripe) -> &'s [Stamp] {
        match &stripe.last {
            Some(last) => slice::from_ref(last),
            None => &self.before,
        }
    }

    /// As [`Stripes::last`], under several: one of each lane.
    pub fn last_of_all(&self, stripes: &[Writing]) -> Vec<Stamp> {
        let mut all: Vec<Stamp> = stripes.iter().filter_map(|stripe| stripe.last).collect();
        if all.len() < stripes.len() {
            all.extend(&self.before);
        }
        all.sort_unstable_by(|a, b| b.cmp(a));
        all.dedup_by_key(|stamp| stamp.lane);
        all
    }

    /// Holds off those who change the groups of a hash, or of a group's number.
    #[inline]
    pub fn read(&self, hash: u64) -> RwLockReadGuard<'_, Stripe> {
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
    pub fn read_all(&self) -> Vec<RwLockReadGuard<'_, Stripe>> {
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
        hash as usize & (self.locks.len() - 1)
    }

    #[inline]
    fn of(&self, hash: u64) -> &Lock {
        &self.locks[self.number(hash)]
    }
}

const _: () = assert!(size_of::<Lock>() == 64);
