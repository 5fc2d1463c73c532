//! Whether this process is the one that opened a pool, after a fork.
//!
//! A child has neither the locks of its parent's threads nor a lock on the file of its own, so it
//! must not touch the pool: the pool's pages are not there in a child (`MADV_DONTFORK`), and a page
//! that is zeros in a child (`MADV_WIPEONFORK`) says so, at the price of a load.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use super::reservation::{PAGE_BYTES, Reservation};

/// A page that says 1 in the process that made it, and 0 in its children.
pub(super) struct Life(Reservation);

impl Life {
    /// Of this process.
    pub fn new() -> io::Result<Self> {
        let page = Reservation::new(PAGE_BYTES)?;
        page.map_anonymous(0..PAGE_BYTES)?;
        // SAFETY: what is taken away is taken from children.
        unsafe { page.advise(0..PAGE_BYTES, libc::MADV_WIPEONFORK)? };
        let life = Self(page);
        life.word().store(1, Ordering::Relaxed);
        Ok(life)
    }

    /// Whether this is a child of the process that made it.
    #[inline]
    pub fn is_child(&self) -> bool {
        self.word().load(Ordering::Relaxed) == 0
    }

    #[inline]
    fn word(&self) -> &AtomicU64 {
        // SAFETY: the page is mapped as long as this lives, aligned, and changed only so.
        unsafe { AtomicU64::from_ptr(self.0.base().cast()) }
    }
}
