//! A page of the recorded program, as words.

/// Bytes of a page.
pub const BYTES: usize = 1 << SHIFT;
/// The binary logarithm of the bytes of a page.
pub const SHIFT: u32 = 12;
/// Words of 8 bytes of a page.
pub const WORDS: usize = BYTES / 8;

/// Bytes of a line, a 64th of a page.
pub const LINE: usize = BYTES / 64;

/// Words of a line.
const LINE_WORDS: usize = LINE / 8;

/// The bytes of a word.
pub type Word = [u8; 8];
/// The bytes of a line, word by word.
pub type Line = [[u8; 8]; LINE_WORDS];
/// The bytes of a page, word by word.
pub type Page = [[u8; 8]; WORDS];

/// Returns the checksum of a page's bytes: XXH3 of 64 bits without a seed.
pub fn checksum(page: &[u8]) -> u64 {
    twox_hash::XxHash3_64::oneshot(page)
}

/// Calls `each` with the index and the bytes of each word in which `now` differs from `known`,
/// which it makes the same as `now`.
#[inline]
pub fn take_over(known: &mut Page, now: &Page, mut each: impl FnMut(usize, [u8; 8])) {
    for line in 0..BYTES / LINE {
        let at = line * LINE_WORDS..(line + 1) * LINE_WORDS;
        let (Ok(known), Ok(now)) = ((&mut known[at.clone()]).try_into(), (&now[at]).try_into())
        else {
            return;
        };
        take_line_over(line, known, now, &mut each);
    }
}

/// Does the same as [`take_over`] for one line.
#[inline]
pub fn take_line_over(
    line: usize,
    known: &mut Line,
    now: &Line,
    each: &mut impl FnMut(usize, [u8; 8]),
) {
    // Without a branch for each word, so that it becomes a few wide instructions; a call of memcmp
    // took ten times as long.
    let words = known.iter().zip(now);
    let differing = words.fold(0, |bits, (known, now)| {
        bits | u64::from_ne_bytes(*known) ^ u64::from_ne_bytes(*now)
    });
    if differing == 0 {
        return;
    }
    for (index, (known, now)) in (LINE_WORDS * line..).zip(known.iter_mut().zip(now)) {
        if known != now {
            *known = *now;
            each(index, *now);
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
