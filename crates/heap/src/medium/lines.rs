//! The cache lines of a range of bytes: plain arithmetic, used by every flush.

use std::ops::Range;

use super::LINE_BYTES;

/// Returns the numbers of the cache lines in which `len` bytes at `offset` lie; none for no bytes.
///
/// The end of the range must not be more than 2^64 - 1.
#[inline]
pub fn lines(offset: u64, len: u64) -> Range<u64> {
    pieces(offset, len, LINE_BYTES)
}

/// Returns the numbers of the pieces of `size` bytes in which `len` bytes at `offset` lie.
#[inline]
pub(super) fn pieces(offset: u64, len: u64, size: u64) -> Range<u64> {
    if len == 0 {
        return 0..0;
    }
    offset / size..(offset + len).div_ceil(size)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Byte by byte.
    fn slow(offset: u64, len: u64, size: u64) -> BTreeSet<u64> {
        (0..len).map(|i| (offset + i) / size).collect()
    }

    proptest! {
        #[test]
        fn every_byte_lies_in_a_line_and_every_line_has_a_byte(offset in 0u64..9000, len in 0u64..9000) {
            for size in [64, 512, 4096] {
                let fast: BTreeSet<u64> = pieces(offset, len, size).collect();
                prop_assert_eq!(fast, slow(offset, len, size));
            }
        }

        #[test]
        fn near_the_end_of_what_can_be_addressed_too(back in 0u64..300, len in 0u64..300) {
            let offset = u64::MAX - back.max(len);
            let fast: BTreeSet<u64> = lines(offset, len).collect();
            prop_assert_eq!(fast, slow(offset, len, LINE_BYTES));
        }
    }

    /// Corundum 0.4.1 rounded the beginning down to 512 bytes and missed the last line.
    #[test]
    fn one_byte_past_a_line_is_another_line() {
        assert_eq!(lines(64, 64), 1..2);
        assert_eq!(lines(64, 65), 1..3);
        assert_eq!(lines(127, 2), 1..3);
        assert_eq!(lines(600, 0), 0..0);
    }
}
