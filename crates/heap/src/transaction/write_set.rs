//! The uncommitted writes of a transaction: single words and runs of words apart, like the two logs. No
//! word is in both.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::lane::changes::Changes;
use crate::medium::lines::lines;

/// Bytes of a word.
const WORD: u64 = 8;

/// Lines that were written, each by a bit that others share: most loads of a transaction are of others, and
/// need not look for writes.
struct Lines([u64; LINES / 64]);

/// Bits of [`Lines`].
const LINES: usize = 4096;

impl Default for Lines {
    fn default() -> Self {
        Self([0; LINES / 64])
    }
}

impl Lines {
    /// Returns the word and the bit of a line.
    #[inline]
    fn place(line: u64) -> (usize, u64) {
        let bit = (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - LINES.ilog2())) as usize;
        (bit / 64, 1 << (bit % 64))
    }

    fn add(&mut self, offset: u64, len: u64) {
        for line in lines(offset, len) {
            let (word, bit) = Self::place(line);
            self.0[word] |= bit;
        }
    }

    /// Returns whether any of these bytes may have been added.
    #[inline]
    fn may_hold(&self, offset: u64, len: u64) -> bool {
        lines(offset, len).any(|line| {
            let (word, bit) = Self::place(line);
            self.0[word] & bit != 0
        })
    }
}

/// Words by offset, each a multiple of 8.
#[derive(Default)]
pub(super) struct WriteSet {
    lines: Lines,
    /// Single words: the word log.
    words: BTreeMap<u64, u64>,
    /// Runs of words by the offset of the first; no two overlap: the object log.
    objects: BTreeMap<u64, Vec<u64>>,
}

impl WriteSet {
    /// Writes one word.
    pub fn set(&mut self, offset: u64, value: u64) {
        self.lines.add(offset, WORD);
        match self.object_with(offset) {
            Some(word) => *word = value,
            None => drop(self.words.insert(offset, value)),
        }
    }

    /// Returns the word at `offset` of the run in which it lies.
    fn object_with(&mut self, offset: u64) -> Option<&mut u64> {
        let (first, words) = self.objects.range_mut(..=offset).next_back()?;
        words.get_mut(((offset - first) / WORD) as usize)
    }

    /// Writes a run of words. A run that reaches to it is continued, so data that are
    /// written piece by piece, as elements of a queue, become one run.
    pub fn write(&mut self, offset: u64, new: &[u64]) {
        if new.is_empty() {
            return;
        }
        let end = offset + new.len() as u64 * WORD;
        self.lines.add(offset, end - offset);
        let single: Vec<u64> = self.words.range(offset..end).map(|(&at, _)| at).collect();
        for at in single {
            self.words.remove(&at);
        }
        let before = self.objects.range(..=offset).next_back();
        let before = before.filter(|(first, run)| **first + run.len() as u64 * WORD >= offset);
        let first = before.map_or(offset, |(&first, _)| first);
        let rest = self.take_rest(first, end);
        let run = self.objects.entry(first).or_default();
        let at = ((offset - first) / WORD) as usize;
        run.resize(run.len().max(at + new.len()), 0);
        run[at..at + new.len()].copy_from_slice(new);
        run.extend(rest);
    }

    /// Takes out the runs that begin between two offsets; returns their words beyond the second one.
    fn take_rest(&mut self, after: u64, end: u64) -> Vec<u64> {
        let mut rest = Vec::new();
        let between = (Bound::Excluded(after), Bound::Excluded(end));
        while let Some((&first, _)) = self.objects.range(between).next() {
            let run = self.objects.remove(&first).unwrap_or_default();
            rest.extend(run.into_iter().skip(((end - first) / WORD) as usize));
        }
        rest
    }

    /// Returns whether any of these bytes may have been written.
    #[inline]
    pub fn may_touch(&self, offset: u64, len: u64) -> bool {
        // What a damaged pool says may be anything, and is checked later.
        let is_short = len <= LINES as u64 && offset.checked_add(len).is_some();
        !is_short || self.lines.may_hold(offset, len)
    }

    /// Overlays the writes on words that were loaded from `offset` on.
    pub fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        let end = offset + loaded.len() as u64 * WORD;
        let before = self.objects.range(..offset).next_back();
        for (&first, words) in before.into_iter().chain(self.objects.range(offset..end)) {
            let from = first.max(offset);
            let to = (first + words.len() as u64 * WORD).min(end);
            if from < to {
                let len = ((to - from) / WORD) as usize;
                let (at, of) = ((from - offset) / WORD, (from - first) / WORD);
                loaded[at as usize..][..len].copy_from_slice(&words[of as usize..][..len]);
            }
        }
        for (&at, &value) in self.words.range(offset..end) {
            loaded[((at - offset) / WORD) as usize] = value;
        }
    }

    /// Returns all single words, and all runs of words, as changes.
    pub fn into_changes(self) -> Changes {
        Changes {
            words: self.words.into_iter().collect(),
            runs: self.objects.into_iter().collect(),
            ..Changes::default()
        }
    }

    /// Forgets all writes between two offsets.
    pub fn forget(&mut self, offset: u64, end: u64) {
        self.words.retain(|at, _| !(offset..end).contains(at));
        self.objects.retain(|at, _| !(offset..end).contains(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The twin is a map of words.
        #[test]
        fn a_write_set_is_a_map_of_words(
            writes in prop::collection::vec((0u64..60, 1usize..12, any::<bool>()), 0..60),
            reads in prop::collection::vec((0u64..60, 1usize..20), 1..10),
        ) {
            let (mut set, mut twin) = (WriteSet::default(), BTreeMap::new());
            for (value, (at, len, single)) in (1u64..).zip(writes) {
                let len = if single { 1 } else { len };
                twin.extend((at..at + len as u64).map(|word| (word * 8, value)));
                match single {
                    true => set.set(at * 8, value),
                    false => set.write(at * 8, &vec![value; len]),
                }
            }
            for (at, len) in reads {
                let touched = twin.range(at * 8..(at + len as u64) * 8).next().is_some();
                prop_assert!(!touched || set.may_touch(at * 8, len as u64 * 8));
                let mut loaded = vec![0; len];
                set.overlay(at * 8, &mut loaded);
                let slow: Vec<u64> = (at..at + len as u64)
                    .map(|word| twin.get(&(word * 8)).copied().unwrap_or(0))
                    .collect();
                prop_assert_eq!(loaded, slow);
            }
            let Changes { words: mut all, runs, .. } = set.into_changes();
            for (at, words) in runs {
                all.extend((at..).step_by(8).zip(words));
            }
            all.sort_unstable();
            prop_assert_eq!(all, twin.into_iter().collect::<Vec<_>>());
        }
    }
}
