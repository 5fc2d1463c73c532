//! Which pages hold nothing but zeros.
//!
//! The kernel frees such a page without a write, and fills it again without a read (Linux 6.12,
//! `mm/page_io.c`). A page is looked at when a run of accesses to it has ended, whatever has
//! changed it: most others are known by the word that the run began with, which the processor's
//! cache has, or by their first line.

use std::mem::MaybeUninit;

use crate::guest::{Guest, Running};
use crate::page::{Page, SHIFT};

/// The pages of a process, as far as they are zeros.
#[derive(Debug, Default)]
pub struct Zeros(Running);

impl Zeros {
    /// Whether the page of an address, which was accessed, holds nothing but zeros; not where it is
    /// gone.
    #[inline]
    pub fn fill_page_of(&self, address: u64) -> bool {
        let guest = self.0.guest();
        guest.word(address) == Some(0) && Self::fill(guest, address >> SHIFT)
    }

    /// Whether a page holds nothing but zeros.
    fn fill(guest: &Guest, page: u64) -> bool {
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
