//! Prefetchers of the level above a last-level cache: which lines it reads before a core asks for
//! them.
//!
//! They learn from the lines that the first level asks the second for, whether those are there or
//! not, and stay within the page of 4 KiB: hardware does not know which frame follows another.

mod stride;

use self::stride::Trackers;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// A prefetcher, with what it has learned.
#[derive(Clone, Debug)]
pub struct Prefetcher {
    way: Way,
    lines_a_page: u64,
}

#[derive(Clone, Debug)]
enum Way {
    NextLine,
    Stride(Trackers),
}

impl Prefetcher {
    fn new(way: Way, line_bytes: u64) -> Self {
        Self {
            way,
            lines_a_page: (PAGE_BYTES / line_bytes).max(1),
        }
    }

    /// Makes the prefetcher that reads the line behind each that is asked for (Smith, "Cache
    /// memories", ACM Computing Surveys 1982, 2.1; `next_line` of `ChampSim`).
    pub fn next_line(line_bytes: u64) -> Self {
        Self::new(Way::NextLine, line_bytes)
    }

    /// Makes the prefetcher that reads three lines ahead in the stride of an instruction which has
    /// gone as far twice in a row (`ip_stride` of `ChampSim`, from the data prefetching
    /// championship of 2015).
    pub fn stride(line_bytes: u64) -> Self {
        Self::new(Way::Stride(Trackers::new()), line_bytes)
    }

    /// Returns the lines to be read, the nearest first, after the instruction at `ip` has asked for
    /// `line`; 0 is no instruction.
    pub fn ahead(&mut self, line: u64, ip: u64) -> impl Iterator<Item = u64> + use<> {
        let (stride, lines) = match &mut self.way {
            Way::NextLine => (1, 1),
            Way::Stride(trackers) => match trackers.stride(line, ip) {
                Some(stride) => (stride, stride::LINES),
                None => (0, 0),
            },
        };
        let lines_a_page = self.lines_a_page;
        let ahead = (1..=lines).map(move |n| line.wrapping_add_signed(stride.wrapping_mul(n)));
        ahead.take_while(move |next| next / lines_a_page == line / lines_a_page)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(prefetcher: &mut Prefetcher, line: u64, ip: u64) -> Vec<u64> {
        prefetcher.ahead(line, ip).collect()
    }

    #[test]
    fn the_next_line_is_of_the_same_page() {
        let mut next = Prefetcher::next_line(64);
        assert_eq!(ahead(&mut next, 5, 0), [6]);
        assert_eq!(ahead(&mut next, 62, 0), [63]);
        assert_eq!(ahead(&mut next, 63, 0), [], "64 lines a page");
        assert_eq!(ahead(&mut Prefetcher::next_line(1024), 2, 0), [3]);
        assert_eq!(ahead(&mut Prefetcher::next_line(4096), 2, 0), []);
    }

    #[test]
    fn a_stride_counts_when_it_was_seen_twice() {
        let mut stride = Prefetcher::stride(64);
        let mut of = |line| ahead(&mut stride, line, 0x400);
        assert_eq!(of(0), []);
        assert_eq!(of(10), []);
        assert_eq!(of(20), [30, 40, 50]);
        assert_eq!(
            of(20),
            [],
            "the same line is no step, and nothing is forgotten"
        );
        assert_eq!(of(30), [40, 50, 60]);
        assert_eq!(of(40), [50, 60]);
        assert_eq!(of(35), []);
        assert_eq!(of(30), [25, 20, 15], "backwards as well");
        assert_eq!(ahead(&mut stride, 25, 0x404), [], "another instruction");
    }
}
