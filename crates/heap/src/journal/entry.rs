//! Entries of the journal: the lines that one fence makes durable, side by side.
//!
//! An entry is one word with the number of words between it and the last; for each run of lines its
//! offset, its bytes and its contents; and a check of all that.

use std::ops::Range;

use crate::checksum::Checksum;
use crate::error::{Error, Result};
use crate::medium::{LINE_BYTES, Medium, WORD_BYTES};

const LINE_WORDS: usize = (LINE_BYTES / WORD_BYTES) as usize;
/// Words of a run of lines besides the lines.
const RUN_WORDS: u64 = 2;
/// The first word and the last.
const FRAME_WORDS: u64 = 2;

/// The place of an entry and the generation of the journal, which tells it from what lay there
/// before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub offset: u64,
    pub generation: u64,
}

impl Place {
    fn check(self, words: &[u64]) -> u64 {
        let mut sum = Checksum::new(self.offset);
        sum.word(self.generation);
        words.iter().for_each(|&word| sum.word(word));
        sum.finish()
    }
}

/// Groups lines in ascending order into runs that do not touch each other.
pub(super) fn merge(mut lines: Vec<Range<u64>>) -> Vec<Range<u64>> {
    lines.sort_unstable_by_key(|run| run.start);
    let mut merged: Vec<Range<u64>> = Vec::with_capacity(lines.len());
    for run in lines {
        match merged.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => merged.push(run),
        }
    }
    merged
}

/// Returns the bytes of an entry with these runs of lines.
pub(super) fn bytes_of(runs: &[Range<u64>]) -> u64 {
    let lines = |run: &Range<u64>| RUN_WORDS * WORD_BYTES + (run.end - run.start) * LINE_BYTES;
    FRAME_WORDS * WORD_BYTES + runs.iter().map(lines).sum::<u64>()
}

/// Returns the words of an entry with the current contents of these lines.
pub(super) fn encode<M: Medium>(medium: &M, place: Place, runs: &[Range<u64>]) -> Vec<u64> {
    let count = bytes_of(runs) / WORD_BYTES;
    let mut words = Vec::with_capacity(count as usize);
    words.push(count - FRAME_WORDS);
    for run in runs {
        words.push(run.start * LINE_BYTES);
        words.push((run.end - run.start) * LINE_BYTES);
        for line in run.clone() {
            words.extend_from_slice(&snapshot(medium, line * LINE_BYTES));
        }
    }
    words.push(place.check(&words));
    words
}

/// Returns a line as it was at one moment, while other threads may store to it: read until two
/// readings agree.
fn snapshot<M: Medium>(medium: &M, offset: u64) -> [u64; LINE_WORDS] {
    let read = || std::array::from_fn(|i| medium.load_word(offset + i as u64 * WORD_BYTES));
    let mut line = read();
    loop {
        let again = read();
        if again == line {
            return line;
        }
        line = again;
    }
}

/// Returns the words between the first and the last of an entry; `None` if there is none that ends
/// at `end` at most.
pub(super) fn decode<M: Medium>(medium: &M, place: Place, end: u64) -> Option<Vec<u64>> {
    let most = end.checked_sub(place.offset)? / WORD_BYTES;
    if most < FRAME_WORDS {
        // The journal is exactly full: behind its end may be the end of the pool.
        return None;
    }
    let count = medium.load_word(place.offset);
    if count == 0 || count.checked_add(FRAME_WORDS)? > most {
        return None;
    }
    let at = |i: u64| place.offset + i * WORD_BYTES;
    let mut words: Vec<u64> = (0..=count).map(|i| medium.load_word(at(i))).collect();
    (place.check(&words) == medium.load_word(at(count + 1))).then(|| words.split_off(1))
}

