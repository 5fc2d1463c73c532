//! Pages that were changed while a copy of the pool is made.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

/// Bytes of a page whose change is noted.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// The pages of a pool that were flushed since noting has begun.
#[derive(Default)]
pub(super) struct Noted {
    active: AtomicBool,
    /// A bit for each page.
    pages: RwLock<Box<[AtomicU64]>>,
}

impl Noted {
    /// Notes changes of the first `len` bytes from now on. The caller holds all lanes.
    pub fn begin(&self, len: u64) {
        let words = len.div_ceil(PAGE_BYTES).div_ceil(64);
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        *pages = (0..words).map(|_| AtomicU64::new(0)).collect();
        self.active.store(true, Ordering::Release);
    }

    /// Notes nothing any more.
    pub fn end(&self) {
        self.active.store(false, Ordering::Release);
        *self.pages.write().unwrap_or_else(PoisonError::into_inner) = Box::default();
    }

    /// Notes that bytes are flushed, if changes are noted.
    #[inline]
    pub fn flushed(&self, offset: u64, len: u64) {
        if self.active.load(Ordering::Relaxed) {
            self.note(offset, len);
        }
    }

    #[cold]
    fn note(&self, offset: u64, len: u64) {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let end = offset.saturating_add(len).div_ceil(PAGE_BYTES);
        for page in offset / PAGE_BYTES..end {
            // Pages behind the noted ones are copied in any case.
            if let Some(word) = pages.get((page / 64) as usize) {
                word.fetch_or(1 << (page % 64), Ordering::AcqRel);
            }
        }
    }

    /// Returns the pages that were noted since the last call.
    pub fn take(&self) -> Vec<u64> {
        let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
        let mut taken = Vec::new();
        for (word, first) in pages.iter().zip((0..).step_by(64)) {
            let mut bits = word.swap(0, Ordering::AcqRel);
            while bits != 0 {
                taken.push(first + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        taken
    }
}
