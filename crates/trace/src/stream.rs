//! What the formats that are a stream of records have in common.

use terrace_base::Result;

use crate::access::Block;
use crate::source::{Meta, Source};

/// Accesses handed out at once, at least, while there are more.
const BLOCK: usize = 1 << 14;

/// Records that stand for accesses.
pub(crate) trait Records: Send {
    /// Appends the accesses of the next record, however many; false at the end.
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
