//! The uncommitted writes of a transaction, line by line: single words and runs of words apart,
//! like the two logs. No word is both.

use crate::checksum::padded;
use crate::lane::changes::Changes;
use crate::medium::lines::lines;

use super::pieces::Pieces;

/// Bytes of a word.
const WORD: u64 = 8;
/// Words of a line.
const LINE_WORDS: usize = 8;
/// Bytes of a line.
const LINE: u64 = LINE_WORDS as u64 * WORD;
/// Places for lines at first, a power of two.
const PLACES: usize = 64;
/// An odd constant with as many ones as zeros (the fraction of the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// More lines are not looked up one by one.
const LONG: u64 = 64;

/// A line with written words.
struct Line {
    number: u64,
    words: [u64; LINE_WORDS],
    /// The words that were written by themselves, a bit for each: the word log.
    single: u8,
    /// The words that were written with others: the object log.
    in_run: u8,
}

/// Words by offset, each a multiple of 8.
#[derive(Default)]
pub(super) struct WriteSet {
    lines: Vec<Line>,
    /// For each place 1 more than the index of a line, or 0: a hash table that is at most half
    /// full.
    places: Vec<u32>,
    /// The pieces in which these lines lie.
    pieces: Pieces,
}

/// Returns the bits of words of a line from one on to before another one.
#[inline]
fn bits(first: usize, end: usize) -> u8 {
    (((1u16 << end) - 1) >> first << first) as u8
}

impl WriteSet {
    /// Returns the place where a line is, or where it would be.
    #[inline]
    fn place(&self, number: u64) -> usize {
        let mask = self.places.len() - 1;
        let hash = number.wrapping_mul(FACTOR);
        let mut place = (hash >> 32) as usize & mask;
        loop {
            match self.places[place] {
                0 => return place,
                index if self.lines[index as usize - 1].number == number => return place,
                _ => place = (place + 1) & mask,
            }
        }
    }

    #[inline]
    fn find(&self, number: u64) -> Option<&Line> {
        if self.lines.is_empty() {
            return None;
        }
        let index = self.places[self.place(number)].checked_sub(1)?;
        Some(&self.lines[index as usize])
    }

    /// Returns a line, which is added if it is not there.
    #[inline]
    fn line(&mut self, number: u64) -> &mut Line {
        if self.lines.len() * 2 >= self.places.len() {
            self.make_places();
        }
        let place = self.place(number);
        let index = match self.places[place] {
            0 => {
                self.lines.push(Line {
                    number,
                    words: [0; LINE_WORDS],
                    single: 0,
                    in_run: 0,
                });
                self.places[place] = self.lines.len() as u32;
                self.pieces.add_at(number * LINE);
                self.lines.len() - 1
            }
            index => index as usize - 1,
        };
        &mut self.lines[index]
    }

    #[cold]
    fn make_places(&mut self) {
        let count = (self.places.len() * 4).max(PLACES);
        self.lines.reserve(count / 2 - self.lines.len());
        self.places = vec![0; count];
        for index in 0..self.lines.len() {
            let place = self.place(self.lines[index].number);
            self.places[place] = index as u32 + 1;
        }
    }

    /// Writes one word.
    #[inline]
    pub fn set(&mut self, offset: u64, value: u64) {
        let within = (offset % LINE / WORD) as usize;
        let line = self.line(offset / LINE);
        line.words[within] = value;
        line.single |= (1 << within) & !line.in_run;
    }

    /// Writes a run of words. Runs that reach to each other are one, so data that are written piece
    /// by piece, as elements of a queue, become one run.
    pub fn write(&mut self, offset: u64, new: &[u64]) {
        self.fill(offset, bytemuck::cast_slice(new));
    }

