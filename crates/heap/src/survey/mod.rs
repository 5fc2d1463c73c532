//! Reads a pool as it lies there: header, words about chunks, records, lanes, roots. All that is read is
//! checked, here and nowhere else; what is wrong goes to a [`Report`]. Who opens a pool stops at the first
//! thing that is wrong ([`First`]), and who looks what is wrong with it takes all ([`All`]).
//!
//! What a crash can leave is not wrong: a record, an intent or a root that was not stored wholly is
//! none.

pub(crate) mod chunks;
pub(crate) mod header;
pub(crate) mod lanes;
pub(crate) mod records;
pub(crate) mod roots;

use std::fmt;
use std::sync::Mutex;

use crate::allocator::Space;
use crate::allocator::chunks::Chunks;
use crate::allocator::index::Index;
use crate::error::{Error, Result};
use crate::lock::lock;
use crate::medium::Medium;
use crate::pool::Pool;

/// Something that is wrong in a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Where, in bytes from the beginning of the pool.
    pub offset: u64,
    /// What, without the offset.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}, {}", self.offset, self.what)
    }
}

/// Who is told what is wrong.
pub(crate) trait Report: Sync {
    /// Something is wrong at an offset.
    ///
    /// # Errors
    ///
    /// Nothing more needs to be looked at.
    fn wrong(&self, offset: u64, what: String) -> Result<()>;

    /// Something is wrong that a whole sentence says.
    ///
    /// # Errors
    ///
    /// As [`Report::wrong`].
    fn error(&self, offset: u64, error: Error) -> Result<()>;
}

/// Stops at the first thing that is wrong.
pub(crate) struct First;

impl Report for First {
    fn wrong(&self, offset: u64, what: String) -> Result<()> {
        let sentence = format!("the pool is damaged: at byte {offset}, {what}");
        Err(Error::damaged(sentence))
    }

    fn error(&self, _: u64, error: Error) -> Result<()> {
        Err(error)
    }
}

/// Takes everything that is wrong.
#[derive(Default)]
pub(crate) struct All(Mutex<Vec<Finding>>);

impl All {
    pub fn into_vec(self) -> Vec<Finding> {
        self.0.into_inner().unwrap_or_else(|e| e.into_inner())
    }

    pub fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}

impl Report for All {
    fn wrong(&self, offset: u64, what: String) -> Result<()> {
        lock(&self.0).push(Finding { offset, what });
        Ok(())
    }

    fn error(&self, offset: u64, error: Error) -> Result<()> {
        self.wrong(offset, error.to_string())
    }
}

/// The space of a pool of which nothing is known yet.
pub(crate) fn space<M: Medium>(pool: Pool<M>) -> Space<M> {
    let max = pool.geometry.chunk_of(pool.medium.max_len());
    Space {
        pool,
        chunks: Chunks::default(),
        index: Index::new(max),
        spare_records: Mutex::default(),
    }
}
