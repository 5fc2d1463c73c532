//! Counts of what was written.

use std::ops::AddAssign;

use super::place::LINE_BYTES;

/// What one page, or several, wrote to the slow memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Written {
    /// Bytes, in whole units of what the scheme writes.
    pub bytes: u64,
    /// Lines of 64 bytes with something written.
    pub lines: u64,
    /// Sectors of 512 bytes with something written.
    pub sectors: u64,
    /// Cells that are programmed, one a bit.
    pub cells: u64,
    /// Bytes that only say how the others are to be read: of those above, or in cells of their own
    /// beside the words.
    pub metadata: u64,
    /// Lines of the page with something written, a bit each; of several pages, those of any.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub which: u64,
}

impl Written {
    /// Returns the count of a whole page.
    pub(super) fn page() -> Self {
        Self::lines(u64::MAX)
    }

    /// Returns the count of lines, given a bit for each line of a page that is written.
    pub(super) fn lines(written: u64) -> Self {
        let lines = u64::from(written.count_ones());
        let bytes = lines * LINE_BYTES as u64;
        let sectors = written.to_le_bytes();
        Self {
            bytes,
            lines,
            sectors: sectors.iter().filter(|lines| **lines != 0).count() as u64,
            cells: 8 * bytes,
            metadata: 0,
            which: written,
        }
    }
}

impl AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.sectors += other.sectors;
        self.cells += other.cells;
        self.metadata += other.metadata;
        self.which |= other.which;
    }
}
