//! Reservations: address space, and memory mapped into it. All uses of mmap in this crate.
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

/// Bytes of a page, the unit of mappings.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Bytes of a huge page. Reservations begin at a multiple of them, so that huge pages of memory or
/// of a file fit.
pub(crate) const HUGE_BYTES: u64 = 2 << 20;
