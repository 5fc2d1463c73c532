//! The report: how contiguous frames are.

use std::collections::BTreeMap;
use std::fmt;

use terrace_heap::Result;

use crate::frames::frames;

/// How contiguous the frames behind a range of pages are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contiguity {
    /// Pages of the range.
    pub pages: u64,
    /// Pages that have a frame.
    pub present: u64,
    /// Pages that have a frame, and whose next page has one, too.
    pub pairs: u64,
    /// Pages whose next page has the next frame.
    pub followed: u64,
    /// Number of runs of pages with consecutive frames, by their length in pages.
    pub runs: BTreeMap<u64, u64>,
}

impl Contiguity {
    /// Reports on `len` bytes of this process's address space.
    ///
    /// # Errors
    ///
    /// The kernel hides frame numbers from this program, or has no pagemap.
    pub fn of(start: *const u8, len: u64) -> Result<Self> {
        frames(start, len).map(|frames| Self::of_frames(&frames))
    }

    /// Reports on pages with these frames, in the order of their addresses.
    pub fn of_frames(frames: &[Option<u64>]) -> Self {
        let mut found = Self {
            pages: frames.len() as u64,
            ..Self::default()
        };
        let mut run = 0;
        for (i, frame) in frames.iter().enumerate() {
            let Some(frame) = frame else { continue };
            let next = frames.get(i + 1).copied().flatten();
            found.present += 1;
            found.pairs += u64::from(next.is_some());
            run += 1;
            if next == Some(frame + 1) {
                found.followed += 1;
            } else {
                *found.runs.entry(run).or_default() += 1;
                run = 0;
            }
        }
        found
    }

    /// Returns the number of pages whose next page does not have the next frame: the paper's
    /// contiguity misses (table 1), counted afterwards instead of as they happen.
    pub fn misses(&self) -> u64 {
        self.pairs - self.followed
    }

    /// Returns the share of pages whose next page has the next frame, of those where both have one;
    /// 1 if there are none.
    pub fn share(&self) -> f64 {
        match self.pairs {
            0 => 1.0,
            pairs => self.followed as f64 / pairs as f64,
        }
    }
}

impl fmt::Display for Contiguity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pages, present, .. } = self;
        write!(f, "{present} of {pages} pages have frames, ")?;
        write!(
            f,
            "{:.1} % follow physically, {} misses; runs",
            self.share() * 100.0,
            self.misses()
        )?;
        let mut least = 1;
        while least <= self.runs.last_key_value().map_or(0, |(&len, _)| len) {
            let of = self.runs.range(least..2 * least).map(|(_, count)| count);
            write!(f, " {least}+: {}", of.sum::<u64>())?;
            least *= 2;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use terrace_heap::contiguity::Backing;
    use terrace_heap::{Mapped, Medium};

    use super::*;

    #[test]
    fn by_hand() {
        let frames = [Some(7), Some(8), Some(9), Some(4), None, Some(5), Some(6)];
        let found = Contiguity::of_frames(&frames);
        assert_eq!((found.pages, found.present, found.pairs), (7, 6, 4));
        assert_eq!(
            (found.followed, found.misses(), found.share()),
            (3, 1, 0.75)
        );
        assert_eq!(found.runs, [(1, 1), (2, 1), (3, 1)].into());
        let said = "6 of 7 pages have frames, 75.0 % follow physically, 1 misses; runs 1+: 1 2+: 2";
        assert_eq!(found.to_string(), said);
    }

    proptest! {
        /// The twin looks at every pair, and at every stretch that could be a run.
        #[test]
        fn runs_and_pairs_are_those_of_the_definition(
            frames in prop::collection::vec(prop::option::weighted(0.8, 1u64..6), 0..30),
        ) {
            let found = Contiguity::of_frames(&frames);
            let follows = |i: usize| i + 1 < frames.len()
                && frames[i].is_some() && frames[i + 1] == frames[i].map(|f| f + 1);
            let mut runs = BTreeMap::<u64, u64>::new();
            for first in 0..frames.len() {
                for last in first..frames.len() {
                    let all = (first..last).all(follows) && frames[first].is_some();
                    let begins = first == 0 || !follows(first - 1);
                    if all && begins && !follows(last) {
                        *runs.entry((last - first + 1) as u64).or_default() += 1;
                    }
                }
            }
            prop_assert_eq!(found.runs, runs);
            let pairs = frames.windows(2).filter(|pair| pair[0].is_some() && pair[1].is_some());
            prop_assert_eq!(found.pairs, pairs.count() as u64);
            prop_assert_eq!(found.followed, (0..frames.len()).filter(|&i| follows(i)).count() as u64);
        }
    }

    /// Four huge pages: 512 frames each that follow each other.
    #[test]
    #[ignore = "needs root, for frame numbers, and huge pages"]
    fn a_huge_page_is_512_frames_in_a_row() {
        let pool = Mapped::anonymous(8 << 20).and_then(|pool| pool.with_backing(Backing::Huge));
        let pool = pool.unwrap();
        for page in 0..pool.len() / 4096 {
            pool.store_word(page * 4096, 1);
        }
        for page in frames(pool.base(), pool.len()).unwrap().chunks(512) {
            assert_eq!(page[0].map(|first| first % 512), Some(0));
            assert_eq!(Contiguity::of_frames(page).runs, [(512, 1)].into());
        }
    }
}