    /// Same as [`WriteSet::write`], for bytes, filled with zeros to a whole word.
    pub fn fill(&mut self, mut offset: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let first = (offset % LINE / WORD) as usize;
            let (here, rest) = bytes.split_at(bytes.len().min((LINE_WORDS - first) * 8));
            let end = first + here.len().div_ceil(8);
            let line = self.line(offset / LINE);
            let (whole, part) = here.as_chunks::<8>();
            for (word, bytes) in line.words[first..].iter_mut().zip(whole) {
                *word = u64::from_le_bytes(*bytes);
            }
            if !part.is_empty() {
                line.words[end - 1] = padded(part);
            }
            line.in_run |= bits(first, end);
            line.single &= !line.in_run;
            offset += (end - first) as u64 * WORD;
            bytes = rest;
        }
    }

    /// Returns the number of lines.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns a word, if it was written.
    #[inline]
    pub fn word(&self, offset: u64) -> Option<u64> {
        let line = self.find(offset / LINE)?;
        let within = (offset % LINE / WORD) as usize;
        let written = (line.single | line.in_run) >> within & 1;
        (written != 0).then(|| line.words[within])
    }

    /// Returns whether any of the lines of these bytes may have been written.
    #[inline]
    pub fn may_hold(&self, offset: u64, len: u64) -> bool {
        if self.lines.is_empty() {
            return false;
        }
        // What a damaged pool says may be anything, and is checked later.
        let (first, last) = (offset / LINE, offset.saturating_add(len.max(1) - 1) / LINE);
        match last - first {
            0 => self.holds_line(first),
            1..LONG => self.holds_any_line(first, last),
            _ => true,
        }
    }

    #[inline(never)]
    fn holds_any_line(&self, first: u64, last: u64) -> bool {
        (first..=last).any(|number| self.holds_line(number))
    }

    #[inline]
    fn holds_line(&self, number: u64) -> bool {
        self.places[self.place(number)] != 0
    }

    /// Same as [`WriteSet::may_hold`], at little price for many bytes without a written one.
    #[inline]
    pub fn may_hold_any(&self, offset: u64, len: u64) -> bool {
        self.pieces.may_hold(offset, len) && self.may_hold(offset, len)
    }

    /// Overlays the writes on words that were loaded from `offset` on.
    pub fn overlay(&self, offset: u64, loaded: &mut [u64]) {
        let end = offset + loaded.len() as u64 * WORD;
        for number in lines(offset, end - offset) {
            let Some(line) = self.find(number) else {
                continue;
            };
            let begin = number * LINE;
            let first = (offset.max(begin) - begin) / WORD;
            let last = (end.min(begin + LINE) - begin) / WORD;
            let mut written = (line.single | line.in_run) & bits(first as usize, last as usize);
            while written != 0 {
                let word = written.trailing_zeros();
                loaded[((begin + u64::from(word) * WORD - offset) / WORD) as usize] =
                    line.words[word as usize];
                written &= written - 1;
            }
        }
    }

    /// Adds all single words, and all runs of words, to changes that have none. Those of a line
    /// follow each other. There is room for `more` words behind them.
    pub fn add_to(&self, changes: &mut Changes, more: usize) {
        let single = self.lines.iter().map(|line| line.single.count_ones());
        let single = single.sum::<u32>() as usize;
        changes.words.reserve(single + more);
        let mut run_end = None;
        for line in &self.lines {
            let begin = line.number * LINE;
            let mut single = line.single;
            while single != 0 {
                let word = single.trailing_zeros() as usize;
                changes
                    .words
                    .push((begin + word as u64 * WORD, line.words[word]));
                single &= single - 1;
            }
            let (in_run, mut end) = (line.in_run, 0);
            while in_run >> end != 0 {
                let first = end + (in_run >> end).trailing_zeros();
                end = first + (in_run >> first).trailing_ones();
                let at = begin + u64::from(first) * WORD;
                let words = &line.words[first as usize..end as usize];
                match changes.runs.last_mut() {
                    Some((_, run)) if run_end == Some(at) => run.extend_from_slice(words),
                    _ => {
                        let mut run = Vec::with_capacity(2 * LINE_WORDS);
                        run.extend_from_slice(words);
                        changes.runs.push((at, run));
                    }
                }
                run_end = Some(begin + u64::from(end) * WORD);
                if end == LINE_WORDS as u32 {
                    break;
                }
            }
        }
        changes.grouped = changes.words.len();
    }

    /// Forgets all writes; keeps the memory.
    pub fn clear(&mut self) {
        self.pieces.clear();
        if self.lines.len() * 8 > self.places.len() {
            self.places.fill(0);
            self.lines.clear();
        }
        // The last line first: no other was entered after it, so none is looked for behind its
        // place.
        while let Some(line) = self.lines.last() {
            let place = self.place(line.number);
            self.places[place] = 0;
            self.lines.pop();
        }
    }

    /// Forgets all writes between two offsets.
    pub fn forget(&mut self, offset: u64, end: u64) {
        for line in &mut self.lines {
            let begin = line.number * LINE;
            let (first, last) = (offset.max(begin), end.min(begin + LINE));
            if first < last {
                let within = |at: u64| ((at - begin) / WORD) as usize;
                let kept = !bits(within(first), within(last));
                line.single &= kept;
                line.in_run &= kept;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

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
                prop_assert!(!touched || set.may_hold_any(at * 8, len as u64 * 8));
                prop_assert!(!touched || set.may_hold(at * 8, len as u64 * 8));
                prop_assert_eq!(set.word(at * 8), twin.get(&(at * 8)).copied());
                let mut loaded = vec![0; len];
                set.overlay(at * 8, &mut loaded);
                let slow: Vec<u64> = (at..at + len as u64)
                    .map(|word| twin.get(&(word * 8)).copied().unwrap_or(0))
                    .collect();
                prop_assert_eq!(loaded, slow);
            }
            let mut changes = Changes::default();
            set.add_to(&mut changes, 0);
            let Changes { words: mut all, runs, .. } = changes;
            for (at, words) in runs {
                all.extend((at..).step_by(8).zip(words));
            }
            all.sort_unstable();
            prop_assert_eq!(all, twin.into_iter().collect::<Vec<_>>());
        }
    }
}
