//! What a row of a trace asks for.

use terrace_policy::{PAGE_BYTES, Page, Space};
use terrace_trace::Block;

/// Returns the address space of a process of a trace, which is number `trace` of all.
pub(super) fn space(trace: usize, process: u16) -> Space {
    Space((trace as u32) << 16 | u32::from(process))
}

/// What a row of a trace asks for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Its address space.
    pub(super) space: Space,
    /// Its first page.
    pub(super) first: Page,
    /// Its last page.
    pub(super) last: Page,
    /// The byte of the last page behind which it ends.
    pub(super) last_byte: u64,
    /// Bytes asked for.
    pub(super) bytes: u32,
    /// Whether they are written.
    pub(super) write: bool,
}

impl Span {
    /// Returns what the row at `index` of a block asks for.
    pub(super) fn of(trace: usize, block: &Block, index: usize) -> Self {
        let process = block.process.get(index).copied().unwrap_or(0);
        let address = block.address[index];
        let bytes = block.size.get(index).copied().unwrap_or(0).max(1);
        let end = address.saturating_add(u64::from(bytes) - 1);
        Self {
            space: space(trace, process),
            first: Page::of(address),
            last: Page::of(end),
            last_byte: end % PAGE_BYTES,
            bytes,
            write: block.write[index],
        }
    }
}
