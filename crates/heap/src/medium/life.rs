//! Tells the process that opened a pool from its children after a fork.
//!
//! A child has neither the locks of its parent's threads nor a lock of its own on the file, so it
//! must not touch the pool: the pool's pages are not mapped in a child (`MADV_DONTFORK`), and a
//! page that is zeros in a child (`MADV_WIPEONFORK`) tells that it is one, at the price of a load.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::reservation::{PAGE_BYTES, Reservation};

/// A page that holds 1 in the process that made it, and 0 in its children.
pub(super) struct Life(Reservation);

impl Life {
    /// Returns the page of this process.
    pub fn new() -> io::Result<Self> {
        let page = Reservation::new(PAGE_BYTES)?;
        page.map_anonymous(0..PAGE_BYTES)?;
        // SAFETY: the advice only affects children.
        unsafe { page.advise(0..PAGE_BYTES, libc::MADV_WIPEONFORK)? };
        let life = Self(page);
        life.word().store(1, Ordering::Relaxed);
        Ok(life)
    }

    /// Returns whether this process is a child of the one that made the page.
    #[inline]
    pub fn is_child(&self) -> bool {
        self.word().load(Ordering::Relaxed) == 0
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped as long as this lives, aligned, and changed only by this.
        unsafe { AtomicU64::from_ptr(self.0.base().cast()) }
    }
}
