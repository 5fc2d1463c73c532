//! Wear of a slow memory that grows: how often each of its lines was written.
//! (`terrace_device::Wear` counts cells of a memory of a known size, under wear levelling.)

use terrace_policy::write::{Contents, LINE_BYTES};

/// Lines of a place.
const LINES: usize = size_of::<Contents>() / LINE_BYTES;

/// Writes of each line of 64 bytes.
#[derive(Default)]
pub(crate) struct Wear {
    /// By line; 256 bytes a place.
    writes: Vec<u32>,
    most: u32,
}

impl Wear {
    /// Counts a write of lines of a place, a bit each.
    pub fn wrote(&mut self, place: u32, lines: u64) {
        let first = place as usize * LINES;
        if self.writes.len() < first + LINES {
            self.writes.resize(first + LINES, 0);
        }
        let of_place = &mut self.writes[first..first + LINES];
        for (at, writes) in of_place.iter_mut().enumerate() {
            *writes = writes.saturating_add((lines >> at & 1) as u32);
            self.most = self.most.max(*writes);
        }
    }

    /// Returns the writes of the line that was written most.
    pub fn most(&self) -> u32 {
        self.most
    }

    /// Returns the number of places, up to the last that was written.
    pub fn places(&self) -> usize {
        self.writes.len() / LINES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_written_wears() {
        let mut wear = Wear::default();
        assert_eq!((wear.most(), wear.places()), (0, 0));
        wear.wrote(2, 0b11);
        wear.wrote(2, 0b10);
        wear.wrote(0, u64::MAX);
        assert_eq!((wear.most(), wear.places()), (2, 3));
        assert_eq!(wear.writes[2 * LINES..][..3], [1, 2, 0]);
    }
}
