//! Formats that are a stream of records, or of lines.

use terrace_base::Result;

use crate::access::Block;
use crate::input::Input;
use crate::source::{Meta, Source};
use crate::text;

/// Least number of accesses in a block before the end.
const BLOCK: usize = 1 << 14;

/// A reader of records.
pub(crate) trait Records: Send {
    /// Appends the accesses of the next record, any number; returns false at the end.
    fn next(&mut self, block: &mut Block) -> Result<bool>;
}

/// A source of such records.
struct Stream<R> {
    meta: Meta,
    records: R,
    ended: bool,
}

/// Returns the trace of these records.
pub(crate) fn stream(meta: Meta, records: impl Records + 'static) -> Box<dyn Source> {
    Box::new(Stream {
        meta,
        records,
        ended: false,
    })
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

/// A reader of a format whose records are lines.
pub(crate) trait Line: Send {
    /// What a line is, with an example: the end of the sentence about what is none.
    const IS: &str;

    /// Appends the accesses of a line, any number; returns `None` if it is no line of the format.
    fn read(&mut self, line: &[u8], block: &mut Block) -> Option<()>;
}

/// The lines of an input.
pub(crate) struct Lines<L>(pub Input, pub L);

impl<L: Line> Records for Lines<L> {
    fn next(&mut self, block: &mut Block) -> Result<bool> {
        let Self(input, format) = self;
        let Some((at, line)) = input.line()? else {
            return Ok(false);
        };
        if format.read(line, block).is_none() {
            let what = format!("{} is no line of {}", text::quote(line), L::IS);
            return Err(input.corrupt(at, &what));
        }
        Ok(true)
    }
}
