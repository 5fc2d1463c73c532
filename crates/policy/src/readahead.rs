//! The kernel's read-ahead of files: which pages of a file it reads beyond those that are asked
//! for.
//!
//! Linux reads on demand (mm/readahead.c, Linux 6.18). A read at the beginning of a file, or where
//! the one before ended, opens a window of some pages; a page in it is marked. A read of the marked
//! page has the next window read while the reader goes on, and each window is larger than the one
//! before. A read elsewhere brings what it asks for, unless pages before it are in the cache, as a
//! stream leaves them. Streams that are mixed go on by their marks.
//!
//! Pages are numbered from the beginning of the file. Here a page is read by itself: file systems
//! with large folios mark, and align, whole folios. A request that is larger than the window is
//! read in one go, for which the kernel has the limit of the device. Not here: advice of programs
//! (`posix_fadvise`), and faults of mapped files.

use std::ops::Range;

use crate::page::PAGE_BYTES;

/// The end of a window that a mark led to is aligned to so many pages, a power of two: an order of
/// 2 above that of single pages.
const ALIGNED: u64 = 4;

/// A file, as the page cache has it.
pub trait Cached {
    /// Returns the number of its pages.
    fn pages(&self) -> u64;

    /// Whether a page is in the cache.
    fn holds(&self, page: u64) -> bool;
}

/// Pages that are to be read; those that the cache has are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// The pages, all within the file.
    pub pages: Range<u64>,
    /// The page that is to be marked, if it is read and not left out.
    pub mark: Option<u64>,
}

/// What the kernel keeps of the reads of an open file (`file_ra_state`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Stream {
    /// The last window: its first page, its pages, and those of them behind the mark.
    start: u64,
    size: u64,
    ahead: u64,
    /// The page in which the last read ended; none before the first.
    last: Option<u64>,
}

impl Stream {
    /// Returns what is read where a reader wants `wanted` pages, at least one, from `page` on,
    /// which the cache does not have. Windows have at most `most` pages, as `read_ahead_kb` says,
    /// or as many as are wanted (`page_cache_sync_ra`).
    pub fn missed(&mut self, page: u64, wanted: u64, most: u64, file: &impl Cached) -> Window {
        let most = most.max(wanted);
        let follows = self
            .last
            .is_some_and(|last| page == last || page == last + 1);
        if page == 0 || follows {
            self.size = first(wanted, most);
            self.ahead = match self.size > wanted {
                true => self.size - wanted,
                false => self.size / 2,
            };
        } else {
            // The kernel counts one page less than a window at most.
            let before = (page.saturating_sub(most - 1)..page).rev();
            let before = before.take_while(|page| file.holds(*page)).count() as u64;
            if before <= wanted {
                return window(page, wanted, 0, file);
            }
            // From the beginning of the file on, it is a strong sign of a long stream.
            let before = if before == page { 2 * before } else { before };
            self.size = most.min(before + wanted);
            self.ahead = 1;
        }
        self.start = page;
        window(self.start, self.size, self.ahead, file)
    }

    /// Returns what is read ahead where a reader wants `wanted` pages, at least one, from `page`
    /// on, which is in the cache and was marked; the mark is gone then (`page_cache_async_ra`).
    pub fn marked(&mut self, page: u64, wanted: u64, most: u64, file: &impl Cached) -> Window {
        let most = most.max(wanted);
        if page == self.start + self.size - self.ahead {
            self.start += self.size;
            self.size = self.size.max(next(self.size, most));
        } else {
            // Another stream has had a window since. What lies in the cache from here on is what
            // was ahead of this one.
            let mut behind = page + 1..=page + most;
            let Some(start) = behind.find(|page| !file.holds(*page)) else {
                return Window::default();
            };
            self.start = start;
            self.size = next(start - page + wanted, most);
        }
        let align = ALIGNED.min(1 << most.trailing_zeros());
        let end = self.start + self.size;
        let aligned = end - end % align;
        if aligned > self.start {
            self.size = aligned - self.start;
        }
        self.ahead = self.size;
        window(self.start, self.size, self.ahead, file)
    }

