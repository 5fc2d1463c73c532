//! How contiguous frames are.

use std::collections::BTreeMap;
use std::fmt;

use super::frames::frames;
use crate::error::Result;
use crate::heap::Heap;
use crate::medium::Medium;

/// How contiguous the frames behind a range of pages are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contiguity {
    /// Pages of the range.
    pub pages: u64,
    /// Those that have a frame.
    pub present: u64,
    /// Those that have a frame, and whose next page has one, too.
    pub pairs: u64,
    /// Those whose next page has the next frame.
    pub followed: u64,
    /// Runs of pages with frames that follow each other: how many there are of each length in pages.
    pub runs: BTreeMap<u64, u64>,
}

impl Contiguity {
    /// Of `len` bytes of this process's address space.
    ///
    /// # Errors
    ///
    /// The kernel hides frame numbers from this program, or has no pagemap.
    pub fn of(start: *const u8, len: u64) -> Result<Self> {
        frames(start, len).map(|frames| Self::of_frames(&frames))
    }

    /// Of pages with these frames, in the order of their addresses.
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

    /// Pages whose next page has another frame than the next: the paper's contiguity misses (table
    /// 1), seen afterwards instead of as they happen.
    pub fn misses(&self) -> u64 {
        self.pairs - self.followed
    }

    /// The share of pages whose next page has the next frame, of those where both have one; 1 if there
    /// are none.
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

impl<M: Medium> Heap<M> {
    /// How contiguous the frames of the pool are.
    ///
    /// # Errors
    ///
    /// As [`Contiguity::of`].
    pub fn contiguity(&self) -> Result<Contiguity> {
        Contiguity::of(self.medium().base(), self.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contiguity::{Backing, Purpose};
    use crate::medium::Mapped;

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
    fn a_huge_page_is_512_frames_in_a_row() {
        let pool = Mapped::anonymous(8 << 20).and_then(|pool| pool.with_backing(Backing::Huge));
        let pool = match pool {
            Ok(pool) => pool,
            Err(error) => return eprintln!("SKIPPED: {error}"),
        };
        for page in 0..pool.len() / 4096 {
            pool.store_word(page * 4096, 1);
        }
        match frames(pool.base(), pool.len()) {
            Err(error) => eprintln!("SKIPPED: {error}"),
            Ok(frames) => {
                let huge = |frames: &[Option<u64>]| frames[0].is_some_and(|first| first % 512 == 0);
                let all: Vec<_> = frames.chunks(512).map(Contiguity::of_frames).collect();
                if !frames.chunks(512).all(huge) {
                    return eprintln!("SKIPPED: the kernel gave no huge pages");
                }
                assert!(
                    all.iter().all(|page| page.runs == [(512, 1)].into()),
                    "{all:?}"
                );
            }
        }
    }

    /// A heap reports on what it lies on, or says why not.
    #[test]
    fn a_heap_says_how_contiguous_it_is() {
        let medium = Mapped::anonymous(4 << 20).unwrap();
        let medium = medium.with_backing(Backing::batches(16)).unwrap();
        let heap = Heap::make_on(medium, &crate::Options::default()).unwrap();
        heap.capacity_alloc(8).unwrap();
        heap.medium()
            .prepare(1 << 20, 1 << 20, Purpose::Persistence);
        match heap.contiguity() {
            Ok(found) => assert!(found.pages == 1024 && found.present >= 256, "{found}"),
            Err(error) => eprintln!("SKIPPED: {error}"),
        }
    }
}
