//! A page of the recorded program, as words.

/// Bytes of a page.
pub const BYTES: usize = 1 << SHIFT;
/// The binary logarithm of the bytes of a page.
pub const SHIFT: u32 = 12;
/// Words of 8 bytes of a page.
pub const WORDS: usize = BYTES / 8;

/// The bytes of a page, word by word.
pub type Page = [[u8; 8]; WORDS];

/// Returns the checksum of a page's bytes: XXH3 of 64 bits without a seed.
pub fn checksum(page: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(page)
}

/// Calls `each` with the index and the bytes of each word in which `now` differs from `known`, which it makes
/// the same as `now`.
#[inline]
pub fn take_over(known: &mut Page, now: &Page, mut each: impl FnMut(usize, [u8; 8])) {
    let lines = known.as_chunks_mut::<8>().0.iter_mut();
    for (line, (known, now)) in lines.zip(now.as_chunks::<8>().0).enumerate() {
        if known == now {
            continue;
        }
        for (index, (known, now)) in (8 * line..).zip(known.iter_mut().zip(now)) {
            if known != now {
                *known = *now;
                each(index, *now);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_word_that_differs_is_told(
            before in prop::collection::vec((0..WORDS, any::<u64>()), 0..20),
            changes in prop::collection::vec((0..WORDS, 0..4_u64), 0..20),
        ) {
            let mut known = [[0; 8]; WORDS];
            before.iter().for_each(|(index, value)| known[*index] = value.to_le_bytes());
            let mut now = known;
            changes.iter().for_each(|(index, value)| now[*index] = value.to_le_bytes());
            let slow: Vec<_> = (0..WORDS)
                .filter(|&index| known[index] != now[index])
                .map(|index| (index, now[index]))
                .collect();
            let mut told = Vec::new();
            take_over(&mut known, &now, |index, bytes| told.push((index, bytes)));
            prop_assert_eq!(told, slow);
            prop_assert_eq!(known, now);
        }
    }
}
