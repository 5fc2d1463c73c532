//! Entries with keys and values of any length, equal to those of the peers.

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
const KEY_WORDS: usize = 5;
const VALUE_WORDS: usize = 50;

/// A key of 8 to 40 bytes and a value of 20 to 400.
pub struct Pair {
    key: [u8; 8 * KEY_WORDS],
    key_len: usize,
    value: [u8; 8 * VALUE_WORDS],
    value_len: usize,
}

impl Pair {
    /// Returns the entry of an index. No two keys are alike: their first words are not.
    pub fn of(index: u64) -> Self {
        let mut state = 88_172_645_463_325_252 ^ (index + 1).wrapping_mul(MIX);
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let words: [u64; KEY_WORDS] = std::array::from_fn(|_| next());
        let lengths = next();
        let mut pair = Self {
            key: [0; 8 * KEY_WORDS],
            key_len: 8 + (lengths as u32 % 33) as usize,
            value: [0; 8 * VALUE_WORDS],
            value_len: 20 + ((lengths >> 32) % 381) as usize,
        };
        for (bytes, word) in pair.key.chunks_exact_mut(8).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let filled = pair.value_len.next_multiple_of(8);
        for (place, bytes) in (1..).zip(pair.value[..filled].chunks_exact_mut(8)) {
            let word = words[0] ^ MIX.wrapping_mul(place);
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        pair
    }

    pub fn key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    pub fn value(&self) -> &[u8] {
        &self.value[..self.value_len]
    }
}

/// Returns the sum of an entry's words and lengths, which shows that all peers read the same.
pub fn sum_of(key: &[u8], value: &[u8]) -> u64 {
    let lengths = key.len() as u64 + ((value.len() as u64) << 32);
    lengths.wrapping_add(sum(key)).wrapping_add(sum(value))
}

fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    words.iter().fold(u64::from_le_bytes(last), |sum, word| {
        sum.wrapping_add(u64::from_le_bytes(*word))
    })
}
