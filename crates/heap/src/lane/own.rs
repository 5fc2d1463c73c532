//! The one rule under which persistent data are changed: *own them first*.
//!
//! A crash has the last two operations of each lane repeated, F - 1 and F, and what they say they
//! changed they change again (`FORMAT.md`, "Why recovery is right"). So a lane owns some bytes, and may
//! change them by its next operation, if of all *other* lanes no operation names any of them that may
//! be repeated. Its own may: they are repeated first, in their order. Where bytes are changed before
//! the operation that says so has passed its fence (a slot is filled at which nobody looks), the
//! lane's own last operation must not name them either.
//!
//! Two ways lead to owning. A *guard*, the lock of a container's data, keeps with it the [`Stamp`] of
//! the last operation that changed anything under it, and of all lanes but that one's no operation
//! that may be repeated names anything there: so it is enough to look at one lane. For what is under no
//! guard, all lanes that were ever used are looked at. In both cases what stands against owning is
//! settled: its effects are made durable, and then its lane says so.
//!
//! Whoever changes data holds off all others that would change the same, by a guard or by whatever
//! else protects them. So what is found here about them is over, and does not change.

use std::num::NonZeroU64;

use crate::allocator::Space;
use crate::error::Result;
use crate::medium::Medium;

use super::Held;
use super::window::Range;

/// Bits of a sequence: more operations than a pool lives to see.
const SEQUENCE_BITS: u32 = 56;

/// An operation of a lane, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp(NonZeroU64);

impl Stamp {
    /// The operation of this sequence, from 1 on, of a lane.
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
    /// Owns all that is under a guard whose last operation was this one.
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

    /// As [`Held::own_guarded`] where the other lane has to be looked at.
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

    /// Owns bytes that were, or are going to be, changed by no operation at all: of no lane, this one
    /// included, any operation that names them is repeated.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn own_past_operations<M: Medium>(&self, space: &Space<M>, range: Range) -> Result<()> {
        self.own(space, &[range])?;
        let at = space.pool.geometry.settled_of(self.index);
        self.lane.window.settle_for(&space.pool, at, &[range])
    }

    /// Whether this lane's last operation names any of these bytes, so that they must not be changed
    /// before the next one's fence.
    #[inline]
    pub fn last_names(&self, range: Range) -> bool {
        self.lane.window.last_names(range)
    }

    /// Whether this lane owns these bytes: the rule itself, as tests hold every operation to it.
    pub fn owns(&self, ranges: &[Range]) -> bool {
        let others = self.lanes.used().iter().enumerate();
        others
            .filter(|(index, _)| *index != self.index)
            .all(|(_, other)| !other.window.names(ranges))
    }
}
