//! The words of a pool: their bounds, and how bytes are stored in them.

use std::sync::atomic::{AtomicU64, Ordering};

use super::WORD_BYTES;

/// Panics if bytes do not lie within a pool.
#[inline]
pub(super) fn check(offset: u64, len: u64, pool: u64) {
    if offset.checked_add(len).is_none_or(|end| end > pool) {
        outside(offset, len, pool);
    }
}

/// Panics if words do not lie within a pool, or not on word boundaries.
#[inline]
pub(super) fn check_words(offset: u64, len: u64, pool: u64) {
    check(offset, len, pool);
    if !offset.is_multiple_of(WORD_BYTES) {
        unaligned(offset);
    }
}

/// Not inlined, with its arguments by value, so that they stay in registers at the call.
#[cold]
#[inline(never)]
fn outside(offset: u64, len: u64, pool: u64) -> ! {
    panic!("{len} bytes at {offset} of a pool of {pool}");
}

#[cold]
#[inline(never)]
fn unaligned(offset: u64) -> ! {
    panic!("no word begins at {offset}");
}

/// Returns a word of a pool.
///
/// # Safety
///
/// `base + offset` is aligned and lies in memory that lives as long as `'a` and is changed only by
/// atomic stores.
#[inline]
pub(super) unsafe fn word_at<'a>(base: *mut u8, offset: u64) -> &'a AtomicU64 {
    // SAFETY: promised by the caller.
    unsafe { AtomicU64::from_ptr(base.add(offset as usize).cast()) }
}

/// Stores bytes as words in ascending order; a short tail keeps the rest of its word.
///
/// # Safety
///
/// Same as [`word_at`] for each word in which the bytes lie.
#[inline]
pub(super) unsafe fn store_words(base: *mut u8, offset: u64, bytes: &[u8]) {
    let (whole, tail) = bytes.as_chunks::<8>();
    let mut at = offset;
    // Release keeps the compiler from changing the order; x86 never does, and needs no more.
    for word in whole {
        // SAFETY: promised by the caller.
        unsafe { word_at(base, at) }.store(u64::from_ne_bytes(*word), Ordering::Release);
        at += WORD_BYTES;
    }
    if !tail.is_empty() {
        // SAFETY: promised by the caller.
        let last = unsafe { word_at(base, at) };
        let mut word = last.load(Ordering::Relaxed).to_ne_bytes();
        word[..tail.len()].copy_from_slice(tail);
        last.store(u64::from_ne_bytes(word), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_stored_is_what_copying_byte_by_byte_gives(
            word in 0usize..20,
            bytes in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut fast = [0x5a5a_5a5a_5a5a_5a5a_u64; 64];
            let mut slow = [0x5a_u8; 512];
            for (i, byte) in bytes.iter().enumerate() {
                slow[word * 8 + i] = *byte;
            }
            // SAFETY: it ends before byte 20 * 8 + 200.
            unsafe { store_words(fast.as_mut_ptr().cast(), word as u64 * 8, &bytes) };
            prop_assert_eq!(fast.map(u64::to_ne_bytes).concat(), slow);
        }
    }
}
