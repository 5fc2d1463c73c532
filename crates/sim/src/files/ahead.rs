//! Read-ahead of files: the kernel's policy over the files of traces, and what it brought.

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::Nanos;
use terrace_policy::PAGE_BYTES;
use terrace_policy::readahead::{Cached, Stream, Window};
use terrace_policy::replacement::PageId;
use terrace_trace::discard::Discard;

use super::extent::{Ends, FileId, Layout};
use super::requests::Request;

/// A page that came into DRAM by a window and was not touched yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Brought {
    /// When the disk has delivered it.
    pub(super) arrives: Nanos,
    /// Whether no request had asked for it when it was read.
    pub(super) ahead: bool,
}

/// A request as part of its file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    file: FileId,
    /// Page of the address space at which the file begins.
    begin: u64,
}

/// The state of read-ahead. All readers of a file share one stream, as those of one descriptor do.
pub(super) struct ReadAhead {
    most: u64,
    ends: Ends,
    streams: FxHashMap<FileId, Stream>,
    brought: FxHashMap<PageId, Brought>,
    /// Pages in DRAM that lead to the next window.
    marked: FxHashSet<PageId>,
}

/// A file, as a level has it: DRAM, for the kernel looks at its page cache alone.
struct Levels<'a, H> {
    request: &'a Request<'a>,
    part: Part,
    pages: u64,
    holds: H,
}

impl<H: Fn(PageId) -> bool> Cached for Levels<'_, H> {
    fn pages(&self) -> u64 {
        self.pages
    }

    fn holds(&self, page: u64) -> bool {
        let known = self.request.known(self.part.begin + page);
        known.is_some_and(&self.holds)
    }
}

impl ReadAhead {
    /// Makes read-ahead with windows of `most` pages at most, of files that end there.
    pub(super) fn new(most: u64, ends: Ends) -> Self {
        Self {
            most,
            ends,
            streams: FxHashMap::default(),
            brought: FxHashMap::default(),
            marked: FxHashSet::default(),
        }
    }

    /// Notes a request, before it is served.
    pub(super) fn begin(&mut self, request: &Request) {
        let Part { file, begin } = part(request);
        self.ends.grow(file, request.span.last.0 + 1 - begin);
    }

    /// Notes that a request has been read.
    pub(super) fn end(&mut self, request: &Request) {
        let Part { file, begin } = part(request);
        let last = request.span.last.0 - begin;
        let end = last * PAGE_BYTES + request.span.last_byte + 1;
        self.streams.entry(file).or_default().ended(end);
    }

    /// Notes that pages of files were given back.
    pub(super) fn give_back(&mut self, trace: usize, layout: Layout, discard: &Discard) {
        self.ends.give_back(trace, layout, discard);
    }

    /// Returns the window that is read, in pages of the address space, as a request finds a page of
    /// it, whose index it is, in no level.
    pub(super) fn missed(
        &mut self,
        at: usize,
        request: &Request,
        holds: impl Fn(PageId) -> bool,
    ) -> Window {
        self.window(at, request, holds, Stream::missed)
    }

    /// Returns the window that is read ahead as a request finds a page of it in DRAM.
    pub(super) fn found(
        &mut self,
        at: usize,
        request: &Request,
        holds: impl Fn(PageId) -> bool,
    ) -> Window {
        match self.marked.remove(&request.pages[at]) {
            true => self.window(at, request, holds, Stream::marked),
            false => Window::default(),
        }
    }

    fn window<'r, H: Fn(PageId) -> bool>(
        &mut self,
        at: usize,
        request: &'r Request<'r>,
        holds: H,
        ask: impl Fn(&mut Stream, u64, u64, u64, &Levels<'r, H>) -> Window,
    ) -> Window {
        let part = part(request);
        let page = request.span.first.0 + at as u64 - part.begin;
        let wanted = (request.pages.len() - at) as u64;
        let file = Levels {
            request,
            part,
            pages: self.ends.of(part.file),
            holds,
        };
        let stream = self.streams.entry(part.file).or_default();
        let Window { pages, mark } = ask(stream, page, wanted, self.most, &file);
        Window {
            pages: part.begin + pages.start..part.begin + pages.end,
            mark: mark.map(|mark| part.begin + mark),
        }
    }

    /// Notes a page that a window brought into DRAM.
    pub(super) fn bring(&mut self, page: PageId, brought: Brought) {
        self.brought.insert(page, brought);
    }

    /// Marks a page.
    pub(super) fn mark(&mut self, page: PageId) {
        self.marked.insert(page);
    }

    /// Takes what is known of a page that a window brought, as it is touched for the first time, or
    /// leaves DRAM untouched.
    pub(super) fn take(&mut self, page: PageId) -> Option<Brought> {
        self.brought.remove(&page)
    }

    /// Forgets the mark of a page that leaves DRAM.
    pub(super) fn unmark(&mut self, page: PageId) {
        self.marked.remove(&page);
    }
}

fn part(request: &Request) -> Part {
    let (number, begin) = request.layout.find(request.span.first.0);
    Part {
        file: (request.span.space, number),
        begin,
    }
}
