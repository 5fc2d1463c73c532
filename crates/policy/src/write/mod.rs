//! Write reduction: what is written to the slow memory when a page leaves DRAM.
//!
//! A slow memory wears out by what is written to it, and most of what leaves DRAM is there already.
//! A [`Scheme`] is given a page that leaves DRAM and the place in the slow memory that it goes to.
//! It writes the page there, and answers what that wrote: bytes, lines, sectors and cells. It reads
//! the page back from the place as well.
//!
//! Awad, Blagodurov and Solihin, "Write-Aware Management of NVM-based Memory Extensions", ICS 2016,
//! sections 4 and 5.1. A driver does three things for a scheme:
//!
//! - It writes no clean page if [`Scheme::inclusive`]: the slow memory still holds it (4.1).
//! - It lets a page go back to the place that it had if [`Scheme::pinned`]. Otherwise wear
//!   levelling chooses another place, with contents that have nothing to do with the page (5.1.2).
//! - It keeps each place's [`Form`] and [`Turn`] in its own tables, as a kernel keeps page tables.
//!
//! To add a scheme: copy [`page`], and name it in [`REGISTRY`].

pub mod best;
mod compared;
mod counts;
pub mod dcw;
pub mod flip_n_write;
pub mod lines;
pub mod lz4;
mod make;
pub mod mfwr;
mod most_frequent;
mod packed;
pub mod page;
mod place;
mod registry;
pub mod same_filled;
pub mod zstd;

pub use counts::Written;
pub use make::{Entry, Make, Scheme, Spec};
pub use place::{Contents, Depends, Form, LINE_BYTES, LINES, Line, Place, SECTOR_BYTES, Turn};
pub use registry::REGISTRY;

/// How a page is laid down in a place of the slow memory.
///
/// A coder has no state: the answer depends only on the page and on the place.
pub trait Coder: Send + Sync {
    /// Writes `page` to `place`, and returns what that wrote.
    fn write(&self, page: &Contents, place: &mut Place) -> Written;

    /// Returns what the answer depends on. A driver need not keep contents of places for coders
    /// that do not look at them.
    fn depends(&self) -> Depends {
        Depends::OnCells
    }

    /// Returns whether pages are left as they are, so that a place is the same for all coders of
    /// which this is true.
    fn is_plain(&self) -> bool {
        false
    }

    /// Reads into `page` what [`Coder::write`] wrote to `place`. The default is for coders that
    /// leave pages as they are.
    fn read(&self, place: &Place, page: &mut Contents) {
        *page = place.bytes;
    }
}
