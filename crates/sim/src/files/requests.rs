//! Traces as requests for pages that lie one behind the other.

use terrace_base::Result;
use terrace_policy::replacement::PageId;
use terrace_policy::{Page, Space};
use terrace_trace::{Block, Source};

use crate::intern::PageTable;

/// Bits of a page number within a program; those above tell the program.
const PAGE_BITS: u32 = 45;

/// A request.
pub(super) struct Request<'a> {
    /// Its pages.
    pub(super) pages: &'a [PageId],
    /// Place of the first; those of the others follow it.
    pub(super) place: u64,
    /// Bytes asked for.
    pub(super) bytes: u32,
    /// Whether they are written.
    pub(super) write: bool,
}

/// The requests of traces, one trace after the other. Each has files of its own.
pub(super) struct Requests {
    table: PageTable,
    block: Block,
    pages: Vec<Page>,
    numbers: Vec<PageId>,
}

impl Requests {
    pub(super) fn new() -> Self {
        Self {
            table: PageTable::new(),
            block: Block::default(),
            pages: Vec::new(),
            numbers: Vec::new(),
        }
    }

    /// Calls `serve` with at most `limit` requests of a trace, which is number `trace` of all.
    ///
    /// # Errors
    /// Errors of the trace; a failure where there are more pages than can be simulated.
    pub(super) fn each(
        &mut self,
        trace: usize,
        source: &mut dyn Source,
        limit: u64,
        mut serve: impl FnMut(&Request),
    ) -> Result<()> {
        let mut left = limit;
        while left > 0 && source.next_block(&mut self.block)? {
            for index in 0..self.block.len().min(left.try_into().unwrap_or(usize::MAX)) {
                let process = self.block.process.get(index).copied().unwrap_or(0);
                let space = Space((trace as u32) << 16 | u32::from(process));
                serve(&self.request(space, index)?);
            }
            left = left.saturating_sub(self.block.len() as u64);
        }
        Ok(())
    }

    /// Returns the request at `index` of the block.
    fn request(&mut self, space: Space, index: usize) -> Result<Request<'_>> {
        let address = self.block.address[index];
        let bytes = self.block.size.get(index).copied().unwrap_or(0).max(1);
        let (first, last) = (
            Page::of(address),
            Page::of(address.saturating_add(u64::from(bytes) - 1)),
        );
        self.pages.clear();
        self.pages.extend((first.0..=last.0).map(Page));
        self.numbers.clear();
        self.table.intern(space, &self.pages, &mut self.numbers)?;
        Ok(Request {
            pages: &self.numbers,
            place: u64::from(space.0) << PAGE_BITS | first.0 & ((1 << PAGE_BITS) - 1),
            bytes,
            write: self.block.write[index],
        })
    }
}
