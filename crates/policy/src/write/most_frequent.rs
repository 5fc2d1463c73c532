//! The most frequent words of a page.
//!
//! Counting each word in a table of words takes longer than a memory takes to be written. So words
//! are counted by a hash first: no word is more frequent than all words with its hash together.
//! Only words of the most frequent hashes are then counted themselves, until no other hash can hold
//! a more frequent one. In a page without frequent words that is none.
//!
//! Counting by hashes is slow where one word is frequent: each count then waits for the one before.
//! If only one word is asked for, and a guess makes up a third of the page, no other word can be
//! more frequent unless it makes up more than half of the rest, and that is found by a vote.

// The parts of `search` are inlined always: only so is each compiled for the processor that `of`
// has found.

use std::ops::{BitAnd, BitOr, Not};

/// Bits of a hash.
const HASH_BITS: u32 = 10;
/// How many words are tried as the most frequent one before all are counted.
const GUESSES: usize = 4;
/// Votes that are taken side by side.
const LANES: usize = 16;

/// Counts of words by hash.
type Hashes = [u16; 1 << HASH_BITS];

/// A word of a page, as it lies in memory.
pub(super) trait Word: Copy + Ord {
    /// A number of its size.
    type Number: Copy
        + Eq
        + BitAnd<Output = Self::Number>
        + BitOr<Output = Self::Number>
        + Not<Output = Self::Number>;

    /// Returns it as a number, which processors compare several of at once.
    fn number(self) -> Self::Number;

    /// Returns all bits set, or none.
    fn mask(set: bool) -> Self::Number;

    /// Returns the word that is this number.
    fn of(number: Self::Number) -> Self;

    /// Returns its hash, of [`HASH_BITS`].
    fn hash(self) -> usize;
}

// The multiplier is 2^32 (2^64) divided by the golden ratio, as in Knuth's multiplicative hashing.
impl Word for [u8; 4] {
    type Number = u32;

    fn number(self) -> u32 {
        u32::from_le_bytes(self)
    }

    fn mask(set: bool) -> u32 {
        u32::from(set).wrapping_neg()
    }

    fn of(number: u32) -> Self {
        number.to_le_bytes()
    }

    fn hash(self) -> usize {
        let word = u32::from_le_bytes(self);
        (word.wrapping_mul(0x9E37_79B9) >> (32 - HASH_BITS)) as usize
    }
}

impl Word for [u8; 8] {
    type Number = u64;

    fn number(self) -> u64 {
        u64::from_le_bytes(self)
    }

    fn mask(set: bool) -> u64 {
        u64::from(set).wrapping_neg()
    }

    fn of(number: u64) -> Self {
        number.to_le_bytes()
    }

    fn hash(self) -> usize {
        let word = u64::from_le_bytes(self);
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_BITS)) as usize
    }
}

/// Returns the `number` most frequent words with their counts, the most frequent first; of equally
/// frequent ones any. Returns none if all of them together cannot occur `least` times.
pub(super) fn of<W: Word>(words: &[W], number: usize, least: usize) -> Vec<(W, usize)> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { of_by_avx2(words, number, least) };
    }
    search(words, number, least)
}

/// [`search`], compiled for processors that compare 32 bytes at once.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn of_by_avx2<W: Word>(words: &[W], number: usize, least: usize) -> Vec<(W, usize)> {
    search(words, number, least)
}

/// Does what [`of`] says.
#[inline(always)]
fn search<W: Word>(words: &[W], number: usize, least: usize) -> Vec<(W, usize)> {
    if let (1, Some(word)) = (number, dominant(words)) {
        return vec![word];
    }
    let mut hashes = count_hashes(words);
    let mut found: Vec<(W, usize)> = Vec::new();
    loop {
        let (hash, most) = most_of(&hashes);
        let worst = found.get(number - 1).map_or(0, |(_, count)| *count);
        if most <= worst || (found.is_empty() && number * most < least) {
            return found;
        }
        count_words(words, hash, most, &mut found);
        found.sort_unstable_by(|(a, frequent), (b, other)| other.cmp(frequent).then(a.cmp(b)));
        found.truncate(number);
        hashes[hash] = 0;
    }
}

/// Returns the most frequent word with its count, if one of a few words from the middle of the page
/// makes up a third of it.
#[inline(always)]
fn dominant<W: Word>(words: &[W]) -> Option<(W, usize)> {
    let middle = &words[words.len() / 2..];
    let guesses = middle.iter().copied().take(GUESSES);
    let mut counted = guesses.map(|word| (word, count(words, word)));
    let (word, number) = counted.find(|(_, count)| 3 * count >= words.len())?;
    if 2 * number >= words.len() {
        return Some((word, number));
    }
    let other = vote(words, word);
    let others = count(words, other);
    Some(match others > number {
        true => (other, others),
        false => (word, number),
    })
}

