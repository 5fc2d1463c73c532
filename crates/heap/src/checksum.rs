//! The checksum of the format: words folded by 128-bit multiplication, as in wyhash.
//!
//! It tells torn contents from whole ones; it does not protect against forgery.

/// An odd constant with as many ones as zeros (the fraction of the golden ratio).
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A checksum of the words added so far.
#[derive(Clone, Copy)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// Begins a checksum. Contents at different offsets get different seeds, usually the
    /// offset.
    #[inline]
    pub fn new(seed: u64) -> Self {
        Self(fold(seed ^ 0xd6e8_feb8_6659_fd93))
    }

    #[inline]
    pub fn word(&mut self, word: u64) {
        self.0 = fold(self.0.rotate_left(29) ^ word);
    }

    /// Adds bytes as words, the last one filled with zeros.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.word(padded(rest));
        }
    }

    #[inline]
    pub fn finish(self) -> u64 {
        fold(self.0 ^ FACTOR)
    }
}

/// Returns the checksum of these words.
#[inline]
pub(crate) fn checksum(seed: u64, words: &[u64]) -> u64 {
    let mut sum = Checksum::new(seed);
    words.iter().for_each(|&word| sum.word(word));
    sum.finish()
}

/// Returns at most 8 bytes as a word, filled with zeros.
#[inline]
pub(crate) fn padded(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(word)
}

#[inline]
fn fold(word: u64) -> u64 {
    let product = u128::from(word) * u128::from(FACTOR);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_every_word_matters() {
        let words: Vec<u64> = (0..18).map(|i| i * 77).collect();
        let whole = checksum(1, &words);
        assert_ne!(whole, checksum(2, &words));
        for bit in 0..words.len() * 64 {
            let mut other = words.clone();
            other[bit / 64] ^= 1 << (bit % 64);
            let sum = checksum(1, &other);
            assert_ne!(sum as u32, whole as u32, "bit {bit}");
            assert_ne!(sum >> 32, whole >> 32, "bit {bit}");
        }
    }

    #[test]
    fn bytes_are_words_filled_with_zeros() {
        let mut sum = Checksum::new(3);
        sum.bytes(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 1]);
        assert_eq!(sum.finish(), checksum(3, &[1, 258]));
    }
}
