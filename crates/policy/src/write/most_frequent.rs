//! The most frequent words of a page.
//!
//! Counting each word in a table of words takes longer than a memory takes to be written. So words are
//! counted by a hash first: no word is more frequent than all words with its hash together. Only words
//! of the most frequent hashes are then counted themselves, until no other hash can hold a more
//! frequent one. In a page without frequent words that is none.

/// Bits of a hash.
const HASH_BITS: u32 = 10;

/// A word of a page.
pub(super) trait Word<const BYTES: usize>: Copy + Ord + Send + Sync {
    /// Reads a word.
    fn of(bytes: [u8; BYTES]) -> Self;
    /// Returns it as it lies in memory.
    fn bytes(self) -> [u8; BYTES];
    /// Returns its hash, of [`HASH_BITS`].
    fn hash(self) -> usize;
}

// The multiplier is 2^32 (2^64) divided by the golden ratio, as in Knuth's multiplicative hashing.
impl Word<4> for u32 {
    fn of(bytes: [u8; 4]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn bytes(self) -> [u8; 4] {
        self.to_le_bytes()
    }

    fn hash(self) -> usize {
        (self.wrapping_mul(0x9E37_79B9) >> (32 - HASH_BITS)) as usize
    }
}

impl Word<8> for u64 {
    fn of(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn hash(self) -> usize {
        (self.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - HASH_BITS)) as usize
    }
}

/// Returns the `number` most frequent words with their counts, the most frequent first, of equally
/// frequent ones those with the first hash. Returns none if all of them together cannot occur `least`
/// times.
pub(super) fn of<W: Word<BYTES>, const BYTES: usize>(
    words: &[[u8; BYTES]],
    number: usize,
    least: usize,
) -> Vec<(W, usize)> {
    let mut hashes = count_hashes::<W, BYTES>(words);
    let mut found: Vec<(W, usize)> = Vec::new();
    loop {
        let (hash, most) = most_of(&hashes);
        let worst = found.get(number - 1).map_or(0, |(_, count)| *count);
        if most <= worst || (found.is_empty() && number * most < least) {
            return found;
        }
        count_words(words, hash, &mut found);
        found.sort_unstable_by(|(a, frequent), (b, other)| other.cmp(frequent).then(a.cmp(b)));
        found.truncate(number);
        hashes[hash] = 0;
    }
}

/// Counts words by their hashes.
fn count_hashes<W: Word<BYTES>, const BYTES: usize>(
    words: &[[u8; BYTES]],
) -> [u16; 1 << HASH_BITS] {
    let mut counts = [0; 1 << HASH_BITS];
    for bytes in words {
        counts[W::of(*bytes).hash()] += 1;
    }
    counts
}

/// Returns the most frequent hash and its count.
fn most_of(counts: &[u16; 1 << HASH_BITS]) -> (usize, usize) {
    let most = counts.iter().copied().max().unwrap_or_default();
    let hash = counts.iter().position(|count| *count == most);
    (hash.unwrap_or_default(), usize::from(most))
}

/// Appends the words with this hash, and their counts.
fn count_words<W: Word<BYTES>, const BYTES: usize>(
    words: &[[u8; BYTES]],
    hash: usize,
    found: &mut Vec<(W, usize)>,
) {
    let words = words.iter().map(|bytes| W::of(*bytes));
    let mut same: Vec<W> = words.filter(|word| word.hash() == hash).collect();
    same.sort_unstable();
    let runs = same.chunk_by(|a, b| a == b);
    found.extend(runs.map(|run| (run[0], run.len())));
}
