//! Windows: the changes of a lane's last operations, for other lanes that are about to change the
//! same (`own`).
//!
//! Let F be the last operation of a lane that passed its fence. After a crash F - 1, F and, if it
//! is under way, F + 1 may be repeated. A thread that changes data holds off all others that would;
//! so what is found here about its data is F - 1 or F, never F + 1.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Result;
use crate::layout::checked;
use crate::lock::lock;
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

/// Operations whose ranges are kept: F - 1, F and F + 1.
const KEPT: usize = 3;
/// Number of ranges of an operation that fit here, as many as an intent names; others are kept
/// under the lock.
const RANGES: usize = 4;
/// Ranges of an operation whose memory is kept for the next one, at most.
const MOST_KEPT: usize = 1 << 12;
/// Stands for ranges that are kept under the lock.
const WIDE: u64 = u64::MAX;
/// Bits of a packed range's length, in words.
const LEN_BITS: u32 = 19;

/// A range of the pool, in whole words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub offset: u64,
    pub len: u64,
}

impl Range {
    #[inline]
    pub fn new(offset: u64, len: u64) -> Self {
        Self { offset, len }
    }

    /// Returns one word.
    pub fn word(offset: u64) -> Self {
        Self::new(offset, WORD_BYTES)
    }

    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        self.offset < other.offset + other.len && other.offset < self.offset + self.len
    }

    /// Returns the range as one word, if it fits.
    #[inline]
    fn pack(self) -> Option<u64> {
        let (start, words) = (self.offset / WORD_BYTES, self.len / WORD_BYTES);
        let fits = words < 1 << LEN_BITS && start < 1 << (63 - LEN_BITS);
        fits.then_some(start << LEN_BITS | words)
    }

    #[inline]
    fn unpack(word: u64) -> Self {
        let words = word & ((1 << LEN_BITS) - 1);
        Self::new((word >> LEN_BITS) * WORD_BYTES, words * WORD_BYTES)
    }
}

/// The part of a lane that its holder writes and other lanes read; what is read often is in its
/// first cache line.
#[repr(align(64))]
pub(crate) struct Window {
    /// The sequence of F.
    fenced: AtomicU64,
    /// The sequence up to which operations are settled.
    settled: AtomicU64,
    /// The ranges of each operation that is kept, by its sequence modulo [`KEPT`].
    ranges: [[AtomicU64; RANGES]; KEPT],
    /// The ranges that did not fit; held while settling.
    wide: Mutex<[Wide; KEPT]>,
}

impl Window {
    /// Returns the window of a lane whose operations up to `settled` are settled.
    pub fn new(settled: u64) -> Self {
        Self {
            fenced: AtomicU64::new(settled),
            settled: AtomicU64::new(settled),
            ranges: Default::default(),
            wide: Mutex::default(),
        }
    }

    fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// Returns the operation up to which none is ever repeated.
    #[inline]
    pub fn past(&self) -> u64 {
        let fenced = self.fenced.load(Ordering::Acquire);
        fenced.saturating_sub(2).max(self.settled())
    }

    /// Notes that an operation has passed its fence and is going to change these ranges. The
    /// contents of the bytes of `checked` tell whether it has happened.
    #[inline]
    pub fn enter(
        &self,
        sequence: u64,
        ranges: impl Iterator<Item = Range> + Clone,
        checked: impl Iterator<Item = Range>,
    ) {
        let kept = &self.ranges[sequence as usize % KEPT];
        let (mut few, mut all) = (ranges.clone(), [0; RANGES]);
        let mut pack =
            |word: &mut u64| few.next().map_or(Some(0), Range::pack).map(|it| *word = it);
        let packed = all.iter_mut().all(|word| pack(word).is_some());
        match packed && few.next().is_none() {
            true => kept
                .iter()
                .zip(all)
                .for_each(|(kept, word)| kept.store(word, Ordering::Relaxed)),
            false => self.enter_wide(sequence, ranges, checked),
        }
        self.fenced.store(sequence, Ordering::Release);
    }

    #[cold]
    fn enter_wide(
        &self,
        sequence: u64,
        ranges: impl Iterator<Item = Range>,
        checked: impl Iterator<Item = Range>,
    ) {
        let slot = sequence as usize % KEPT;
        lock(&self.wide)[slot].set(ranges, checked);
        self.ranges[slot][0].store(WIDE, Ordering::Relaxed);
    }

    /// Returns whether one of the last two operations names any of these bytes and is not settled.
    pub fn names(&self, ranges: &[Range]) -> bool {
        let wide = lock(&self.wide);
        let (fenced, settled) = (self.fenced.load(Ordering::Acquire), self.settled());
        self.last_naming(&wide, fenced, settled, ranges).is_some()
    }

