//! `stride`: the distances between misses that were seen last, added to the latest misses.
//!
//! Oskin & Loh 2015, V.B and V.D, and Awad 2016, 5.3, in one; they differ in their settings.
//! Oskin & Loh keep strides in the order of their last use, add multiples of them (`depth`) to
//! the last misses (`history`), and found `history=1,strides=4,depth=1` to be best: the default.
//! Awad's is `strides=8,occurrences=5` with some `depth`: a stride serves from the fifth time on
//! that it is seen, the one that recorded it included, until seven others have been seen since.
//!
//! What the papers leave open: a stride is the distance between two misses of one thread that
//! follow each other. Between those of different threads lies nothing that comes again, and Oskin
//! & Loh's figure 7(b), in which nothing but the last miss is worth building on, would look
//! different. The threads of an address space share its strides. Nearer strides come first: all of
//! multiple 1 before those of multiple 2; of one multiple, those from the latest miss first; from
//! one miss, the stride that was seen last.

use std::collections::VecDeque;

use super::answer::Answer;
use super::lru::Lru;
use super::threads::Threads;
use super::{Params, Prediction, Predictor, Source};
use crate::page::{Fault, Memory, Page, Space};

/// Address spaces whose strides are remembered.
const SPACES: usize = 1024;

/// The strides of one address space and how often each was seen, the latest first.
type Strides = Vec<(i64, u32)>;

/// The predictor.
pub struct Stride {
    /// Misses of a thread that strides are added to.
    history: usize,
    /// Strides of an address space.
    strides: usize,
    /// A stride that was seen so often is believed.
    occurrences: u32,
    /// Multiples of each stride.
    depth: i64,
    /// Most pages after a fault.
    degree: usize,
    /// The latest misses of each thread, the last first.
    threads: Threads<VecDeque<Page>>,
    spaces: Lru<Space, Strides>,
}

impl Stride {
    /// Takes its settings.
    ///
    /// # Errors
    /// A sentence where one is out of range.
    pub fn new(params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            history: params.number("history", 1, 1..=16)?,
            strides: params.number("strides", 4, 1..=64)?,
            occurrences: params.number("occurrences", 1, 1..=1 << 20)?,
            depth: params.number("depth", 1, 1..=64)?,
            degree: params.number("degree", 16, 1..=512)?,
            threads: Threads::new(),
            spaces: Lru::new(SPACES),
        })
    }

    /// Most pages after a fault.
    pub(super) fn degree(&self) -> usize {
        self.degree
    }
}

/// Makes `stride` the latest of at most `most`.
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
                    record(strides, stride, self.strides);
                }
                misses.truncate(self.history - 1);
                misses.push_front(page);
            }
        }
        let mut answer = Answer::new(fault, self.degree);
        'full: for k in 1..=self.depth {
            for miss in &*misses {
                for (stride, seen) in &*strides {
                    let distance = stride.checked_mul(k);
                    let next = || miss.at_distance(distance?);
                    if *seen >= self.occurrences && !answer.add(next()) {
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
