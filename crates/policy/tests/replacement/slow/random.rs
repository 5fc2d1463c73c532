//! Random replacement.

use terrace_policy::replacement::{PageId, Touch};

use super::simple::Simple;

pub struct Random {
    pages: Vec<PageId>,
    seed: u64,
    /// Victims chosen so far.
    draws: u64,
}

impl Random {
    pub fn new(seed: u64) -> Self {
        let (pages, draws) = (Vec::new(), 0);
        Self { pages, seed, draws }
    }

    /// Returns the nth number of SplitMix64, scaled to below `bound`.
    fn draw(&mut self, bound: usize) -> usize {
        self.draws += 1;
        let gamma = 0x9E37_79B9_7F4A_7C15_u64;
        let mut z = self.seed.wrapping_add(gamma.wrapping_mul(self.draws));
        for (shift, factor) in [
            (30, 0xBF58_476D_1CE4_E5B9),
            (27, 0x94D0_49BB_1331_11EB),
            (31, 1),
        ] {
            z = (z ^ (z >> shift)).wrapping_mul(factor);
        }
        (u128::from(z) * bound as u128 / (1 << 64)) as usize
    }
}

impl Simple for Random {
    fn pages(&self) -> Vec<PageId> {
        self.pages.clone()
    }

    fn hit(&mut self, _: Touch) {}

    fn evict(&mut self) -> PageId {
        let victim = self.draw(self.pages.len());
        self.pages.swap_remove(victim)
    }

    fn insert(&mut self, page: PageId, _: Option<Touch>) {
        self.pages.push(page);
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.pages.iter().position(|other| *other == page) {
            self.pages.swap_remove(place);
        }
    }
}
