//! `interleave`: new pages go to fast and slow memory in turn, so many to each, and stay there.
//!
//! Where one memory alone cannot serve a program as fast as it asks, both together give the sum of
//! their bandwidths, if each has a share of the accesses like its share of the sum. Linux gives a
//! node as many consecutive pages as its weight says, then the next node (since 6.9,
//! `MPOL_WEIGHTED_INTERLEAVE`: `weighted_interleave_nodes` in mm/mempolicy.c). A page for which a
//! node has no room goes to the other one, and counts as that node's.

use super::sides::Sides;
use super::{Entry, Make, Migration, Side};
use crate::replacement::PageId;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "interleave",
    summary: "new pages go to DRAM and slow memory in turn, by weights, and stay there; to slow memory where DRAM is full",
    paper: "Linux 6.9, MPOL_WEIGHTED_INTERLEAVE: mm/mempolicy.c",
    when: "Programs that use all of their memory alike, and more of it at a time than DRAM gives.",
    evidence: crate::registry::Evidence {
        open: "Linux gives each node a weight of 1 unless it is told the bandwidths of the nodes. That four of five \
               pages go to DRAM here is assumed.",
        compared: "never, and DRAM for everything, on a generated program that asks for more than DRAM gives \
                   (crates/sim/tests/pages/bandwidth.rs)",
    },
    make: Make(&|fast, params| {
        Ok(Some(Box::new(Interleave::new(
            fast,
            Settings::take(params)?,
        ))))
    }),
};

settings! {
    /// Settings of `interleave`.
    pub struct Settings {
        /// consecutive pages for DRAM
        fast: u32 = 4, 1..=255;
        /// consecutive pages for slow memory after them
        slow: u32 = 1, 1..=255;
    }
}

/// The `interleave` policy.
struct Interleave {
    settings: Settings,
    sides: Sides,
    /// Pages of the present round that have come.
    came: u32,
}

impl Interleave {
    fn new(fast: usize, settings: Settings) -> Self {
        Self {
            settings,
            sides: Sides::new(fast),
            came: 0,
        }
    }

    /// Returns whose turn it is, which is over then.
    fn turn(&mut self) -> Side {
        let side = match self.came < self.settings.fast {
            true => Side::Fast,
            false => Side::Slow,
        };
        self.came = (self.came + 1) % (self.settings.fast + self.settings.slow);
        side
    }
}

impl Migration for Interleave {
    fn came(&mut self, page: PageId) -> Side {
        if let Some(side) = self.sides.of(page) {
            return side;
        }
        let side = self.turn();
        self.sides.came_to(page, side)
    }

    fn gone(&mut self, page: PageId) {
        self.sides.gone(page);
    }

    fn stays(&mut self, page: PageId, side: Side) {
        self.sides.lies(page, side);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Spec;
    use super::*;

    #[test]
    fn pages_come_in_turn_as_long_as_there_is_room() {
        let spec = Spec::parse("interleave:fast=2,slow=1").unwrap();
        let mut policy = spec.policy(3).unwrap().unwrap();
        let sides: String = (0..9)
            .map(|page| match policy.came(PageId(page)) {
                Side::Fast => 'f',
                Side::Slow => 's',
            })
            .collect();
        assert_eq!(sides, "ffsfsssss");
        assert_eq!(policy.came(PageId(3)), Side::Fast, "it is known");
        policy.gone(PageId(3));
        assert_eq!(policy.came(PageId(9)), Side::Fast, "there is room again");
    }
}
