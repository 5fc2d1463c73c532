//! The last operation that changed data under a lock, for threads of other lanes that are about to
//! change more of it.
//!
//! To look into every other lane's window before each operation is dear where lanes are busy: it is
//! a cache line that its lane writes all the time. So whoever has a lock may keep with it the *stamp*
//! of the last operation that changed anything under it. Of all lanes but that one's, no operation
//! that names anything under the lock may be done again, whatever it names: the next lane looks at
//! that one only, and then vouches for all of it alone.

use crate::allocator::Space;
use crate::error::Result;
use crate::medium::Medium;

use super::{Held, Lanes};

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Stamp {
    pub lane: usize,
    pub sequence: u64,
}

impl Lanes {
    /// Of each lane the last operation that is over: what it has changed is there. One that is still
    /// under way, whoever does it, is not waited for.
    pub fn over(&self) -> Vec<Stamp> {
        let stamp = |(lane, of): (usize, &super::Lane)| Stamp {
            lane,
            sequence: of.window.over(),
        };
        self.used().iter().enumerate().map(stamp).collect()
    }
}

impl Held<'_> {
    /// The lane's last operation.
    #[inline]
    pub fn last(&self) -> Stamp {
        Stamp {
            lane: self.index,
            sequence: self.state.fenced,
        }
    }

    /// Sees to it that neither these operations, which are over, nor any before them in their lanes
    /// are ever done again, unless they are this lane's own: of what the caller's locks guard, this
    /// lane may then change anything. The stamp of the locks is to be that of the change.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn take_over<M: Medium>(&mut self, space: &Space<M>, stamps: &[Stamp]) -> Result<()> {
        for &stamp in stamps {
            if stamp.lane != self.index && stamp.sequence > self.state.past[stamp.lane] {
                self.take_over_recent(space, stamp)?;
            }
        }
        Ok(())
    }

    /// As [`Held::take_over`] where the other lane has to be looked at.
    #[inline(never)]
    fn take_over_recent<M: Medium>(&mut self, space: &Space<M>, stamp: Stamp) -> Result<()> {
        let window = &self.lanes.lanes[stamp.lane].window;
        if stamp.sequence > window.past() {
            let at = space.pool.geometry.settled_of(stamp.lane);
            window.settle_up_to(&space.pool, at, stamp.sequence)?;
        }
        self.state.past[stamp.lane] = window.past();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Heap, Result};

    #[test]
    fn an_operation_is_over_when_its_lane_is_given_back() -> Result<()> {
        let heap = Heap::anonymous(1 << 20)?;
        let core = heap.core();
        let mut held = core.hold();
        let of_held = |lane: usize| {
            let over = core.lanes.over();
            over.iter().find(|stamp| stamp.lane == lane).copied()
        };
        let before = of_held(held.index);
        held.fence(&core.space, &[])?;
        let last = held.last();
        assert_eq!(of_held(last.lane), before);
        drop(held);
        assert_eq!(of_held(last.lane), Some(last));
        Ok(())
    }
}
