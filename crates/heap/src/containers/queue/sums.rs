//! The checksums of a queue whose pool has them: of its head, of segments, and of elements.

use crate::checksum::Checksum;

use super::layout::{ANY, HEAD_WORDS};

/// The half of a word of the head that is the bytes of an element; the other half is the check.
const LOWER: u64 = u32::MAX as u64;

/// Returns the bytes of an element, by a word of the head with the check.
pub(super) fn bytes_of(word: u64) -> u64 {
    match word & LOWER {
        LOWER => ANY,
        bytes => bytes,
    }
}

/// Returns the word of the head with the bytes of an element and the check of all words.
pub(super) fn head_check(at: u64, head: &[u64]) -> u64 {
    let mut sum = Checksum::new(at);
    let bytes = head[1] & LOWER;
    [head[0], bytes]
        .into_iter()
        .chain(head[2..HEAD_WORDS].iter().copied())
        .for_each(|word| sum.word(word));
    bytes | sum.finish() << 32
}

/// Puts the check into a new head at an offset, with the words behind it.
pub(super) fn sealed(at: u64, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    words[1] = head_check(at, &words);
    words
}

/// Returns the check of an element of these parts at an offset.
pub(super) fn element_check(at: u64, parts: &[&[u8]]) -> u64 {
    let mut sum = Checksum::new(at);
    parts.iter().for_each(|part| sum.bytes(part));
    sum.finish()
}
