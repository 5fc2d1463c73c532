//! Lines that are written to memory before they are evicted.

use super::super::batch::{Asked, Near};
use super::super::early::EarlyWrites;
use super::super::memory_side::Asks;
use super::{Shared, asks, note};

impl Shared {
    /// Writes lines early while the memory is idle before a request. The accesses to the second
    /// level before it are made first, so that its core is where it asks.
    pub(super) fn write_in_idle_time(&mut self, asked: &Asked, nears: &[Near]) {
        let (Some(early), [memory_side]) = (&mut self.early, &mut self.memory_sides[..]) else {
            return;
        };
        nears.iter().for_each(|near| memory_side.serve_near(near));
        let memory = memory_side.before(asked);
        while let Some(line) = early.write_in_idle_time(&mut self.cache, memory) {
            if let Some(traffic) = &mut self.traffic {
                note(traffic, self.lines, asked, written(line));
            }
        }
    }

    /// Notes the request that was served last, and writes the row of what it wrote.
    pub(super) fn note_early(&mut self, asked: &Asked) {
        let (Some(early), [memory_side]) = (&mut self.early, &mut self.memory_sides[..]) else {
            return;
        };
        let (memory, outcome) = (memory_side.memory(), self.outcomes[0]);
        early.note(asked, &outcome, &self.cache, memory.now());
        let Some(line) = asks(asked, &outcome).write else {
            return;
        };
        for line in early.write_row(line, &mut self.cache, memory) {
            if let Some(traffic) = &mut self.traffic {
                note(traffic, self.lines, asked, written(line));
            }
        }
    }

    /// Returns what was written early after the warm-up.
    pub(super) fn early_writes(&self) -> Option<EarlyWrites> {
        let counts = self.early.as_ref()?.counts();
        let begin = self.begin.as_ref();
        let since = begin.and_then(|begin| begin.early).unwrap_or_default();
        let before = begin.map_or(0, |begin| begin.counts.early_writes);
        Some((counts - since).with(self.counts().early_writes - before))
    }
}

/// Returns what a line that is written early asks of memory.
fn written(line: u64) -> Asks {
    Asks {
        read: false,
        write: Some(line),
    }
}
