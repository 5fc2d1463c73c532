//! How long the flash lasts: by the chapter's estimate, and by the wear that was simulated.

use terrace_base::Nanos;
use terrace_device::{Worn, lifetime};

/// Write cycles of flash: assumption 3 of Fedorov 2016, 4.4.1.
pub const ENDURANCE: f64 = 100_000.0;

/// Lifetimes in years; `None` where nothing is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetime {
    /// The chapter's estimate: each entry that is written erases and copies a whole block, and the
    /// blocks without routes take turns.
    pub estimate: Option<f64>,
    /// The same with fixed shares: of the length most written, with half of those blocks.
    pub estimate_static: Option<f64>,
    /// Until the most worn block fails, by simulated erases.
    pub first: Option<f64>,
    /// If all blocks wore evenly, by simulated erases.
    pub even: Option<f64>,
}

/// What a lifetime follows from.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Blocks as routes would leave them free if they were packed.
    pub free_blocks: f64,
    /// Entries written to flash.
    pub entries: u64,
    /// Entries of the length with most writes.
    pub most: u64,
    /// In this time.
    pub elapsed: Nanos,
}

impl Lifetime {
    /// Returns the lifetimes under a load, with the wear that came of it.
    pub fn of(load: Load, worn: &Worn, endurance: f64) -> Self {
        let estimate = |entries: u64, blocks: f64| {
            let writes = entries as f64 / blocks;
            lifetime::fedorov(endurance, writes, load.elapsed)
                .filter(|years| years.is_finite() && load.free_blocks >= 1.0)
        };
        Self {
            estimate: estimate(load.entries, load.free_blocks),
            estimate_static: estimate(load.most, load.free_blocks / 2.0),
            first: worn.first(endurance, load.elapsed),
            even: worn.even(endurance, load.elapsed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_device::{Levelling, Wear};

    /// The chapter's two examples, to its own precision.
    #[test]
    fn the_chapter_s_estimates() {
        let load = Load {
            free_blocks: 4000.0,
            entries: 210_000,
            most: 150_000,
            elapsed: Nanos(86_400_000_000_000),
        };
        let worn = Wear::new(Levelling::None, 10, 1).unwrap().worn();
        let lifetime = Lifetime::of(load, &worn, ENDURANCE);
        let close = |years: Option<f64>, to: f64| (years.unwrap() - to).abs() < 0.05;
        assert!(close(lifetime.estimate, 5.2), "{lifetime:?}");
        assert!(close(lifetime.estimate_static, 3.65), "{lifetime:?}");
        assert_eq!((lifetime.first, lifetime.even), (None, None));
    }
}
