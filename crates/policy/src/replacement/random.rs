//! Random: any page may go, all with the same probability.
//!
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems
//! Journal 5(2), 1966. What a policy must beat: it keeps no record of use at all.

use super::table::Table;
use super::{Answer, PageId, Replacement, Touch};

/// Random replacement.
pub struct Random {
    capacity: usize,
    /// The resident pages, in no order.
    pages: Vec<PageId>,
    /// Where a page is among them.
    places: Table<Option<u32>>,
    state: u64,
}

impl Random {
    /// A DRAM of `capacity` pages, empty. The same seed makes the same choices.
    pub fn new(capacity: usize, seed: u64) -> Self {
        Self {
            capacity,
            pages: Vec::new(),
            places: Table::default(),
            state: seed,
        }
    }

    /// A number below `bound`, by SplitMix64 (Steele, Lea and Flood, "Fast splittable
    /// pseudorandom number generators", OOPSLA 2014).
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let mixed = mixed ^ (mixed >> 31);
        ((u128::from(mixed) * bound as u128) >> 64) as usize
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        let full = self.pages.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.places.set(page, Some(self.pages.len() as u32));
        self.pages.push(page);
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        let choice = self.below(self.pages.len());
        let victim = self.pages.get(choice).copied()?;
        self.remove(victim);
        Some(victim)
    }
}

impl Replacement for Random {
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.contains(touch.page) {
            return Answer::Hit;
        }
        let evicted = self.admit(touch.page);
        Answer::Miss { evicted }
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page)
    }

    fn remove(&mut self, page: PageId) {
        let Some(place) = self.places.get(page) else {
            return;
        };
        self.places.set(page, None);
        self.pages.swap_remove(place as usize);
        if let Some(&moved) = self.pages.get(place as usize) {
            self.places.set(moved, Some(place));
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.places.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.places.get(page).is_some()
    }

    fn resident(&self) -> usize {
        self.pages.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn every_page_goes_equally_often() {
        let mut victims = [0; 4];
        for seed in 0..4000 {
            let mut random = Random::new(4, seed);
            let evicted = evictions(&mut random, &[0, 1, 2, 3, 4]);
            victims[evicted[0] as usize] += 1;
        }
        // The standard deviation of each is 27.
        assert!(
            victims.iter().all(|n| (890..1110).contains(n)),
            "{victims:?}"
        );
    }
}
