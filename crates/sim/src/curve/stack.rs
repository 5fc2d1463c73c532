//! LRU at every size, as the trace is read.

use terrace_trace::reuse::{Distances, Reuse};

/// Touches that are looked up together.
const BATCH: usize = 4096;

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

    fn follow(&mut self) {
        self.distances.touch_all(&self.touched, &mut self.answers);
        self.touched.clear();
        for distance in self.answers.drain(..) {
            self.reuse.add(distance);
        }
        self.reuse.add_zeros(std::mem::take(&mut self.again));
    }

    /// Returns the misses at each size from 0 on, up to that at which only first touches miss.
    pub(super) fn misses(mut self) -> Vec<u64> {
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
