//! The uncommitted writes of a transaction, line by line: single words and runs of words apart, like
//! the two logs. No word is both.

use std::cell::Cell;

use crate::checksum::padded;
use crate::lane::changes::Changes;
use crate::medium::lines::lines;

/// Bytes of a word.
const WORD: u64 = 8;
/// Words of a line.
const LINE_WORDS: usize = 8;
/// Bytes of a line.
const LINE: u64 = LINE_WORDS as u64 * WORD;
/// Places for lines at first, a power of two.
const PLACES: usize = 64;
/// Places whose memory is kept for the next transaction, at most.
const MAX_KEPT: usize = 1 << 10;
/// An odd constant with as many ones as zeros (the fraction of the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Words of the bits of pieces.
const BIT_WORDS: usize = 128;
/// More pieces are not looked up one by one.
const LONG: u64 = 64;

/// Pieces of `1 << SHIFT` bytes, each by a bit that others share: most loads of a transaction are
/// of what it has not written, and need not look for writes.
pub(super) struct Pieces<const SHIFT: u32> {
    bits: [Cell<u64>; BIT_WORDS],
    /// The words of `bits` that are not 0, a bit for each, so that few are forgotten cheaply.
    used: [Cell<u64>; BIT_WORDS / 64],
}

impl<const SHIFT: u32> Default for Pieces<SHIFT> {
    fn default() -> Self {
        Self {
            bits: [const { Cell::new(0) }; BIT_WORDS],
            used: Default::default(),
        }
    }
}

impl<const SHIFT: u32> Pieces<SHIFT> {
    /// Returns the word and the bit of a piece.
    #[inline]
    fn place(piece: u64) -> (usize, u64) {
        let bit = (piece.wrapping_mul(FACTOR) >> (58 - BIT_WORDS.ilog2())) as usize;
        (bit / 64, 1 << (bit % 64))
    }

    /// Forgets all.
    fn clear(&self) {
        for (of, used) in self.used.iter().enumerate() {
            let mut rest = used.take();
            while rest != 0 {
                self.bits[of * 64 + rest.trailing_zeros() as usize].set(0);
                rest &= rest - 1;
            }
        }
    }

    /// Adds bytes, at least one.
    #[inline]
    pub fn add(&self, offset: u64, len: u64) {
        for piece in offset >> SHIFT..=(offset + len - 1) >> SHIFT {
            let (word, bit) = Self::place(piece);
            let (bits, used) = (&self.bits[word], &self.used[word / 64]);
            bits.set(bits.get() | bit);
            used.set(used.get() | 1 << (word % 64));
        }
    }

    /// Returns whether any of these bytes, or those near them, may have been added.
    #[inline]
    pub fn may_hold(&self, offset: u64, len: u64) -> bool {
        // What a damaged pool says may be anything, and is checked later.
        if len > LONG << SHIFT || offset > u64::MAX >> 1 {
            return true;
        }
        let (mut piece, end) = (offset >> SHIFT, offset + len);
        while piece << SHIFT < end {
            let (word, bit) = Self::place(piece);
            if self.bits[word].get() & bit != 0 {
                return true;
            }
            piece += 1;
        }
        false
    }
}

/// What a transaction has written and made, as far as that can be told at a glance.
#[derive(Default)]
pub(super) struct Glance {
    /// Lines that were written.
    lines: Pieces<6>,
    /// Larger pieces that were written.
    pieces: Pieces<9>,
    /// Pieces with new objects.
    pub made: Pieces<9>,
}

impl Glance {
    /// Forgets all.
    pub fn clear(&self) {
        self.lines.clear();
        self.pieces.clear();
        self.made.clear();
    }

    /// Notes bytes that were written, at least one.
    #[inline]
    pub fn add(&self, offset: u64, len: u64) {
        self.lines.add(offset, len);
        self.pieces.add(offset, len);
    }

    /// Returns whether any of these bytes may have been written.
    #[inline]
    pub fn may_hold(&self, offset: u64, len: u64) -> bool {
        self.lines.may_hold(offset, len)
    }

    /// Same, for many bytes, at a price that does not grow with their number.
    #[inline]
    pub fn may_hold_near(&self, offset: u64, len: u64) -> bool {
        self.pieces.may_hold(offset, len)
    }
}

/// A line of which words were written.
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
    /// For each place 1 more than the index of a line, or 0: a hash table that is at most half full.
    places: Vec<u32>,
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

    /// Writes a run of words. Runs that reach to each other are one, so data that are written piece by
    /// piece, as elements of a queue, become one run.
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

    /// Returns all single words, and all runs of words, as changes. Those of a line follow each other.
    /// There is room for `more` words behind them.
    pub fn changes(&self, more: usize) -> Changes {
        let mut changes = Changes::default();
        let single = self.lines.iter().map(|line| line.single.count_ones());
        let single = single.sum::<u32>() as usize;
        changes.words.reserve_exact(single + more);
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
        changes
    }

    /// Forgets all writes; keeps the memory, unless it is much.
    pub fn clear(&mut self) {
        if self.places.len() > MAX_KEPT {
            *self = Self::default();
        }
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
            let written = Glance::default();
            for (value, (at, len, single)) in (1u64..).zip(writes) {
                let len = if single { 1 } else { len };
                twin.extend((at..at + len as u64).map(|word| (word * 8, value)));
                written.add(at * 8, len as u64 * 8);
                match single {
                    true => set.set(at * 8, value),
                    false => set.write(at * 8, &vec![value; len]),
                }
            }
            for (at, len) in reads {
                let touched = twin.range(at * 8..(at + len as u64) * 8).next().is_some();
                prop_assert!(!touched || written.may_hold_near(at * 8, len as u64 * 8));
                prop_assert!(!touched || written.may_hold(at * 8, len as u64 * 8));
                let mut loaded = vec![0; len];
                set.overlay(at * 8, &mut loaded);
                let slow: Vec<u64> = (at..at + len as u64)
                    .map(|word| twin.get(&(word * 8)).copied().unwrap_or(0))
                    .collect();
                prop_assert_eq!(loaded, slow);
            }
            let Changes { words: mut all, runs, .. } = set.changes(0);
            for (at, words) in runs {
                all.extend((at..).step_by(8).zip(words));
            }
            all.sort_unstable();
            prop_assert_eq!(all, twin.into_iter().collect::<Vec<_>>());
        }
    }
}
