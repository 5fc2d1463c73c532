//! Requesting contiguous frames for a mapping (Kannan 2013, section 4.1).
//!
//! The paper changes the kernel: at a page fault it reserves a batch of contiguous frames for the
//! program (contiguity-aware allocation, CAA-4 and CAA-16), so that two programs that share a cache
//! get in each other's way less than where each takes one frame at a time (JIT). What stock Linux
//! lets a program do instead:
//!
//! - *Ask, not choose.* [`Backing::Batches`] has a batch of pages populated in one call
//!   (`MADV_POPULATE_WRITE`) before the first of them is used. The kernel takes their frames one
//!   after the other from where it would anyway, single ones first, with less coming in between.
//!   Where its free memory is in pieces, so are the batches: on a machine that had been up for
//!   days, of two programs that take turns 0 % of the pages were followed by the next frame with
//!   batches of 4, 1 to 3 % with 16, 5 to 14 % with 64 (the paper's kernel: 75 and 91 % fewer
//!   misses with 4 and 16). The two lists of the paper, of contiguous buckets and others, are the
//!   kernel's own affair; its watermarks are kept here.
//! - *Folios.* Since Linux 6.8 the kernel has the paper's batches itself: folios of 4, 16 and more
//!   pages at a fault, if the administrator enables the size (`hugepages-64kB/enabled`, `madvise`).
//!   Batches of an enabled size ask for them. Where huge pages of 2 MiB are enabled, too, those
//!   come first.
//! - *Huge pages.* [`Backing::Huge`] is the only way to frames that are contiguous for certain: 512
//!   of them, where the kernel has a huge page.
//! - *Files.* On a file system in memory frames are taken when the file is made, so that batches
//!   change nothing; huge pages are collapsed from what is there. In the page cache of a plain file
//!   the kernel decides. On persistent memory the file system does: a frame is a place on the
//!   device.
//!
//! `benches/heap/programs` measures whether it helped.

mod available;
mod backing;
mod folios;

#[cfg(feature = "experiments")]
pub use backing::Watermarks;
pub use backing::{Backing, Purpose};
