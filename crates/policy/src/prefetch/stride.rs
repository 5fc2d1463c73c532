//! `stride`: the latest distances between misses, added to the latest misses.
//!
//! Oskin & Loh 2015, V.B and V.D, and Awad 2016, 5.3, which differ in their settings. Oskin & Loh
//! keep strides in the order of their last use, add multiples of them (`depth`) to the last misses
//! (`history`), and found `history=1,strides=4,depth=1` to be best: the default. Awad's predictor
//! is `strides=8,occurrences=5` with some `depth`: a stride is used from its fifth occurrence on,
//! until seven other strides have been seen since.
//!
//! The papers leave open what follows. A stride is the distance between two consecutive misses of
//! one thread: distances between misses of different threads do not recur, and Oskin & Loh's figure
//! 7(b), in which only the last miss is worth building on, would look different. The threads of an
//! address space share its strides. Nearer predictions come first: all of multiple 1 before those
//! of multiple 2; for one multiple, those from the latest miss; from one miss, the stride seen
//! last.

use std::collections::VecDeque;

use super::answer::Answer;
use super::lru::Lru;
use super::threads::Threads;
use super::{Entry, Make, Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Page, Space};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "stride",
    summary: "the distances between misses seen last, nearest first (Oskin & Loh 2015, V.B; Awad 2016, 5.3)",
    paper: "Oskin & Loh 2015, V.B and V.D; Awad 2016, 5.3 (strides=8,occurrences=5)",
    when: "To repeat the two papers. For live programs `stream` is better, which distinguishes streams.",
    evidence: crate::registry::Evidence {
        open: "Distances of threads, and the order of predictions: see the file.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::Online(&|params| Ok(Box::new(Stride::new(params)?))),
};

/// Address spaces whose strides are remembered.
const SPACES: usize = 1024;

/// The strides of an address space with their numbers of occurrences, the latest first.
type Strides = Vec<(i64, u32)>;

settings! {
    /// Settings of `stride`.
    pub struct StrideSettings {
        /// latest misses that strides are added to
        history: usize = 1, 1..=16;
        /// strides that are remembered, by their last use
        strides: usize = 4, 1..=64;
        /// how often a stride must have been seen before it serves
        occurrences: u32 = 1, 1..=1 << 20;
        /// multiples of each stride that are added
        depth: i64 = 1, 1..=64;
        /// pages that are named at a fault, at most
        degree: usize = 16, 1..=512;
    }
}

/// The `stride` predictor.
pub struct Stride {
    settings: StrideSettings,
    /// Latest misses of each thread, the latest first.
    threads: Threads<VecDeque<Page>>,
    /// Strides of each address space.
    spaces: Lru<Space, Strides>,
}

impl Stride {
    /// Makes a predictor with the given settings.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            settings: StrideSettings::take(params)?,
            threads: Threads::new(),
            spaces: Lru::new(SPACES),
        })
    }

    /// Most pages named after a fault.
    pub(super) fn degree(&self) -> usize {
        self.settings.degree
    }
}

/// Makes `stride` the latest of at most `most` strides.
fn record(strides: &mut Strides, stride: i64, most: usize) {
    let known = strides.iter().position(|(known, _)| *known == stride);
    let place = known.unwrap_or_else(|| {
        strides.truncate(most - 1);
        strides.push((stride, 0));
        strides.len() - 1
    });
    strides[..=place].rotate_right(1);
    strides[0].1 = strides[0].1.saturating_add(1);
}

impl Predictor for Stride {
    fn fault(&mut self, fault: &Fault, _: &mut dyn Memory, predictions: &mut Vec<Prediction>) {
        let page = fault.at.page;
        let misses = self.threads.of(fault);
        let strides = self.spaces.touch_or_insert(fault.at.space, Strides::new);
        match misses.front().map(|last| page.distance_from(*last)) {
            Some(0) => {}
            distance => {
                if let Some(stride) = distance {
                    record(strides, stride, self.settings.strides);
                }
                misses.truncate(self.settings.history - 1);
                misses.push_front(page);
            }
        }
        let mut answer = Answer::new(fault, self.settings.degree);
        'full: for k in 1..=self.settings.depth {
            for miss in &*misses {
                for (stride, seen) in &*strides {
                    let distance = stride.checked_mul(k);
                    let next = || miss.at_distance(distance?);
                    if *seen >= self.settings.occurrences && !answer.add(next()) {
                        break 'full;
                    }
                }
            }
        }
        predictions.extend(answer.of(Source(0)));
    }

    fn forget(&mut self, space: Space) {
        self.threads.forget(space);
        self.spaces.retain(|known, _| *known != space);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefetch::testing::{SPACE, answers};

    fn new(params: &str) -> Stride {
        Stride::new(&mut Params::parse(params).unwrap()).unwrap()
    }

    #[test]
    fn the_latest_strides_from_the_last_miss() {
        // Strides 3, 10, -2, 3, 1, 100: the -2 is the oldest of five when 100 comes.
        let answers = answers(&mut new(""), &[50, 53, 63, 61, 64, 65, 165]);
        assert_eq!(answers[0], []);
        assert_eq!(answers[1], [56]);
        assert_eq!(answers[4], [67, 62, 74]);
        assert_eq!(answers[5], [66, 68, 63, 75]);
        assert_eq!(answers[6], [265, 166, 168, 163]);
    }

    #[test]
    fn nearer_multiples_then_later_misses_then_later_strides_go_first() {
        let answers = answers(&mut new("depth=2,history=2"), &[100, 110, 113]);
        // Strides 3 and 10 from 113 and 110, where 110 + 3 is the fault; then their doubles.
        assert_eq!(answers[2], [116, 123, 120, 119, 133, 130]);
        // From 110: 113 is the fault, 120; 116 has been named, 130.
    }

    #[test]
    fn a_stride_is_believed_when_it_was_seen_often_enough() {
        let awad = &mut new("strides=8,occurrences=5,depth=3");
        let answers = answers(awad, &[0, 7, 14, 21, 28, 35, 100]);
        assert!(answers[..5].iter().all(Vec::is_empty));
        assert_eq!(answers[5], [42, 49, 56]);
        assert_eq!(answers[6], [107, 114, 121]);
    }

    #[test]
    fn no_more_than_the_degree() {
        let answers = answers(&mut new("depth=64,degree=5"), &[0, 1]);
        assert_eq!(answers[1], [2, 3, 4, 5, 6]);
    }

    #[test]
    fn an_address_space_that_ends_is_forgotten() {
        let mut stride = new("");
        answers(&mut stride, &[1, 2]);
        stride.forget(SPACE);
        assert!(answers(&mut stride, &[3])[0].is_empty());
    }
}
