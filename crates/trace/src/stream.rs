//! Formats that are a stream of records.

use terrace_base::Result;

use crate::access::Block;
use crate::source::{Meta, Source};

/// Least number of accesses in a block before the end.
const BLOCK: usize = 1 << 14;

/// A reader of records.
pub(crate) trait Records: Send {
    /// Appends the accesses of the next record, any number; returns false at the end.
    fn next(&mut self, block: &mut Block) -> Result<bool>;
}

/// A source of such records.
pub(crate) struct Stream<R> {
    meta: Meta,
    records: R,
    ended: bool,
}

impl<R: Records> Stream<R> {
    pub(crate) fn new(meta: Meta, records: R) -> Self {
        Self {
            meta,
            records,
            ended: false,
        }
    }
}

impl<R: Records> Source for Stream<R> {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn read(&mut self, block: &mut Block) -> Result<()> {
        block.clear();
        while !self.ended && block.len() < BLOCK {
            self.ended = !self.records.next(block)?;
        }
        Ok(())
    }
}
