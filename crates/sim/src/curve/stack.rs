//! LRU at every size, as the trace is read.

use terrace_trace::reuse::{Distances, Reuse};

/// Touches that are looked up together.
const BATCH: usize = 16384;

/// The LRU stack of a sample, and the distances in it.
#[derive(Default)]
pub(super) struct Stack {
    distances: Distances,
    reuse: Reuse,
    /// Pages whose touches are not noted yet.
    touched: Vec<u32>,
    /// The page that was touched last, and its further touches that are not noted yet.
    last: Option<u32>,
    again: u64,
    answers: Vec<Option<u32>>,
    /// Distances of the touches before, which are not counted yet.
    counted: Vec<Option<u32>>,
}

impl Stack {
    /// Touches a page.
    #[inline]
    pub(super) fn touch(&mut self, page: u32) {
        if self.last == Some(page) {
            self.again += 1;
            return;
        }
        if self.touched.len() == BATCH {
            self.follow();
        }
        self.touched.push(page);
        self.last = Some(page);
    }

    /// Gives a page back.
    pub(super) fn discard(&mut self, page: u32) {
        self.follow();
        self.last = None;
        self.distances.discard(page);
    }

    /// Looks up the touches, while another thread counts the distances of those before them.
    fn follow(&mut self) {
        let Self {
            distances,
            reuse,
            touched,
            answers,
            counted,
            ..
        } = self;
        let mut look_up = || distances.touch_all(touched, answers);
        let mut count = || counted.drain(..).for_each(|distance| reuse.add(distance));
        match touched.len() {
            BATCH => {
                rayon::join(look_up, count);
            }
            _ => {
                look_up();
                count();
            }
        }
        self.touched.clear();
        std::mem::swap(&mut self.answers, &mut self.counted);
        self.reuse.add_zeros(std::mem::take(&mut self.again));
    }

    /// Returns the misses at each size from 0 on, up to that at which only first touches miss.
    pub(super) fn misses(mut self) -> Vec<u64> {
        // The touches, and then their distances.
        self.follow();
        self.follow();
        let mut misses = self.reuse.touches();
        let distances = self.reuse.distances.iter();
        let rest = distances.map(|hits| {
            misses -= hits;
            misses
        });
        std::iter::once(self.reuse.touches()).chain(rest).collect()
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::SplitMix64;
    use rand_xoshiro::rand_core::{Rng, SeedableRng};

    use super::*;

    /// LRU as a list of pages, the one that was touched last first.
    fn slow(touches: &[u32], pages: usize) -> Vec<u64> {
        let mut misses = vec![0; pages + 1];
        let mut stack: Vec<u32> = Vec::new();
        for page in touches {
            let place = stack.iter().position(|other| other == page);
            place.map(|place| stack.remove(place));
            stack.insert(0, *page);
            let missed = 0..=place.unwrap_or(pages);
            misses[missed].iter_mut().for_each(|misses| *misses += 1);
        }
        misses
    }

    #[test]
    fn what_is_looked_up_together_is_counted_once() {
        const PAGES: usize = 100;
        for touches in [BATCH - 1, BATCH, BATCH + 1, 3 * BATCH, 3 * BATCH + 7] {
            let mut random = SplitMix64::seed_from_u64(touches as u64);
            let touch = |_| (random.next_u64() % PAGES as u64) as u32;
            let touches: Vec<u32> = (0..touches).map(touch).collect();
            let mut stack = Stack::default();
            touches.iter().for_each(|page| stack.touch(*page));
            assert_eq!(stack.misses(), slow(&touches, PAGES));
        }
    }
}
