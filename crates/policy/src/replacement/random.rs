//! Random replacement: evicts any page, all with the same probability.
//!
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal
//! 5(2), 1966. A baseline that keeps no record of use.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "random",
    summary: "any page, at random",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "A baseline without any record of use.",
    evidence: crate::registry::Evidence {
        open: "The random numbers.",
        compared: "no other program; a slow twin does the same, step by step",
    },
    make: Make::Online(&|capacity, _, seed| Ok(Box::new(Random::new(capacity, seed)))),
};

/// Random replacement.
pub struct Random {
    capacity: usize,
    /// Resident pages, in no order.
    pages: Vec<PageId>,
    /// Index of each page in `pages`.
    places: Table<Option<u32>>,
    chance: SplitMix64,
}

impl Random {
    /// Makes an empty DRAM of `capacity` pages. The same seed makes the same choices.
    pub fn new(capacity: usize, seed: u64) -> Self {
        Self {
            capacity,
            pages: Vec::new(),
            places: Table::default(),
            chance: SplitMix64::seed_from_u64(seed),
        }
    }

    fn admit(&mut self, page: PageId) -> Option<PageId> {
        let full = self.pages.len() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.places.set(page, Some(self.pages.len() as u32));
        self.pages.push(page);
        evicted
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

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page)
    }

    fn evict(&mut self) -> Option<PageId> {
        if self.pages.is_empty() {
            return None;
        }
        // The upper half of the product is a draw below the number of pages.
        let draw = u128::from(self.chance.next_u64()) * self.pages.len() as u128;
        let choice = (draw >> 64) as usize;
        let victim = self.pages.get(choice).copied()?;
        self.remove(victim);
        Some(victim)
    }

    fn evicts(&self) -> bool {
        true
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
