//! The firmware of a router: it keeps the golden copy, carries out updates and flushes shadow
//! blocks (Fedorov 2016, 4.3.3.1 and 4.3.3.2).
//!
//! At every moment each route of the golden copy lies in exactly one valid row of a block that is
//! on-line, and no other row is valid. That is all that a longest-prefix match over blocks of one
//! length each needs, so entries have no order, and none is ever moved for one.
//!
//! An announcement is written to the shadow block of its length, and the row that held the prefix,
//! if any, becomes invalid. A full shadow block is sealed: it goes on answering, another one takes
//! its length's updates, and its routes are written to free flash blocks. When these come on-line,
//! their rows become valid and the shadow block is free. The chapter fixes the row in flash when a
//! route is added, here it is when it is written; nothing outside can tell. A block is programmed
//! once after each erase: where free blocks are few, the valid rows of the block with the most
//! holes are written to a free block together with new routes. So the old block answers until the
//! new one does, and any free block can be written next, as the lifetime estimate assumes (4.4.1).

mod flush;
mod lane;
mod load;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::IpAddr;

use rustc_hash::FxHashMap;
use terrace_base::{Nanos, Result};
use terrace_device::{LINE_CELLS, Wear, Worn};

use crate::bound::Bound;
use crate::chip::{Chip, Location, Match};
use crate::count::Counts;
use crate::golden::Golden;
use crate::images::{Images, Use};
use crate::length::Length;
use crate::policy::{Admission, Announced, Held, Sum};
use crate::pool::Pool;
use crate::prefix::Prefix;
use crate::route::{Port, Route};
use crate::settings::Settings;
use crate::shadows::Shadows;
use crate::update::Change;

pub use flush::Flushed;
use lane::Lane;

/// A router with a chip `C`, in virtual time.
#[derive(Debug)]
pub struct Router<C> {
    settings: Settings,
    policy: Sum,
    chip: C,
    golden: Golden,
    images: Images,
    pool: Pool,
    shadows: Shadows,
    /// By the number of the length.
    lanes: Vec<Lane>,
    /// Ends of rounds of flushes, with the number of the length.
    ends: BinaryHeap<Reverse<(Nanos, usize)>>,
    /// Lengths whose flush waits for a free block, or whose updates wait for a shadow block.
    stuck: Vec<usize>,
    /// Invalid rows of flash that still hold a prefix; kept for policies that revive them.
    invalid: FxHashMap<Prefix, (u32, u32)>,
    /// Updates that were carried out.
    order: u64,
    now: Nanos,
    wear: Wear,
    bound: Bound,
    flushed: Vec<Flushed>,
    queue: Queue,
}

/// Updates that wait for a shadow block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queue {
    /// Updates that wait now.
    now: u64,
    /// The most that waited at one time.
    pub most: u64,
    /// The longest wait of one.
    pub longest: Nanos,
}

impl<C: Chip> Router<C> {
    /// Handles an update that arrives at a time, which is not before the last one.
    ///
    /// # Errors
    /// Returns a failure if the flash has no row for a route.
    pub fn update(&mut self, at: Nanos, change: Change) -> Result<()> {
        self.advance(at)?;
        let lane = Length::of(change.prefix()).index();
        let counts = &mut self.lanes[lane].counts;
        match change {
            Change::Announce(_) => counts.announcements += 1,
            Change::Withdraw(_) => counts.withdrawals += 1,
        }
        if self.lanes[lane].waiting.is_empty() && self.carry_out(lane, change)? {
            return Ok(());
        }
        self.lanes[lane].counts.waited += 1;
        self.lanes[lane].waiting.push_back((at, change));
        self.stick(lane);
        self.queue.now += 1;
        self.queue.most = self.queue.most.max(self.queue.now);
        Ok(())
    }

    /// Lets time pass: flash blocks that are programmed by then come on-line.
    ///
    /// # Errors
    /// Returns a failure if the flash has no row for a route.
    pub fn advance(&mut self, to: Nanos) -> Result<()> {
        while let Some(Reverse((at, lane))) = self.ends.peek().copied().filter(|end| end.0.0 <= to)
        {
            self.ends.pop();
            self.now = at;
            self.end_round(lane)?;
            self.resume()?;
        }
        self.now = self.now.max(to);
        Ok(())
    }

    /// Lets time pass until nothing is being programmed.
    ///
    /// # Errors
    /// Returns a failure if the flash has no row for a route.
    pub fn finish(&mut self) -> Result<()> {
        while let Some(Reverse((at, _))) = self.ends.peek().copied() {
            self.advance(at)?;
        }
        Ok(())
    }

    /// Returns what the chip answers now.
    pub fn lookup(&self, address: IpAddr) -> Option<Match> {
        self.chip.lookup(address)
    }

    /// Carries out a change now. Tells whether it could; if not, nothing has changed.
    fn carry_out(&mut self, lane: usize, change: Change) -> Result<bool> {
        match change {
            Change::Announce(route) => self.announce(lane, route),
            Change::Withdraw(prefix) => {
                self.withdraw(lane, prefix);
                Ok(true)
            }
        }
    }