    /// Returns the later of the two operations up to `fenced` and above `settled` that names any of
    /// these ranges.
    fn last_naming(
        &self,
        wide: &[Wide; KEPT],
        fenced: u64,
        settled: u64,
        ranges: &[Range],
    ) -> Option<u64> {
        let last = [fenced, fenced.saturating_sub(1)];
        let names = |&sequence: &u64| {
            let theirs = self.kept(wide, sequence);
            let overlap = |range: &Range| theirs.iter().any(|other| range.overlaps(*other));
            sequence > settled && ranges.iter().any(overlap)
        };
        last.into_iter().find(names)
    }

    /// Returns whether one of the last two operations may name any of these ranges.
    #[inline]
    fn may_concern(&self, ranges: &[Range]) -> bool {
        let fenced = self.fenced.load(Ordering::Acquire);
        if fenced <= self.settled.load(Ordering::Relaxed) {
            return false;
        }
        let overlap = |theirs: &Range| ranges.iter().any(|range| range.overlaps(*theirs));
        let mut last = [fenced, fenced.wrapping_sub(1)].into_iter();
        last.any(|sequence| self.few(sequence).is_none_or(|few| few.iter().any(overlap)))
    }

    /// Returns whether the last operation, if it is not settled, names any of these bytes.
    #[inline]
    pub fn last_names(&self, range: Range) -> bool {
        let fenced = self.fenced.load(Ordering::Acquire);
        if fenced <= self.settled() {
            return false;
        }
        match self.few(fenced) {
            None => overlaps(&lock(&self.wide)[fenced as usize % KEPT].all, range),
            Some(few) => overlaps(&few, range),
        }
    }

    /// Returns whether an operation is the last one, and is not settled.
    #[inline]
    pub fn is_last(&self, sequence: u64) -> bool {
        self.fenced.load(Ordering::Acquire) == sequence && sequence > self.settled()
    }

    /// Calls `each` with the bytes whose contents tell whether an operation that is kept has
    /// happened; with all that it names if they are few.
    pub fn each_checked(&self, sequence: u64, each: impl FnMut(Range)) {
        match self.few(sequence) {
            None => {
                let wide = lock(&self.wide);
                let checked = &wide[sequence as usize % KEPT].checked;
                checked.iter().copied().for_each(each);
            }
            Some(few) => few.into_iter().filter(|range| range.len > 0).for_each(each),
        }
    }

    /// Settles every operation that names any of these ranges. The caller holds off all others that
    /// would change them. `at` is the offset of the lane's settled word.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[inline]
    pub fn settle_for<M: Medium>(&self, pool: &Pool<M>, at: u64, ranges: &[Range]) -> Result<()> {
        if self.may_concern(ranges) {
            return self.settle_slowly(pool, at, ranges);
        }
        Ok(())
    }

    #[cold]
    fn settle_slowly<M: Medium>(&self, pool: &Pool<M>, at: u64, ranges: &[Range]) -> Result<()> {
        let wide = lock(&self.wide);
        let fenced = self.fenced.load(Ordering::Acquire);
        let settled = self.settled.load(Ordering::Relaxed);
        match self.last_naming(&wide, fenced, settled, ranges) {
            Some(target) => self.settle_kept(pool, at, &wide, target),
            None => Ok(()),
        }
    }

    /// Settles all operations up to this one, which is over. `at` is the offset of the lane's
    /// settled word.
    ///
    /// # Errors
    ///
    /// A fence failed.
    #[cold]
    pub fn settle_up_to<M: Medium>(&self, pool: &Pool<M>, at: u64, sequence: u64) -> Result<()> {
        let wide = lock(&self.wide);
        match sequence > self.settled.load(Ordering::Relaxed) {
            true => self.settle_kept(pool, at, &wide, sequence),
            false => Ok(()),
        }
    }

    /// Flushes the changes of the last operations up to this one, and settles them.
    fn settle_kept<M: Medium>(
        &self,
        pool: &Pool<M>,
        at: u64,
        wide: &[Wide; KEPT],
        target: u64,
    ) -> Result<()> {
        let fenced = self.fenced.load(Ordering::Acquire);
        self.flush_kept(pool, wide, fenced, target);
        pool.medium.fence()?;
        self.store_settled(pool, at, target)
    }

    /// Flushes the changes of the last two operations, for a thread that fences after another one
    /// of the same lane.
    pub fn flush<M: Medium>(&self, pool: &Pool<M>) {
        let wide = lock(&self.wide);
        let fenced = self.fenced.load(Ordering::Acquire);
        self.flush_kept(pool, &wide, fenced, fenced);
    }

    /// Flushes the changes of the last two operations, up to `target`; `fenced` is the later one.
    fn flush_kept<M: Medium>(&self, pool: &Pool<M>, wide: &[Wide; KEPT], fenced: u64, target: u64) {
        let last = [fenced, fenced.saturating_sub(1)];
        for sequence in last.into_iter().filter(|&sequence| sequence <= target) {
            for range in self.kept(wide, sequence) {
                pool.medium.flush(range.offset, range.len);
            }
        }
    }

