//! Traces as requests for pages that lie one behind the other.

use std::ops::Range;

use terrace_base::Result;
use terrace_policy::replacement::PageId;
use terrace_policy::{Location, Page};
use terrace_trace::discard::Discard;
use terrace_trace::{Block, Source};

use super::extent::Layout;
use super::span::Span;
use crate::intern::PageTable;

/// Bits of a page number within a program; those above tell the program.
const PAGE_BITS: u32 = 45;

/// A request.
pub(super) struct Request<'a> {
    /// What it asks for.
    pub(super) span: Span,
    /// Its pages.
    pub(super) pages: &'a [PageId],
    /// The files of its trace.
    pub(super) layout: Layout,
    table: &'a mut PageTable,
}

impl Request<'_> {
    /// Returns the place of a page of its address space. Pages lie as their numbers follow each
    /// other.
    pub(super) fn place(&self, page: u64) -> u64 {
        u64::from(self.span.space.0) << PAGE_BITS | page & ((1 << PAGE_BITS) - 1)
    }

    /// Returns the number of a page of its address space, if it ever was in the hierarchy.
    pub(super) fn known(&self, page: u64) -> Option<PageId> {
        self.table.find(Location::new(self.span.space, Page(page)))
    }

    /// Returns the numbers of pages of its address space.
    ///
    /// # Errors
    /// A failure where there are more pages than can be simulated.
    pub(super) fn numbers(&mut self, pages: Range<u64>) -> Result<Vec<PageId>> {
        let pages: Vec<Page> = pages.map(Page).collect();
        let mut numbers = Vec::with_capacity(pages.len());
        self.table.intern(self.span.space, &pages, &mut numbers)?;
        Ok(numbers)
    }
}

/// What happens in a trace.
pub(super) enum Event<'a> {
    /// A request.
    Request(Request<'a>),
    /// Pages of files that lie so were given back.
    GivenBack(Layout, &'a Discard),
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

    /// Calls `serve` with at most `limit` requests of a trace, which is number `trace` of all, and
    /// with what was given back before them.
    ///
    /// # Errors
    /// Errors of the trace and of `serve`; a failure where there are more pages than can be
    /// simulated.
    pub(super) fn each(
        &mut self,
        trace: usize,
        source: &mut dyn Source,
        limit: u64,
        mut serve: impl FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        let layout = Layout::of(source.meta())?;
        let mut left = limit;
        while left > 0 && source.next_block(&mut self.block)? {
            let mut given_back = 0;
            for index in 0..self.block.len().min(left.try_into().unwrap_or(usize::MAX)) {
                while let Some(discard) = self.block.discards.get(given_back)
                    && discard.row <= index as u64
                {
                    serve(Event::GivenBack(layout, discard))?;
                    given_back += 1;
                }
                serve(Event::Request(self.request(trace, layout, index)?))?;
            }
            left = left.saturating_sub(self.block.len() as u64);
        }
        Ok(())
    }

    /// Returns the request at `index` of the block.
    fn request(&mut self, trace: usize, layout: Layout, index: usize) -> Result<Request<'_>> {
        let span = Span::of(trace, &self.block, index);
        self.pages.clear();
        self.pages.extend((span.first.0..=span.last.0).map(Page));
        self.numbers.clear();
        self.table
            .intern(span.space, &self.pages, &mut self.numbers)?;
        Ok(Request {
            span,
            pages: &self.numbers,
            layout,
            table: &mut self.table,
        })
    }
}
