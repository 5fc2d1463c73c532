//! How the pages of a mapping are requested from the kernel.

use std::io;

use super::available::available;
use super::folios;
use crate::medium::reservation::PAGE_BYTES;

/// When the pages of a mapping get frames, and how many at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backing {
    /// Each page at its first touch, as the kernel does by default: the paper's JIT.
    #[default]
    OnTouch,
    /// Several pages together, before the first of them is used, while enough memory is available:
    /// the paper's CAA.
    Batches {
        /// Pages of a batch: 4 and 16 in the paper.
        pages: u32,
        /// The watermarks of available memory at which batches stop.
        watermarks: Watermarks,
    },
    /// Huge pages, where the kernel has some.
    Huge,
}

/// Bytes of available memory below which contiguity costs too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Below this, only capacity gets batches.
    pub high: u64,
    /// Below this, nothing gets batches.
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

    /// Returns whether a purpose gets batches with this much available memory.
    fn allow(self, purpose: Purpose, available: u64) -> bool {
        available
            >= match purpose {
                Purpose::Persistence => self.high,
                Purpose::Capacity => self.low,
            }
    }
}

/// The purpose of memory. Persistent memory (`NVMPersist`), which flushes, is the first to get no
/// batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Objects that survive.
    Persistence,
    /// Memory that is gone when it is closed.
    Capacity,
}

impl Backing {
    /// Returns batches of `pages` pages with the default watermarks.
    pub const fn batches(pages: u32) -> Self {
        Self::Batches {
            pages,
            watermarks: Watermarks::DEFAULT,
        }
    }

    /// Advises the kernel once about a new mapping.
    ///
    /// # Errors
    ///
    /// The kernel has no huge pages for the mapping.
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

    /// Turns existing pages into huge ones, which copies them, as far as the kernel can; the others
    /// stay as they are.
    ///
    /// # Safety
    ///
    /// Same as [`Backing::apply`].
    pub(crate) unsafe fn collapse(self, base: *mut u8, len: u64) {
        if self == Self::Huge {
            // SAFETY: the caller's; what is there does not change.
            let _ = unsafe { advise(base, len, libc::MADV_COLLAPSE) };
        }
    }

    /// Announces the first use of bytes of a mapping of `len` bytes, from `offset` on: populates
    /// them, each batch in one call.
    ///
    /// # Safety
    ///
    /// Same as [`Backing::apply`], and the mapping can be written.
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
            // SAFETY: the caller's. Where it fails, pages get frames when they are touched.
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
            let mut pages = [0u8; 10];
            // SAFETY: all of the pool, and a byte for each of its pages.
            let done = unsafe {
                libc::mincore(pool.base().cast(), pool.len() as usize, pages.as_mut_ptr())
            };
            assert_eq!(done, 0);
            pages
                .map(|page| if page & 1 == 1 { '#' } else { '.' })
                .iter()
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
