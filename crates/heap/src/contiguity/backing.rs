//! What a mapping's pages are asked of the kernel.

use std::io;

use super::available::available;
use super::folios;
use crate::medium::reservation::PAGE_BYTES;

/// When, and how many at a time, the pages of a mapping get frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backing {
    /// Each page when it is first touched, as the kernel does it: the paper's JIT.
    #[default]
    OnTouch,
    /// So many pages together, before the first of them is used: the paper's CAA. As long as there
    /// is memory enough.
    Batches {
        /// Pages of a batch: 4 and 16 in the paper.
        pages: u32,
        /// When to stop.
        watermarks: Watermarks,
    },
    /// Huge pages, where there are some.
    Huge,
}

/// Bytes of available memory below which contiguity costs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Below, batches are for capacity only.
    pub high: u64,
    /// Below, there are none.
    pub low: u64,
}

impl Default for Watermarks {
    /// 512 MiB and 256 MiB; the paper gives no figures.
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Watermarks {
    const DEFAULT: Self = Self {
        high: 512 << 20,
        low: 256 << 20,
    };

    /// Whether there are batches for a purpose with so much available memory.
    fn allow(self, purpose: Purpose, available: u64) -> bool {
        available
            >= match purpose {
                Purpose::Persistence => self.high,
                Purpose::Capacity => self.low,
            }
    }
}

/// What memory is for: the one that is denied batches first is the one that flushes (`NVMPersist`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Objects that survive.
    Persistence,
    /// Memory that is gone when it is closed.
    Capacity,
}

impl Backing {
    /// Batches of so many pages, with the default watermarks.
    pub const fn batches(pages: u32) -> Self {
        Self::Batches {
            pages,
            watermarks: Watermarks::DEFAULT,
        }
    }

    /// Says once for a mapping what it is to be made of.
    ///
    /// # Errors
    ///
    /// The kernel has no huge pages for it.
    ///
    /// # Safety
    ///
    /// `len` bytes from `base`, both multiples of a page, are mapped.
    pub(crate) unsafe fn apply(self, base: *mut u8, len: u64) -> io::Result<()> {
        let asks = match self {
            Self::OnTouch => false,
            Self::Batches { pages, .. } => folios::enabled(pages),
            Self::Huge => true,
        };
        if !asks {
            return Ok(());
        }
        // SAFETY: the caller's; what is there does not change.
        unsafe { advise(base, len, libc::MADV_HUGEPAGE) }
    }

    /// Makes pages that are there already huge, as far as the kernel can; the others stay as they
    /// are. That copies them.
    ///
    /// # Safety
    ///
    /// As [`Backing::apply`].
    pub(crate) unsafe fn collapse(self, base: *mut u8, len: u64) {
        if self == Self::Huge {
            // SAFETY: the caller's; what is there does not change.
            let _ = unsafe { advise(base, len, libc::MADV_COLLAPSE) };
        }
    }

    /// Bytes of a mapping of `len` are going to be used, from `offset` on, for the first time for
    /// all that is known: has them populated, each batch in one call.
    ///
    /// # Safety
    ///
    /// As [`Backing::apply`], and it can be written.
    pub(crate) unsafe fn prepare(
        self,
        base: *mut u8,
        len: u64,
        range: (u64, u64),
        purpose: Purpose,
    ) {
        let Self::Batches { pages, watermarks } = self else {
            return;
        };
        let batch = u64::from(pages.max(1)) * PAGE_BYTES;
        let (offset, bytes) = range;
        let mut at = offset / batch * batch;
        while at < (offset + bytes).min(len) {
            if !watermarks.allow(purpose, available()) {
                return;
            }
            let end = (at + batch).min(len);
            // SAFETY: the caller's. Where it fails, pages come when they are touched.
            unsafe {
                let _ = advise(base.add(at as usize), end - at, libc::MADV_POPULATE_WRITE);
            }
            at = end;
        }
    }
}

/// # Safety
///
/// The range is mapped, and the advice does not change what is there.
unsafe fn advise(base: *mut u8, len: u64, advice: i32) -> io::Result<()> {
    // SAFETY: the caller's.
    match unsafe { libc::madvise(base.cast(), len as usize, advice) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contiguity::frames::present;
    use crate::medium::{Mapped, Medium};

    #[test]
    fn persistence_loses_its_batches_before_capacity_does() {
        let marks = Watermarks {
            high: 200,
            low: 100,
        };
        let allowed = |available| {
            [Purpose::Persistence, Purpose::Capacity].map(|purpose| marks.allow(purpose, available))
        };
        assert_eq!(allowed(200), [true, true]);
        assert_eq!(allowed(199), [false, true]);
        assert_eq!(allowed(99), [false, false]);
    }

    #[test]
    fn whole_batches_are_populated_within_the_mapping() {
        let pool = Mapped::anonymous(10 * PAGE_BYTES).unwrap();
        let prepare = |backing: Backing, offset: u64, bytes: u64| {
            // SAFETY: all of the pool.
            unsafe { backing.prepare(pool.base(), pool.len(), (offset, bytes), Purpose::Capacity) };
            let all = present(pool.base(), pool.len()).unwrap();
            all.iter()
                .map(|&there| if there { '#' } else { '.' })
                .collect::<String>()
        };
        let none = Watermarks {
            high: u64::MAX,
            low: u64::MAX,
        };
        assert_eq!(prepare(Backing::OnTouch, 0, 4096), "..........");
        let denied = Backing::Batches {
            pages: 4,
            watermarks: none,
        };
        assert_eq!(prepare(denied, 0, 4096), "..........");
        assert_eq!(prepare(Backing::batches(4), 5 * 4096, 1), "....####..");
        assert_eq!(prepare(Backing::batches(4), 9 * 4096, 4096), "....######");
        assert_eq!(prepare(Backing::batches(2), 0, 3 * 4096), "##########");
    }
}