    /// Notes that a read has ended before this byte of the file.
    pub fn ended(&mut self, byte: u64) {
        self.last = Some(byte / PAGE_BYTES);
    }
}

/// Returns the pages of a window that the file has, with the mark `ahead` pages before their end.
fn window(start: u64, size: u64, ahead: u64, file: &impl Cached) -> Window {
    let pages = start..file.pages().min(start + size).max(start);
    let mark = pages.end.checked_sub(ahead);
    Window {
        mark: mark.filter(|mark| pages.contains(mark)),
        pages,
    }
}

/// Returns the pages of the first window of a stream that wants so many (`get_init_ra_size`).
fn first(wanted: u64, most: u64) -> u64 {
    let size = wanted.next_power_of_two();
    match () {
        () if size <= most / 32 => 4 * size,
        () if size <= most / 4 => 2 * size,
        () => most,
    }
}

/// Returns the pages of the window after one of `size` (`get_next_ra_size`).
fn next(size: u64, most: u64) -> u64 {
    match () {
        () if size < most / 16 => 4 * size,
        () if size <= most / 2 => 2 * size,
        () => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of 1000 pages of which the cache has those in a row.
    struct Row(Range<u64>);

    impl Cached for Row {
        fn pages(&self) -> u64 {
            1000
        }

        fn holds(&self, page: u64) -> bool {
            self.0.contains(&page)
        }
    }

    fn read(pages: Range<u64>, mark: impl Into<Option<u64>>) -> Window {
        let mark = mark.into();
        Window { pages, mark }
    }

    /// The windows of the kernel's own comment: 16, 32, 64 and 128 KiB.
    #[test]
    fn a_stream_opens_a_window_and_marks_double_it() {
        let mut stream = Stream::default();
        assert_eq!(stream.missed(0, 1, 32, &Row(0..0)), read(0..4, 1));
        stream.ended(4096);
        assert_eq!(stream.marked(1, 1, 32, &Row(0..4)), read(4..12, 4));
        assert_eq!(stream.marked(4, 1, 32, &Row(0..12)), read(12..28, 12));
        assert_eq!(stream.marked(12, 1, 32, &Row(0..28)), read(28..60, 28));
        assert_eq!(stream.marked(28, 1, 32, &Row(0..60)), read(60..92, 60));
    }

    #[test]
    fn a_read_elsewhere_brings_what_it_asks_for() {
        let mut stream = Stream::default();
        assert_eq!(stream.missed(500, 2, 32, &Row(0..0)), read(500..502, None));
        stream.ended(502 * 4096);
        assert_eq!(stream.missed(700, 2, 32, &Row(0..0)), read(700..702, None));
        stream.ended(702 * 4096);
        assert_eq!(stream.missed(702, 2, 32, &Row(0..0)), read(702..706, 704));
    }

    #[test]
    fn what_lies_in_the_cache_tells_of_a_stream() {
        let mut stream = Stream::default();
        assert_eq!(
            stream.missed(500, 1, 32, &Row(497..500)),
            read(500..504, 503)
        );
        assert_eq!(
            stream.missed(8, 1, 32, &Row(0..8)),
            read(8..25, 24),
            "from the beginning of the file"
        );
    }

    #[test]
    fn streams_that_are_mixed_go_on_by_their_marks() {
        let mut stream = Stream::default();
        assert_eq!(stream.missed(0, 1, 32, &Row(0..0)), read(0..4, 1));
        stream.ended(700 * 4096);
        assert_eq!(stream.missed(700, 1, 32, &Row(0..4)), read(700..704, 701));
        // Three pages lie ahead and one is wanted: a window of eight, to an aligned end.
        assert_eq!(stream.marked(1, 1, 32, &Row(0..4)), read(4..12, 4));
        assert_eq!(stream.marked(701, 1, 32, &Row(0..1000)), Window::default());
    }

    #[test]
    fn nothing_is_read_behind_the_end_of_the_file() {
        let mut stream = Stream::default();
        stream.ended(998 * 4096);
        assert_eq!(
            stream.missed(998, 1, 32, &Row(0..998)),
            read(998..1000, None)
        );
        assert!(stream.marked(999, 1, 32, &Row(0..1000)).pages.is_empty());
    }
}
