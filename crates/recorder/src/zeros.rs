//! Which pages hold nothing but zeros.
//!
//! The kernel frees such a page without a write, and fills it again without a read (Linux 6.12, `mm/page_io.c`). A page
//! is looked at when a run of accesses to it has ended, whatever has changed it: most others are known by their
//! first line.

use std::mem::MaybeUninit;

use crate::guest::Running;
use crate::page::Page;

/// The pages of a process, as far as they are zeros.
#[derive(Debug, Default)]
pub struct Zeros(Running);

impl Zeros {
    /// Whether a page, named by its number, holds nothing but zeros; not where it is gone.
    #[inline]
    pub fn fill(&self, page: u64) -> bool {
        let guest = self.0.guest();
        let mut buffer = MaybeUninit::uninit();
        guest
            .line(page, 0, &mut buffer)
            .is_some_and(|line| line.as_flattened() == [0; 64])
            && is_zeros(guest.page(page, &mut MaybeUninit::uninit()))
    }
}

/// Whether all words are 0. Without a branch for each, so that it becomes a few wide instructions.
fn is_zeros(page: Option<&Page>) -> bool {
    page.is_some_and(|page| {
        page.iter()
            .fold(0, |bits, word| bits | u64::from_ne_bytes(*word))
            == 0
    })
}
