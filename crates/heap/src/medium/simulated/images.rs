//! Crash images: all memories that a crash could leave, each made from the one before by the
//! differences.

use std::sync::{Arc, Mutex};

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::memory::{Memory, Store};
use super::{Granule, Home, Simulated};
use crate::lock::lock;

/// The memories that a crash could leave; see [`Simulated::crash_images`].
pub struct Images {
    choices: Vec<Choice>,
    granule: Granule,
    writes_pages: bool,
    total: u128,
    /// Number of images returned, and number still to come.
    made: u64,
    left: u64,
    random: SplitMix64,
    /// The bytes that loads saw before the crash, for when an image does not come back.
    bytes: Vec<u8>,
    max_len: u64,
    home: Home,
}

/// A granule: a crash keeps some of its stores, the first ones.
struct Choice {
    stores: Vec<Store>,
    kept: usize,
    /// How many of them are in the memory of the image before.
    present: usize,
}

impl Images {
    pub(super) fn new(of: &Simulated, limit: u64, seed: u64) -> Self {
        let memory = of.memory();
        let choices: Vec<_> = memory.unfenced().map(Choice::new).collect();
        let ways = |choice: &Choice| choice.stores.len() as u128 + 1;
        let total = choices.iter().map(ways).fold(1, u128::saturating_mul);
        Self {
            choices,
            granule: of.granule,
            writes_pages: of.writes_pages,
            total,
            made: 0,
            left: total.min(u128::from(limit)) as u64,
            random: SplitMix64::seed_from_u64(seed),
            bytes: memory.bytes(),
            max_len: memory.max_len(),
            home: Arc::new(Mutex::new(None)),
        }
    }

    /// Returns how many memories a crash could leave, 2^128 - 1 if there are more; some may be
    /// alike.
    pub fn total(&self) -> u128 {
        self.total
    }

    /// Returns whether these are all images, not a sample.
    pub fn is_exhaustive(&self) -> bool {
        self.total == u128::from(self.made + self.left)
    }

    /// Returns the memory of the image before, if it has come back, otherwise a new one.
    fn memory(&mut self) -> Memory {
        if let Some(mut memory) = lock(&self.home).take() {
            memory.reset();
            return memory;
        }
        // An image that comes back later must not take the place of the next.
        self.home = Arc::new(Mutex::new(None));
        let mut memory = Memory::new(self.bytes.len() as u64, self.max_len)
            .expect("there was room for a memory of the same size");
        memory.fill(&self.bytes);
        memory.remember();
        for choice in &mut self.choices {
            choice.present = choice.stores.len();
        }
        memory
    }

    /// An odometer: the first choice turns fastest, so that from one image to the next only two
    /// stores change on average.
    fn turn(&mut self) {
        for choice in &mut self.choices {
            if choice.kept < choice.stores.len() {
                choice.kept += 1;
                return;
            }
            choice.kept = 0;
        }
    }

    /// Nothing kept, all kept, one granule unlike all others (which reveals a missing flush), or
    /// anything.
    fn sample(&mut self) {
        let one = below(&mut self.random, self.choices.len());
        for (i, choice) in self.choices.iter_mut().enumerate() {
            let all = choice.stores.len();
            choice.kept = match (self.made, self.made % 4) {
                (0, _) => 0,
                (1, _) => all,
                (_, 0) => all * usize::from(i == one),
                (_, 1) => all * usize::from(i != one),
                _ => match below(&mut self.random, 3) {
                    0 => 0,
                    1 => all,
                    _ => below(&mut self.random, all + 1),
                },
            };
        }
    }
}

impl Iterator for Images {
    type Item = Simulated;

    fn next(&mut self) -> Option<Simulated> {
        if self.left == 0 {
            return None;
        }
        if !self.is_exhaustive() {
            self.sample();
        } else if self.made > 0 {
            self.turn();
        }
        self.left -= 1;
        self.made += 1;
        let mut memory = self.memory();
        for choice in &mut self.choices {
            choice.put(&mut memory);
        }
        let home = Some(Arc::clone(&self.home));
        let mut image = Simulated::of(memory, self.granule, home);
        image.writes_pages = self.writes_pages;
        Some(image)
    }
}

impl Choice {
    fn new(stores: &[Store]) -> Self {
        Self {
            stores: stores.to_vec(),
            kept: 0,
            present: stores.len(),
        }
    }

    /// Changes the memory so that exactly the kept stores are present.
    fn put(&mut self, memory: &mut Memory) {
        while self.present > self.kept {
            self.present -= 1;
            let store = self.stores[self.present];
            memory.set(store.offset, store.old);
        }
        while self.present < self.kept {
            let store = self.stores[self.present];
            memory.set(store.offset, store.new);
            self.present += 1;
        }
    }
}

/// Draws a number below `bound`, which is not zero.
fn below(random: &mut SplitMix64, bound: usize) -> usize {
    ((u128::from(random.next_u64()) * bound as u128) >> 64) as usize
}