    /// Settles everything. The caller holds the lane, and has fenced all effects.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn settle_all<M: Medium>(&self, pool: &Pool<M>, at: u64) -> Result<()> {
        let _alone = lock(&self.wide);
        let fenced = self.fenced.load(Ordering::Relaxed);
        if fenced > self.settled.load(Ordering::Relaxed) {
            self.store_settled(pool, at, fenced)?;
        }
        Ok(())
    }

    fn store_settled<M: Medium>(&self, pool: &Pool<M>, at: u64, sequence: u64) -> Result<()> {
        pool.medium.store_word(at, checked(at, sequence));
        pool.medium.flush(at, WORD_BYTES);
        pool.medium.fence()?;
        self.settled.store(sequence, Ordering::Release);
        Ok(())
    }

    fn kept(&self, wide: &[Wide; KEPT], sequence: u64) -> Vec<Range> {
        match self.few(sequence) {
            None => wide[sequence as usize % KEPT].all.clone(),
            Some(few) => few.to_vec(),
        }
    }

    /// Returns the ranges of an operation that fit here; `None` if they are kept under the lock.
    #[inline]
    fn few(&self, sequence: u64) -> Option<[Range; RANGES]> {
        let kept = &self.ranges[sequence as usize % KEPT];
        let words = std::array::from_fn(|i: usize| kept[i].load(Ordering::Relaxed));
        (words[0] != WIDE).then(|| words.map(Range::unpack))
    }
}

/// The ranges of an operation with many.
#[derive(Default)]
struct Wide {
    all: Vec<Range>,
    /// Those whose contents tell whether it has happened.
    checked: Vec<Range>,
}

impl Wide {
    /// Sets the ranges; keeps the memory, unless it is much.
    fn set(&mut self, all: impl Iterator<Item = Range>, checked: impl Iterator<Item = Range>) {
        for ranges in [&mut self.all, &mut self.checked] {
            ranges.clear();
            ranges.shrink_to(MOST_KEPT);
        }
        self.all.extend(all);
        self.checked.extend(checked);
    }
}

/// Returns whether a range overlaps any of these.
#[inline]
fn overlaps(ranges: &[Range], range: Range) -> bool {
    ranges.iter().any(|other| range.overlaps(*other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_survive_packing_or_do_not_fit() {
        for (offset, len) in [(0, 8), (64, 144), (1 << 40, 4 << 20)] {
            let range = Range { offset, len };
            match range.pack() {
                Some(word) => assert_eq!(Range::unpack(word), range),
                None => assert_eq!(len, 4 << 20),
            }
        }
    }

    #[test]
    fn only_the_last_two_operations_are_looked_at() {
        let window = Window::new(10);
        let word = |offset| [Range::word(offset)];
        assert!(!window.may_concern(&word(0)));
        for sequence in 11..15 {
            window.enter(
                sequence,
                [
                    Range::word(sequence * 8),
                    Range {
                        offset: 4096,
                        len: 0,
                    },
                ]
                .into_iter(),
                [].into_iter(),
            );
        }
        assert!(window.may_concern(&word(14 * 8)) && window.may_concern(&word(13 * 8)));
        assert!(!window.may_concern(&word(12 * 8)) && !window.may_concern(&word(4096)));
        assert!(window.last_names(Range::word(14 * 8)));
        assert!(!window.last_names(Range::word(13 * 8)));
    }

    #[test]
    fn many_ranges_are_kept_too() {
        let window = Window::new(0);
        let many = [0, 800, 1600, 2400, 3200].map(Range::word);
        window.enter(1, many.into_iter(), [].into_iter());
        assert_eq!(window.kept(&lock(&window.wide), 1), many);
        assert!(window.may_concern(&[Range::word(1600)]));
        assert!(window.last_names(Range::word(1600)) && !window.last_names(Range::word(1608)));
    }

    #[test]
    fn bytes_that_are_checked_are_told_from_others_of_many_ranges() {
        let window = Window::new(0);
        let many = [0, 800, 1600, 2400, 3200].map(Range::word);
        let checked = [Range::new(8000, 64), Range::new(4000, 64)];
        let told = |sequence| {
            let mut told = Vec::new();
            window.each_checked(sequence, |range| told.push(range));
            told
        };
        window.enter(1, many.into_iter(), checked.into_iter());
        assert_eq!(told(1), checked);
        window.enter(2, many.into_iter().take(4), checked.into_iter());
        assert_eq!(told(2), many[..4]);
        assert!(window.is_last(2) && !window.is_last(1));
        // The memory of an operation is used again.
        window.enter(4, many.into_iter(), [].into_iter());
        assert_eq!(
            (told(4), window.kept(&lock(&window.wide), 4)),
            (vec![], many.to_vec())
        );
    }
}
