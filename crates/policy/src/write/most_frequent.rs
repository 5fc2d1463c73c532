//! The most frequent words of a page.
//!
//! Counting each word in a table of words takes longer than a memory takes to be written. So words are
//! counted by a hash first: no word is more frequent than all words with its hash together. Only words
//! of the most frequent hashes are then counted themselves, until no other hash can hold a more
//! frequent one. In a page without frequent words that is none.

/// Bits of a hash.
const HASH_BITS: u32 = 10;
/// How many words are tried as the most frequent one before all are counted.
const GUESSES: usize = 4;

/// Counts of words by hash.
type Hashes = [u16; 1 << HASH_BITS];

/// A word of a page, as it lies in memory.
pub(super) trait Word: Copy + Ord {
    /// Returns its hash, of [`HASH_BITS`].
    fn hash(self) -> usize;
}

// The multiplier is 2^32 (2^64) divided by the golden ratio, as in Knuth's multiplicative hashing.
impl Word for [u8; 4] {
    fn hash(self) -> usize {
        let word = u32::from_le_bytes(self);
        (word.wrapping_mul(0x9E37_79B9) >> (32 - HASH_BITS)) as usize
    }
}

impl Word for [u8; 8] {
    fn hash(self) -> usize {
        let word = u64::from_le_bytes(self);
        (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_BITS)) as usize
    }
}

/// Returns the `number` most frequent words with their counts, the most frequent first, of equally
/// frequent ones those with the first hash. Returns none if all of them together cannot occur `least`
/// times.
pub(super) fn of<W: Word>(words: &[W], number: usize, least: usize) -> Vec<(W, usize)> {
    if let (1, Some(word)) = (number, majority(words)) {
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

/// Returns a word that makes up half of the page, with its count, if one of a few words from its
/// middle does. Counting one word is much faster than counting all by their hashes, the more so if most are
/// the same: each count then waits for the one before.
fn majority<W: Word>(words: &[W]) -> Option<(W, usize)> {
    let middle = &words[words.len() / 2..];
    let guesses = middle.iter().copied().take(GUESSES);
    let counted = guesses.map(|word| (word, count(words, word)));
    let mut counted = counted.filter(|(_, count)| 2 * count >= words.len());
    counted.next()
}

/// Counts a word.
fn count<W: Word>(words: &[W], word: W) -> usize {
    let same = words.iter().map(|other| u16::from(*other == word));
    usize::from(same.sum::<u16>())
}

/// Counts words by their hashes. Two tables take turns, so that equal words in a row wait less.
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
fn most_of(counts: &Hashes) -> (usize, usize) {
    let most = counts.iter().copied().max().unwrap_or_default();
    let hash = counts.iter().position(|count| *count == most);
    (hash.unwrap_or_default(), usize::from(most))
}

/// Appends the words with this hash, `number` in all, and their counts. Mostly it is one word alone, or
/// one with few others.
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
