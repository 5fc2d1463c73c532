//! The pages that a system call gives back to the kernel: what they held is gone, and a touch of
//! one finds zeros, or what a file has.
//!
//! A page of memory that is shared stays where the others are; here it counts as given back all the
//! same, because a mapping does not tell its kind.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::call::Call;
use crate::page::{BYTES, SHIFT};

/// Numbers of pages.
pub type Pages = Range<u64>;

/// All pages of a process.
pub const ALL: Pages = 0..1 << (48 - SHIFT);

/// The end of the heap of a process, as far as it is known; 0 before. A forked child inherits it.
#[derive(Debug, Default)]
pub struct Break(AtomicU64);

impl Break {
    /// Returns the pages that a call gave back that has returned this address, or the negative
    /// number of an error.
    pub fn given_back(&self, call: &Call, result: i64) -> [Pages; 2] {
        const NONE: Pages = 0..0;
        let Ok(result) = u64::try_from(result) else {
            return [NONE; 2];
        };
        match *call {
            Call::Unmap { start, bytes } | Call::Discard { start, bytes } => {
                [pages(start, bytes), NONE]
            }
            Call::Map { over, bytes, .. } => [over.map_or(NONE, |start| pages(start, bytes)), NONE],
            Call::Resize {
                start,
                old,
                new,
                over,
            } => {
                let kept = if result == start { new } else { 0 };
                let rest = pages(start.saturating_add(kept), old.saturating_sub(kept));
                [rest, over.map_or(NONE, |start| pages(start, new))]
            }
            Call::Break => {
                let before = self.0.swap(result, Ordering::Relaxed);
                [pages(result, before.saturating_sub(result)), NONE]
            }
        }
    }
}

/// Returns the pages that begin within `bytes` from `start` on. The kernel takes whole pages, from
/// the first byte of one; of a heap that ends within a page this page stays.
fn pages(start: u64, bytes: u64) -> Pages {
    let page = |address: u64| address.div_ceil(BYTES as u64);
    page(start)..page(start.saturating_add(bytes)).min(ALL.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = BYTES as u64;

    fn given_back(of: &Break, number: i64, arguments: [u64; 5], result: i64) -> Vec<u64> {
        let call = Call::of(number, arguments).unwrap();
        of.given_back(&call, result).into_iter().flatten().collect()
    }

    #[test]
    fn what_is_unmapped_or_mapped_over_is_given_back() {
        let of = Break::default();
        let unmap = [3 * PAGE, 2 * PAGE - 7, 0, 0, 0];
        assert_eq!(given_back(&of, libc::SYS_munmap, unmap, 0), [3, 4]);
        assert!(given_back(&of, libc::SYS_munmap, unmap, -22).is_empty());
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS) as u64;
        let map = |flags: u64| [5 * PAGE, PAGE, 3, flags, u64::MAX];
        let fixed = map(flags | libc::MAP_FIXED as u64);
        assert_eq!(given_back(&of, libc::SYS_mmap, fixed, 5 * 4096), [5]);
        assert!(given_back(&of, libc::SYS_mmap, map(flags), 5 * 4096).is_empty());
    }

    #[test]
    fn advice_gives_pages_back_or_does_not() {
        let of = Break::default();
        let advised = |advice: i32| {
            let arguments = [PAGE, PAGE, advice as u64, 0, 0];
            Call::of(libc::SYS_madvise, arguments).map(|call| of.given_back(&call, 0)[0].clone())
        };
        for advice in [libc::MADV_DONTNEED, libc::MADV_FREE, libc::MADV_REMOVE] {
            assert_eq!(advised(advice), Some(1..2), "{advice}");
        }
        assert_eq!(advised(libc::MADV_WILLNEED), None);
    }

    #[test]
    fn a_mapping_that_moves_or_shrinks_leaves_pages_behind() {
        let of = Break::default();
        let resize = |new: u64, flags: i32, to: u64, result: u64| {
            let arguments = [PAGE, 3 * PAGE, new, flags as u64, to];
            given_back(&of, libc::SYS_mremap, arguments, result as i64)
        };
        assert!(resize(5 * PAGE, 0, 0, PAGE).is_empty());
        assert_eq!(resize(PAGE, 0, 0, PAGE), [2, 3]);
        assert_eq!(
            resize(5 * PAGE, libc::MREMAP_MAYMOVE, 0, 9 * PAGE),
            [1, 2, 3]
        );
        let fixed = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        assert_eq!(resize(PAGE, fixed, 9 * PAGE, 9 * PAGE), [1, 2, 3, 9]);
    }

    #[test]
    fn a_heap_that_shrinks_gives_whole_pages_back() {
        let of = Break::default();
        let to = |end: u64| given_back(&of, libc::SYS_brk, [end, 0, 0, 0, 0], end as i64);
        assert!(
            to(10 * PAGE).is_empty(),
            "nothing is known of what was before"
        );
        assert!(to(14 * PAGE).is_empty());
        assert_eq!(to(11 * PAGE + 5), [12, 13]);
        assert!(to(11 * PAGE + 5).is_empty());
        assert_eq!(to(11 * PAGE), [11]);
    }
}
