//! The one rule under which persistent data are changed: *own them first*.
//!
//! After a crash the last two operations of each lane, F - 1 and F, are repeated, and make their
//! changes again (`FORMAT.md`, "Why recovery is right"). So a lane owns bytes, and may change them
//! by its next operation, if no operation of any *other* lane that may be repeated names any of
//! them. Its own may: they are repeated first, in their order. Where bytes are changed before the
//! operation that describes it has passed its fence (a slot is filled that is not read yet), the
//! lane's own last operation must not name them either.
//!
//! Two ways lead to owning. A *guard*, the lock of a container's data, keeps with it the [`Stamp`]
//! of the last operation that changed anything under it, and of all lanes but that one's no
//! operation that may be repeated names anything there: so it is enough to look at one lane. For
//! what is under no guard, all lanes that were ever used are looked at. In both cases what stands
//! against owning is settled: its effects are made durable, and then its lane says so.
//!
//! A thread that changes data holds a guard, or whatever else protects them, against all others
//! that would change the same. So the operations found here about the data are over, and do not
//! change.

use std::num::NonZeroU64;

use crate::allocator::Space;
use crate::error::Result;
use crate::medium::Medium;

use super::Held;
use super::window::Range;

/// Bits of a sequence: more operations than a pool lives to see.
const SEQUENCE_BITS: u32 = 56;

/// An operation of a lane, packed in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    /// Returns the stamp of a lane's operation with this sequence, from 1 on.
    #[inline]
    pub fn new(lane: usize, sequence: u64) -> Self {
        debug_assert!(lane < 256 && (1..1 << SEQUENCE_BITS).contains(&sequence));
        let word = (lane as u64) << SEQUENCE_BITS | sequence;
        Self(NonZeroU64::new(word).expect("sequences begin with 1"))
    }

    #[inline]
    pub fn lane(self) -> usize {
        (self.0.get() >> SEQUENCE_BITS) as usize
    }

    #[inline]
    pub fn sequence(self) -> u64 {
        self.0.get() & ((1 << SEQUENCE_BITS) - 1)
    }
}

impl Held<'_> {
    /// Owns all data under a guard whose last operation was this one.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn own_guarded<M: Medium>(&mut self, space: &Space<M>, last: Stamp) -> Result<()> {
        if last.lane() != self.index && last.sequence() > self.state.past[last.lane()] {
            self.own_recent(space, last)?;
        }
        Ok(())
    }

    /// Same as [`Held::own_guarded`], where the other lane has to be looked at.
    #[inline(never)]
    fn own_recent<M: Medium>(&mut self, space: &Space<M>, last: Stamp) -> Result<()> {
        let window = &self.lanes.lanes[last.lane()].window;
        if last.sequence() > window.past() {
            let at = space.pool.geometry.settled_of(last.lane());
            window.settle_up_to(&space.pool, at, last.sequence())?;
        }
        self.state.past[last.lane()] = window.past();
        Ok(())
    }

    /// Owns these bytes, which are under no guard.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn own<M: Medium>(&self, space: &Space<M>, ranges: &[Range]) -> Result<()> {
        for (index, other) in self.lanes.used().iter().enumerate() {
            if index != self.index {
                let at = space.pool.geometry.settled_of(index);
                other.window.settle_for(&space.pool, at, ranges)?;
            }
        }
        Ok(())
    }

    /// Returns whether another lane was ever used, from which bytes would have to be owned.
    pub fn has_others(&self) -> bool {
        let used = self.lanes.used().len();
        used > usize::from(self.index < used)
    }

    /// Owns bytes that are changed without an operation: no operation of any lane, this one
    /// included, that names them will be repeated.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn own_past_operations<M: Medium>(&self, space: &Space<M>, range: Range) -> Result<()> {
        self.own(space, &[range])?;
        let at = space.pool.geometry.settled_of(self.index);
        self.lane.window.settle_for(&space.pool, at, &[range])
    }

    /// Returns whether this lane's last operation names any of these bytes, so that they must not
    /// be changed before the fence of the next one.
    #[inline]
    pub fn last_names(&self, range: Range) -> bool {
        self.lane.window.last_names(range)
    }

    /// Returns whether this lane owns these bytes: the rule itself, as tests hold every operation
    /// to it.
    pub fn owns(&self, ranges: &[Range]) -> bool {
        let mut lanes = self.lanes.used().iter().enumerate();
        lanes.all(|(index, lane)| index == self.index || !lane.window.names(ranges))
    }
}
