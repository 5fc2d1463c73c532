//! Formats that are a stream of records, or of lines.

use terrace_base::Result;

use crate::access::Block;
use crate::input::Input;
use crate::source::{Meta, Source, made};
use crate::text;

/// Least number of accesses in a block before the end.
pub(crate) const BLOCK: usize = 1 << 14;

/// Bytes that the accesses of a block touch, after which it is large enough: each page of a large
/// object is a touch.
pub(crate) const BLOCK_BYTES: u64 = 1 << 28;

/// Returns a trace of records. `next` appends the accesses of the next record, any number, and
/// returns false at the end.
pub(crate) fn records(
    meta: Meta,
    mut next: impl FnMut(&mut Block) -> Result<bool> + Send + 'static,
) -> Box<dyn Source> {
    let mut ended = false;
    made(meta, move |block| {
        block.clear();
        let mut bytes = 0;
        while !ended && block.len() < BLOCK && bytes < BLOCK_BYTES {
            ended = !next(block)?;
            bytes += block.size.last().map_or(0, |size| u64::from(*size));
        }
        Ok(())
    })
}

/// Returns a trace of lines. `next` appends the accesses of a line, any number; it returns `None`
/// if it is no line of the format, which `like` describes with an example.
pub(crate) fn lines(
    meta: Meta,
    mut input: Input,
    like: &'static str,
    mut next: impl FnMut(&[u8], &mut Block) -> Option<()> + Send + 'static,
) -> Box<dyn Source> {
    records(meta, move |block| {
        let Some((at, line)) = input.line()? else {
            return Ok(false);
        };
        if next(line, block).is_none() {
            let what = format!("{} is no line of {like}", text::quote(line));
            return Err(input.corrupt(at, &what));
        }
        Ok(true)
    })
}