/// Returns the word that makes up more than half of those that are not `but`; any word if none
/// does. Boyer and Moore, "MJRTY: a fast majority vote algorithm", 1991: a word is for the one that
/// leads, or against it, and a new one leads where no votes are left. What makes up more than half
/// of all does so in a lane, and its votes there outweigh those of the others.
#[inline(always)]
fn vote<W: Word>(words: &[W], but: W) -> W {
    let but = but.number();
    let (mut leads, mut votes) = ([but; LANES], [0_i32; LANES]);
    let (rows, _) = words.as_chunks::<LANES>();
    for row in rows {
        // By masks: a branch for each word takes 25 times as long.
        for lane in 0..LANES {
            let word = row[lane].number();
            let none_left = W::mask(votes[lane] == 0);
            let lead = word & none_left | leads[lane] & !none_left;
            let vote = 2 * i32::from(word == lead) - 1;
            votes[lane] += vote & -i32::from(word != but);
            leads[lane] = lead;
        }
    }
    let lanes = leads.into_iter().zip(votes);
    let (lead, _) = lanes.fold((but, 0), |(lead, votes), (other, against)| {
        match (other == lead, against > votes) {
            (true, _) => (lead, votes + against),
            (false, true) => (other, against - votes),
            (false, false) => (lead, votes - against),
        }
    });
    W::of(lead)
}

/// Counts a word.
#[inline(always)]
fn count<W: Word>(words: &[W], word: W) -> usize {
    let same = words.iter().map(|other| u16::from(*other == word));
    usize::from(same.sum::<u16>())
}

/// Counts words by their hashes. Two tables take turns, so that equal words in a row wait less.
#[inline(always)]
fn count_hashes<W: Word>(words: &[W]) -> Hashes {
    let mut counts = [0; 1 << HASH_BITS];
    let mut others = counts;
    let (pairs, _) = words.as_chunks::<2>();
    for [even, odd] in pairs {
        counts[even.hash()] += 1;
        others[odd.hash()] += 1;
    }
    for (count, other) in counts.iter_mut().zip(others) {
        *count += other;
    }
    counts
}

/// Returns the most frequent hash and its count.
#[inline(always)]
fn most_of(counts: &Hashes) -> (usize, usize) {
    let most = counts.iter().copied().max().unwrap_or_default();
    let hash = counts.iter().position(|count| *count == most);
    (hash.unwrap_or_default(), usize::from(most))
}

/// Appends the words with this hash, `number` in all, and their counts. Mostly it is one word
/// alone, or one with few others.
#[inline(always)]
fn count_words<W: Word>(words: &[W], hash: usize, number: usize, found: &mut Vec<(W, usize)>) {
    let Some(&first) = words.iter().find(|word| word.hash() == hash) else {
        return;
    };
    let firsts = count(words, first);
    found.push((first, firsts));
    if firsts < number {
        let is_other = |word: &W| (word.hash() == hash) & (*word != first);
        let mut others: Vec<W> = words.iter().copied().filter(is_other).collect();
        others.sort_unstable();
        let runs = others.chunk_by(|a, b| a == b);
        found.extend(runs.map(|run| (run[0], run.len())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Pages of two words that may be frequent, of some that occur more than once, and of others.
    fn words() -> impl Strategy<Value = Vec<[u8; 4]>> {
        let weights = [1..9_u32, 1..9, 1..3, 1..3];
        weights.prop_flat_map(|[first, second, some, others]| {
            let word = prop_oneof![
                first => Just(1_u32),
                second => Just(2_u32),
                some => 0..40_u32,
                others => any::<u32>(),
            ];
            prop::collection::vec(word.prop_map(u32::to_le_bytes), 1024)
        })
    }

    fn slow(words: &[[u8; 4]], number: usize) -> Vec<usize> {
        let mut counts = BTreeMap::new();
        words
            .iter()
            .for_each(|word| *counts.entry(word).or_insert(0) += 1);
        let mut counts: Vec<usize> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        counts.truncate(number);
        counts
    }

    proptest! {
        /// The processor of this test has only one of the two ways taken by `of`.
        #[test]
        fn every_processor_finds_the_same(words in words(), number in 1..=3_usize) {
            let found = of(&words, number, 1);
            prop_assert_eq!(&found, &search(&words, number, 1));
            let counts: Vec<usize> = found.iter().map(|(_, count)| *count).collect();
            prop_assert_eq!(counts, slow(&words, number));
            for (word, count) in found {
                prop_assert_eq!(words.iter().filter(|other| **other == word).count(), count);
            }
        }
    }
}
