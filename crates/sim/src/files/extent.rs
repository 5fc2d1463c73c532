//! The files of traces: where they lie, and where they end.
//!
//! A trace has files where its metadata say so. Objects are files, each read as a whole. Otherwise
//! all addresses of a process are one file, a disk. A file ends behind the last page that is known
//! of it: from the beginning on behind what the trace reads and has not written before, and then
//! behind what is written, until it is given back.

use std::ops::Range;

use rustc_hash::FxHashMap;
use terrace_base::Result;
use terrace_policy::{PAGE_BYTES, Space};
use terrace_trace::discard::Discard;
use terrace_trace::files::Files;
use terrace_trace::objects::Objects;
use terrace_trace::{Block, Meta};

use super::span::{Span, space};
use crate::mix::Trace;

/// A file: its address space, and its number there.
pub(super) type FileId = (Space, u64);

/// Where the files of a trace lie.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layout {
    /// All addresses are one file.
    Disk,
    /// Files lie one behind the other from a page on, each with room for so many.
    Rows { first: u64, room: u64 },
    /// Each request is for an object, which is a file.
    Objects,
}

/// The number of what lies before the first file.
const BEFORE: u64 = u64::MAX;

impl Layout {
    /// Reads it from the metadata of a trace.
    ///
    /// # Errors
    /// A failure where they cannot be read.
    pub(super) fn of(meta: &Meta) -> Result<Self> {
        if meta.objects == Objects::Placed {
            return Ok(Self::Objects);
        }
        let files = Files::of(meta)?;
        Ok(files.map_or(Self::Disk, |files| Self::Rows {
            first: files.first / PAGE_BYTES,
            room: files.room / PAGE_BYTES,
        }))
    }

    /// Returns the number of the file in which a request begins with a page, and its first page.
    pub(super) fn find(self, page: u64) -> (u64, u64) {
        match self {
            Self::Disk => (0, 0),
            Self::Objects => (page, page),
            Self::Rows { first, room } => match page.checked_sub(first) {
                None => (BEFORE, 0),
                Some(within) => (within / room, page - within % room),
            },
        }
    }

    /// Returns the first page of a file.
    fn begin(self, number: u64) -> u64 {
        match self {
            Self::Disk => 0,
            Self::Objects => number,
            Self::Rows { .. } if number == BEFORE => 0,
            Self::Rows { first, room } => first + number * room,
        }
    }
}

/// Where files end, in pages from their beginning.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends(FxHashMap<FileId, u64>);

impl Ends {
    /// Returns where the files of traces end before the first request, of which each trace has
    /// `limit` at most.
    ///
    /// # Errors
    /// Errors of the traces.
    pub(super) fn before(traces: &[Trace], limit: u64) -> Result<Self> {
        let (mut before, mut now) = (Self::default(), Self::default());
        let mut block = Block::default();
        for (number, trace) in traces.iter().enumerate() {
            let mut source = (trace.open)()()?;
            let layout = Layout::of(source.meta())?;
            let mut left = limit;
            while left > 0 && source.next_block(&mut block)? {
                let mut discards = block.discards.iter().peekable();
                for index in 0..block.len().min(left.try_into().unwrap_or(usize::MAX)) {
                    while let Some(discard) = discards.next_if(|one| one.row <= index as u64) {
                        now.give_back(number, layout, discard);
                    }
                    let (file, pages, write) = place(number, layout, &block, index);
                    if now.grow(file, pages.end) && !write {
                        before.grow(file, pages.end);
                    }
                }
                left = left.saturating_sub(block.len() as u64);
            }
        }
        Ok(before)
    }

    /// Returns the pages of a file.
    pub(super) fn of(&self, file: FileId) -> u64 {
        self.0.get(&file).copied().unwrap_or(0)
    }

    /// Notes that a file has pages as far as there; returns whether that was not known.
    pub(super) fn grow(&mut self, file: FileId, end: u64) -> bool {
        let known = self.0.entry(file).or_default();
        let grows = *known < end;
        *known = end.max(*known);
        grows
    }

    /// Notes that pages of a trace, which is number `trace` of all, were given back: files end
    /// before them.
    pub(super) fn give_back(&mut self, trace: usize, layout: Layout, discard: &Discard) {
        let space = space(trace, discard.process);
        let [first, last] = [discard.page, discard.end().saturating_sub(1)];
        let (number, begin) = layout.find(first);
        if layout.find(last).0 == number {
            if let Some(end) = self.0.get_mut(&(space, number)) {
                cut(end, begin, discard);
            }
            return;
        }
        for ((of, number), end) in &mut self.0 {
            if *of == space {
                cut(end, layout.begin(*number), discard);
            }
        }
    }
}

/// Ends a file that begins at a page before pages that were given back, if these reach its end.
fn cut(end: &mut u64, begin: u64, discard: &Discard) {
    if discard.end() >= begin.saturating_add(*end) {
        *end = discard.page.saturating_sub(begin).min(*end);
    }
}

/// Returns the file of a request, its pages in it, and whether it writes.
fn place(trace: usize, layout: Layout, block: &Block, index: usize) -> (FileId, Range<u64>, bool) {
    let span = Span::of(trace, block, index);
    let (number, begin) = layout.find(span.first.0);
    let pages = span.first.0 - begin..span.last.0 + 1 - begin;
    ((span.space, number), pages, span.write)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space(0);

    #[test]
    fn files_lie_one_behind_the_other() {
        let layout = Layout::Rows {
            first: 100,
            room: 10,
        };
        assert_eq!(
            [100, 109, 110, 125].map(|page| layout.find(page)),
            [(0, 100), (0, 100), (1, 110), (2, 120)]
        );
        let disk = Layout::of(&Meta::default()).unwrap();
        assert_eq!(disk.find(12_345), (0, 0));
        assert_eq!(layout.find(99), (BEFORE, 0));
    }

    #[test]
    fn what_is_given_back_ends_a_file() {
        let (first, room) = (100, 10);
        let (layout, mut ends) = (Layout::Rows { first, room }, Ends::default());
        let give_back = |ends: &mut Ends, page, pages| {
            let discard = Discard {
                page,
                pages,
                ..Discard::default()
            };
            ends.give_back(0, layout, &discard);
        };
        assert!(ends.grow((SPACE, 0), 6) && ends.grow((SPACE, 1), 7));
        assert!(!ends.grow((SPACE, 0), 5));
        let all = |ends: &Ends| [0, 1].map(|number| ends.of((SPACE, number)));
        give_back(&mut ends, 101, 2);
        assert_eq!(all(&ends), [6, 7], "a hole is no end");
        give_back(&mut ends, 103, 7);
        assert_eq!(all(&ends), [3, 7]);
        give_back(&mut ends, 100, 20);
        assert_eq!(all(&ends), [0, 0], "all files");
    }
}
