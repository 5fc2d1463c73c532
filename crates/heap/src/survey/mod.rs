//! The survey: reads a pool as it is, its header, words about chunks, records, lanes and roots. All
//! checks of the format are here and nowhere else; findings go to a [`Report`]. Opening a pool
//! stops at the first finding ([`First`]); checking one collects all ([`All`]).
//!
//! What a crash can leave is no finding: a record, an intent or a root that was not stored
//! completely is none.

pub(crate) mod chunks;
pub(crate) mod header;
pub(crate) mod lanes;
pub(crate) mod records;
mod report;
pub(crate) mod roots;
mod threads;

use std::sync::Mutex;

use crate::allocator::Space;
use crate::allocator::chunks::Chunks;
use crate::allocator::index::Index;
use crate::error::Result;
use crate::medium::Medium;
use crate::pool::Pool;

pub use report::Finding;
pub(crate) use report::{All, First, Report};

/// Opens the pool on a medium, with what its journal holds where it belongs.
///
/// # Errors
///
/// The medium holds no pool, one of another version, a damaged one, or not all of it; or a fence
/// failed.
pub(crate) fn open<M: Medium>(medium: M) -> Result<Pool<M>> {
    let pool = header::open(medium, &First)?;
    Ok(pool.expect("a survey that stops at the first finding returns a pool or an error"))
}

/// Same as [`open`], and refuses the copy of a file that was open.
///
/// # Errors
///
/// Same as [`open`]; it is such a copy.
pub(crate) fn open_original<M: Medium>(medium: M) -> Result<Pool<M>> {
    let pool = open(medium)?;
    pool.expect_original()?;
    Ok(pool)
}

/// Returns the space of a pool, with nothing surveyed yet.
pub(crate) fn space<M: Medium>(pool: Pool<M>) -> Space<M> {
    let max = pool.geometry.chunk_of(pool.medium.max_len());
    Space {
        pool,
        chunks: Chunks::default(),
        index: Index::new(max),
        spare_records: Mutex::default(),
    }
}