/// Stores and flushes the lines of an entry where they belong.
///
/// # Errors
///
/// A line lies outside of the pool.
pub(super) fn replay<M: Medium>(medium: &M, mut words: &[u64]) -> Result<()> {
    while let [offset, len, rest @ ..] = words {
        let whole = offset.is_multiple_of(LINE_BYTES) && len.is_multiple_of(LINE_BYTES);
        let end = offset.checked_add(*len);
        let within = end.is_some_and(|end| end <= medium.len());
        let count = (len / WORD_BYTES) as usize;
        if !whole || !within || count > rest.len() {
            return Err(Error::damaged(format!(
                "the pool's journal is damaged: no {len} bytes lie at {offset} of the pool"
            )));
        }
        let (line, next) = rest.split_at(count);
        medium.store(*offset, bytemuck::cast_slice(line));
        medium.flush(*offset, *len);
        words = next;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::medium::simulated::{Granule, Simulated};

    const PLACE: Place = Place {
        offset: 4096,
        generation: 3,
    };

    fn filled() -> Simulated {
        let medium = Simulated::new(1 << 14, Granule::Line);
        for at in (0..4096).step_by(8) {
            medium.store_word(at, at + 1);
        }
        medium
    }

    proptest! {
        #[test]
        fn merged_runs_have_the_same_lines_and_do_not_touch(
            runs in prop::collection::vec((0u64..60, 1u64..6), 0..20),
        ) {
            let runs: Vec<_> = runs.into_iter().map(|(at, len)| at..at + len).collect();
            let slow: BTreeSet<u64> = runs.iter().cloned().flatten().collect();
            let merged = merge(runs);
            prop_assert!(merged.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(merged.into_iter().flatten().collect::<BTreeSet<u64>>(), slow);
        }

        #[test]
        fn an_entry_brings_its_lines_back_and_nothing_else(
            runs in prop::collection::vec((0u64..60, 1u64..4), 1..8),
        ) {
            let medium = filled();
            let runs = merge(runs.into_iter().map(|(at, len)| at..at + len).collect());
            let words = encode(&medium, PLACE, &runs);
            prop_assert_eq!(words.len() as u64 * 8, bytes_of(&runs));
            medium.store(PLACE.offset, bytemuck::cast_slice(&words));
            for at in (0..4096).step_by(8) {
                medium.store_word(at, 0);
            }
            let found = decode(&medium, PLACE, 1 << 14).expect("it is whole");
            replay(&medium, &found).unwrap();
            for at in (0..4096).step_by(8) {
                let journaled = runs.iter().any(|run| run.contains(&(at / 64)));
                prop_assert_eq!(medium.load_word(at), if journaled { at + 1 } else { 0 });
            }
        }
    }

    #[test]
    fn a_torn_entry_is_none_nor_is_one_of_another_place_or_generation() {
        let medium = filled();
        let words = encode(&medium, PLACE, &[0..2, 5..6]);
        let end = PLACE.offset + bytes_of(&[0..2, 5..6]);
        medium.store(PLACE.offset, bytemuck::cast_slice(&words));
        assert!(decode(&medium, PLACE, end).is_some());
        assert!(decode(&medium, PLACE, end - 8).is_none());
        let generation = 4;
        let later = Place {
            generation,
            ..PLACE
        };
        assert!(decode(&medium, later, end).is_none());
        medium.store(PLACE.offset + 4096, bytemuck::cast_slice(&words));
        let offset = PLACE.offset + 4096;
        assert!(decode(&medium, Place { offset, ..PLACE }, 1 << 14).is_none());
        for at in (PLACE.offset..end).step_by(8) {
            let word = medium.load_word(at);
            medium.store_word(at, word ^ 1 << 40);
            assert!(decode(&medium, PLACE, 1 << 14).is_none(), "byte {at}");
            medium.store_word(at, word);
        }
    }

    #[test]
    fn lines_outside_the_pool_are_refused() {
        let medium = filled();
        for run in [
            [1 << 14, 64],
            [u64::MAX - 63, 64],
            [32, 64],
            [0, 32],
            [0, 128],
        ] {
            let words = [&run[..], &[0; 8]].concat();
            assert!(replay(&medium, &words).is_err(), "{run:?}");
        }
    }
}
