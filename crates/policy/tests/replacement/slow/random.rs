//! Random replacement.

use terrace_policy::replacement::{Answer, PageId, Replacement, Touch};

pub struct Random {
    capacity: usize,
    pages: Vec<PageId>,
    seed: u64,
    /// Victims chosen so far.
    draws: u64,
}

impl Random {
    pub fn new(capacity: usize, seed: u64) -> Self {
        Self {
            capacity,
            pages: Vec::new(),
            seed,
            draws: 0,
        }
    }

    /// The nth number of SplitMix64, scaled to below `bound`.
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

    fn evict(&mut self) -> PageId {
        let victim = self.draw(self.pages.len());
        self.pages.swap_remove(victim)
    }
}

impl Replacement for Random {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            return Answer::Hit;
        }
        let evicted = self.prefetch(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        let full = self.pages.len() == self.capacity;
        let evicted = full.then(|| self.evict());
        self.pages.push(page);
        evicted
    }

    fn remove(&mut self, page: PageId) {
        if let Some(place) = self.pages.iter().position(|other| *other == page) {
            self.pages.swap_remove(place);
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.pages.contains(&page)
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}
