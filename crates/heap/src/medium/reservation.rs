//! Address space, and memory that is put there: all that this crate asks of mmap.
//!
//! Nothing here allocates, not even for an error: a program's global allocator may lie on it.

#[cfg(miri)]
mod interpreted;
#[cfg(not(miri))]
mod mapped;

#[cfg(miri)]
pub(crate) use interpreted::Reservation;
#[cfg(not(miri))]
pub(crate) use mapped::Reservation;

/// Bytes of a page: what memory is mapped by.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Reservations begin at a multiple of that, so that huge pages, of memory or of a file, fit.
pub(crate) const HUGE_BYTES: u64 = 2 << 20;
