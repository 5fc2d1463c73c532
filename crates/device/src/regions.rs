//! Start-gap in regions, each with a gap of its own, behind a static random mapping.
//!
//! Qureshi et al., MICRO 2009: a gap that has to go around the whole memory comes back to a hot
//! line too late, so the memory is divided, and a region moves its gap after its own writes. The
//! [random mapping](crate::feistel) spreads hot neighbours over regions, and within them.

use crate::feistel::Feistel;
use crate::start_gap::StartGap;

/// The mapping of lines to as many places and one for each region.
#[derive(Clone, Debug)]
pub struct Regions {
    lines: u64,
    /// Writes of lines of a region between two movements of its gap.
    psi: u32,
    random: Option<Feistel>,
    regions: Vec<Region>,
}

/// A region.
#[derive(Clone, Debug)]
pub struct Region {
    /// Number of its first line, as mapped.
    pub first: u64,
    /// Its first place.
    pub place: u64,
    /// Number of its lines.
    pub lines: u64,
    /// Writes of its lines.
    pub writes: u64,
    map: StartGap,
    /// Writes until its gap moves.
    left: u32,
}

/// A movement: a line was copied into the gap of its region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The line.
    pub line: u64,
    /// Its place from now on.
    pub to: u64,
    /// Number of the region.
    pub region: u64,
}

impl Regions {
    /// Places `lines` lines in `count` regions, or in as many as there are lines; 0 of either count
    /// as 1. A gap moves after `psi` writes of its region; 0 counts as 1. `seed` decides the random
    /// mapping; there is none without.
    pub fn new(lines: u64, count: u32, psi: u32, seed: Option<u64>) -> Self {
        let (lines, psi) = (lines.max(1), psi.max(1));
        let count = u64::from(count).clamp(1, lines);
        let first = |region: u64| (region * lines).div_ceil(count);
        let regions = (0..count).map(|region| {
            let own = first(region + 1) - first(region);
            Region {
                first: first(region),
                place: first(region) + region,
                lines: own,
                writes: 0,
                map: StartGap::new(own),
                left: psi,
            }
        });
        Self {
            lines,
            psi,
            random: seed.map(|seed| Feistel::new(lines, seed)),
            regions: regions.collect(),
        }
    }

    /// Returns the number of places.
    pub fn places(&self) -> u64 {
        self.lines + self.regions.len() as u64
    }

    /// Returns the regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Returns the writes of a region between two movements of its gap.
    pub fn psi(&self) -> u32 {
        self.psi
    }

    /// Returns the number that the random mapping gives to `line`.
    pub fn mapped(&self, line: u64) -> u64 {
        self.random.as_ref().map_or(line, |random| random.map(line))
    }

    /// Counts a write of `line`, which is below the number of lines. Returns its place, and whether
    /// the gap of its region has to [move](Regions::step).
    pub fn write(&mut self, line: u64) -> (u64, bool) {
        let mapped = self.mapped(line);
        let number = self.region(mapped);
        let region = &mut self.regions[number as usize];
        let place = region.place + region.map.place(mapped - region.first);
        region.writes += 1;
        region.left -= 1;
        let is_due = region.left == 0;
        if is_due {
            region.left = self.psi;
        }
        (place, is_due)
    }

    /// Moves the gap of the region of `line`. It never lies where it lay, so a line was copied.
    pub fn step(&mut self, line: u64) -> Option<Step> {
        let number = self.region(self.mapped(line));
        let region = &mut self.regions[number as usize];
        let to = region.map.step().to;
        // The gap has moved away from there.
        let mapped = region.first + region.map.line(to)?;
        Some(Step {
            line: self
                .random
                .as_ref()
                .map_or(mapped, |random| random.invert(mapped)),
            to: region.place + to,
            region: number,
        })
    }

    /// Forgets the writes until now; lines stay where they are.
    pub fn renew(&mut self) {
        self.regions.iter_mut().for_each(|region| region.writes = 0);
    }

    /// Returns the number of the region of a mapped line.
    fn region(&self, mapped: u64) -> u64 {
        match self.regions.len() {
            1 => 0,
            count => mapped * count as u64 / self.lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Regions by hand: 7 lines in 3 of 3, 2 and 2.
    #[test]
    fn each_region_has_its_own_gap_and_counts_its_own_writes() {
        let mut map = Regions::new(7, 3, 2, None);
        let bounds = map
            .regions()
            .iter()
            .map(|one| (one.first, one.place, one.lines));
        assert_eq!(
            bounds.collect::<Vec<_>>(),
            [(0, 0, 3), (3, 4, 2), (5, 7, 2)]
        );
        assert_eq!(map.places(), 10);
        let places: Vec<u64> = (0..7).map(|line| map.write(line).0).collect();
        assert_eq!(places, [0, 1, 2, 4, 5, 7, 8]);
        // The first region had a movement due with line 1, and has one write since.
        assert_eq!(map.write(0), (0, true));
        let copy = map.step(0);
        assert_eq!(
            copy,
            Some(Step {
                line: 2,
                to: 3,
                region: 0
            })
        );
        assert_eq!(map.write(2).0, 3);
        assert_eq!(map.write(6), (8, false), "the last has three writes");
        map.renew();
        assert!(map.regions().iter().all(|region| region.writes == 0));
    }

    proptest! {
        /// Against a list of places through which lines are carried.
        #[test]
        fn lines_lie_where_the_copies_put_them(
            lines in 1u64..40, count in 0u32..50, psi in 1u32..4, seed: Option<u64>,
            writes in prop::collection::vec(0u64..40, 0..300),
        ) {
            let mut map = Regions::new(lines, count, psi, seed);
            let mut held = vec![None; map.places() as usize];
            for line in 0..lines {
                let place = map.clone().write(line).0 as usize;
                prop_assert_eq!(held[place].replace(line), None);
            }
            for line in writes.iter().map(|line| line % lines) {
                let (place, is_due) = map.write(line);
                prop_assert_eq!(held[place as usize], Some(line));
                if is_due {
                    let copy = map.step(line).expect("a line is copied");
                    let from = held.iter().position(|held| *held == Some(copy.line)).expect("it lies somewhere");
                    prop_assert_eq!(held[copy.to as usize], None);
                    held[copy.to as usize] = held[from].take();
                }
            }
            for line in 0..lines {
                prop_assert_eq!(held[map.clone().write(line).0 as usize], Some(line));
            }
            let all: u64 = map.regions().iter().map(|region| region.writes).sum();
            prop_assert_eq!(all, writes.len() as u64);
        }
    }
}