    fn announce(&mut self, lane: usize, route: Route) -> Result<bool> {
        let before = self.golden.get(route.prefix);
        let invalid = self.invalid_row(route.prefix);
        let admission = self.policy.admit(Announced {
            route,
            before,
            invalid: invalid.map(|(.., port)| port),
        });
        let counts = &mut self.lanes[lane].counts;
        match (admission, invalid) {
            (Admission::Skip, _) if before == Some(route.port) => counts.skipped += 1,
            (Admission::Revive, Some((block, row, port))) if port == route.port => {
                counts.revived += 1;
                self.invalid.remove(&route.prefix);
                self.remove_row(lane, route.prefix);
                self.images.block_mut(block).set_valid(row, true);
                self.chip.revive(block, row, route);
            }
            _ => {
                if !self.write(lane, route) {
                    return Ok(false);
                }
            }
        }
        self.changed(Change::Announce(route), before);
        self.seal_if_full(lane)?;
        Ok(true)
    }

    /// Writes a route to the shadow block of its length; `false` if there is none.
    fn write(&mut self, lane: usize, route: Route) -> bool {
        let held = Held {
            route,
            order: self.order,
        };
        let at = self.chip.find(route.prefix);
        if let (Some(Location::Shadow { block, row }), Some(accepting)) =
            (at, self.lanes[lane].accepting)
            && block == accepting
        {
            self.lanes[lane].counts.replaced += 1;
            self.shadows.block(block).replace(row, held);
            self.chip.write(block, row, route);
            return true;
        }
        let Some(block) = self.accepting(lane) else {
            return false;
        };
        self.remove_row(lane, route.prefix);
        self.lanes[lane].counts.added += 1;
        let row = self.shadows.block(block).add(held);
        self.chip.write(block, row, route);
        true
    }

    fn withdraw(&mut self, lane: usize, prefix: Prefix) {
        let before = self.golden.get(prefix);
        if before.is_none() {
            self.lanes[lane].counts.withdrawals_of_nothing += 1;
        }
        self.remove_row(lane, prefix);
        self.changed(Change::Withdraw(prefix), before);
    }

    /// Brings the golden copy, and all that watch it, up to date.
    fn changed(&mut self, change: Change, before: Option<Port>) {
        self.order += 1;
        self.policy.observe(self.now, change, before);
        let after = match change {
            Change::Announce(route) => {
                self.golden.insert(route);
                Some(route.port)
            }
            Change::Withdraw(prefix) => {
                self.golden.remove(prefix);
                None
            }
        };
        self.bound.change(change.prefix(), before, after);
    }

    /// Makes the row invalid that holds the prefix, if there is one, as in 4.3.3.2: a hole from now
    /// on.
    fn remove_row(&mut self, lane: usize, prefix: Prefix) {
        let Some(location) = self.chip.find(prefix) else {
            return;
        };
        self.chip.invalidate(location, prefix);
        match location {
            Location::Shadow { block, row } if self.lanes[lane].accepting == Some(block) => {
                self.shadows.block(block).remove(row);
            }
            // A sealed block is written as it was.
            Location::Shadow { .. } => {}
            Location::Flash { block, row } => {
                let image = self.images.block_mut(block);
                image.set_valid(row, false);
                match image.valid_rows() {
                    0 if image.used == Use::Online => self.free(lane, block),
                    _ if self.policy.revives() => {
                        self.invalid.insert(prefix, (block, row));
                    }
                    _ => {}
                }
            }
        }
    }

    /// Returns the invalid row of flash that holds the prefix and can be revived, and its port.
    fn invalid_row(&self, prefix: Prefix) -> Option<(u32, u32, Port)> {
        let (block, row) = *self.invalid.get(&prefix)?;
        let image = self.images.block(block);
        // The rows of a block that is being copied are gone when the copy comes on-line.
        (image.used == Use::Online).then(|| (block, row, image.routes[row as usize].port))
    }

    /// Counts a write of a flash block, and the movement that it made due.
    fn wear_out(&mut self, block: u32) {
        self.wear.write(block.into(), LINE_CELLS);
        self.wear.settle(|_| LINE_CELLS);
    }
}

impl<C> Router<C> {
    /// Returns the settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the policy.
    pub fn policy(&self) -> &Sum {
        &self.policy
    }

    /// Returns the chip.
    pub fn chip(&self) -> &C {
        &self.chip
    }

    /// Returns the golden copy.
    pub fn golden(&self) -> &Golden {
        &self.golden
    }

    /// Returns what happened to the updates of a length.
    pub fn counts(&self, length: Length) -> Counts {
        self.lanes[length.index()].counts
    }

    /// Returns the valid rows of flash of a length, and the blocks that they are in.
    pub fn occupied(&self, length: Length) -> (u64, u64) {
        let blocks = self.images.online(length);
        let valid = blocks
            .iter()
            .map(|block| u64::from(self.images.block(*block).valid_rows()));
        (valid.sum(), blocks.len() as u64)
    }

    /// Returns all flushes in the order of their begin.
    pub fn flushed(&self) -> &[Flushed] {
        &self.flushed
    }

    /// Returns the most shadow blocks that were in use at one time beside the first of each length.
    pub fn buffers_peak(&self) -> u32 {
        self.shadows.buffers_peak()
    }

    /// Returns what waited.
    pub fn queue(&self) -> Queue {
        self.queue
    }

    /// Returns the wear of flash blocks, a write being an erase and a programming.
    pub fn worn(&self) -> Worn {
        self.wear.worn()
    }

    /// Returns the blocks that levelling moved.
    pub fn moved_blocks(&self) -> u64 {
        self.wear.moved_lines()
    }

    /// Returns the fewest flash writes with which any policy could have served the updates.
    pub fn bound(&self) -> &Bound {
        &self.bound
    }
}
