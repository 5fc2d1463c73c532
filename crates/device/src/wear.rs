//! Writes of the cells of a device under wear levelling.
//!
//! A write of a slot is assumed to write all its cells.

use terrace_base::{Bytes, Error, Nanos, Result};

use crate::lifetime;
use crate::start_gap::StartGap;

/// How a device spreads writes over its cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Levelling {
    /// No levelling: every slot keeps its place.
    None,
    /// Ideal levelling: all cells receive the same number of writes (Fedorov 2016,
    /// 2.4.5; Awad 2016, 5.1.3).
    #[default]
    Randomised,
    /// Start-gap, which moves a slot every `psi` writes (Qureshi et al., MICRO 2009).
    StartGap {
        /// Writes between two movements; [`crate::start_gap::PSI`] in the paper.
        psi: u32,
    },
}

/// The writes that the slots of a device have received.
#[derive(Clone, Debug)]
pub struct Wear {
    slots: u64,
    asked: u64,
    model: Model,
}

#[derive(Clone, Debug)]
enum Model {
    InPlace(Vec<u64>),
    Randomised,
    StartGap {
        map: StartGap,
        /// One more than slots: the gap wears too.
        writes: Vec<u64>,
        moved: u64,
    },
}

impl Wear {
    /// Makes a new device of `slots` slots; 0 counts as 1. It takes 8 bytes of memory a slot, and
    /// almost none with randomised levelling.
    ///
    /// # Errors
    /// Returns a usage error if there is no memory for a counter of each slot.
    pub fn new(levelling: Levelling, slots: u64) -> Result<Self> {
        let slots = slots.max(1);
        let model = match levelling {
            Levelling::None => Model::InPlace(counters(slots)?),
            Levelling::Randomised => Model::Randomised,
            Levelling::StartGap { psi } => Model::StartGap {
                map: StartGap::new(slots, psi),
                writes: counters(slots.saturating_add(1))?,
                moved: 0,
            },
        };
        Ok(Self {
            slots,
            asked: 0,
            model,
        })
    }

    /// Counts a write of a slot; slots past the last wrap around.
    pub fn write(&mut self, slot: u64) {
        self.asked += 1;
        match &mut self.model {
            Model::InPlace(writes) => writes[(slot % self.slots) as usize] += 1,
            Model::Randomised => {}
            Model::StartGap { map, writes, moved } => {
                writes[map.place(slot) as usize] += 1;
                if let Some(movement) = map.write() {
                    writes[movement.to as usize] += 1;
                    *moved += 1;
                }
            }
        }
    }

    /// Returns the number of requested writes.
    pub fn asked(&self) -> u64 {
        self.asked
    }

    /// Returns the number of writes that the slots have received, including writes of the levelling.
    pub fn received(&self) -> u64 {
        match &self.model {
            Model::StartGap { moved, .. } => self.asked + moved,
            Model::InPlace(_) | Model::Randomised => self.asked,
        }
    }

    /// Returns the average number of writes of a cell.
    pub fn mean(&self) -> f64 {
        let places = match &self.model {
            Model::StartGap { writes, .. } => writes.len() as u64,
            Model::InPlace(_) | Model::Randomised => self.slots,
        };
        self.received() as f64 / places as f64
    }

    /// Returns the number of writes of the most written cell.
    pub fn most(&self) -> f64 {
        match &self.model {
            Model::InPlace(writes) | Model::StartGap { writes, .. } => {
                writes.iter().max().copied().unwrap_or(0) as f64
            }
            Model::Randomised => self.mean(),
        }
    }

    /// Returns the years until the most written cell wears out if the writes of `elapsed` repeat;
    /// see [`lifetime::fedorov`].
    pub fn lifetime(&self, endurance: f64, elapsed: Nanos) -> Option<f64> {
        lifetime::fedorov(endurance, self.most(), elapsed)
    }
}

/// Returns a zero counter for each place.
fn counters(places: u64) -> Result<Vec<u64>> {
    let mut counters = Vec::new();
    let reserved = usize::try_from(places)
        .ok()
        .and_then(|places| counters.try_reserve_exact(places).ok());
    if reserved.is_none() {
        let needed = Bytes(places.saturating_mul(8));
        return Err(Error::usage(format!(
            "counting the writes of {places} slots takes {needed} of memory; choose a smaller device or randomised levelling"
        )));
    }
    counters.resize(places as usize, 0);
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::start_gap::PSI;
    use proptest::prelude::*;

    fn after(levelling: Levelling, slots: u64, writes: impl IntoIterator<Item = u64>) -> Wear {
        let mut wear = Wear::new(levelling, slots).unwrap();
        writes.into_iter().for_each(|slot| wear.write(slot));
        wear
    }

    #[test]
    fn one_hot_slot_wears_as_the_levelling_lets_it() {
        let hot = || std::iter::repeat_n(3, 100_000);
        assert_eq!(after(Levelling::None, 10, hot()).most(), 100_000.0);
        assert_eq!(after(Levelling::Randomised, 10, hot()).most(), 10_000.0);
        let start_gap = after(Levelling::StartGap { psi: PSI }, 10, hot());
        assert_eq!(start_gap.received(), 101_000, "1 % of its own");
        assert!(
            (9_000.0..12_000.0).contains(&start_gap.most()),
            "{}",
            start_gap.most()
        );
    }

    #[test]
    fn the_hottest_cell_decides_the_lifetime() {
        let minute = Nanos(60_000_000_000);
        let uneven = [0, 0, 0, 1];
        let life = |levelling| after(levelling, 2, uneven).lifetime(1e6, minute).unwrap();
        assert!((life(Levelling::Randomised) / life(Levelling::None) - 1.5).abs() < 1e-12);
        let unused = after(Levelling::None, 2, []);
        assert_eq!(unused.lifetime(1e6, minute), None);
    }

    #[test]
    fn too_many_slots_to_count_are_refused() {
        for levelling in [Levelling::None, Levelling::StartGap { psi: PSI }] {
            let error = Wear::new(levelling, u64::MAX).unwrap_err().to_string();
            assert!(error.contains("18446744073709551615 slots"), "{error}");
        }
        assert!(Wear::new(Levelling::Randomised, u64::MAX).is_ok());
    }

    proptest! {
        #[test]
        fn no_levelling_beats_randomised(
            slots in 1u64..20, writes in prop::collection::vec(0u64..40, 0..300), psi in 1u32..20,
        ) {
            let of = |levelling| after(levelling, slots, writes.iter().copied());
            let random = of(Levelling::Randomised);
            let places = of(Levelling::None);
            let counts: Vec<_> = (0..slots)
                .map(|slot| writes.iter().filter(|w| **w % slots == slot).count())
                .collect();
            prop_assert_eq!(places.most(), *counts.iter().max().unwrap() as f64);
            prop_assert!(random.most() <= places.most());
            let gap = of(Levelling::StartGap { psi });
            prop_assert_eq!(gap.received(), gap.asked() + gap.asked() / u64::from(psi));
            prop_assert!(gap.mean() <= gap.most());
        }
    }
}
