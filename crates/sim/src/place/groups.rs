//! Groups of requests to memory that overlap.
//!
//! As in the model of a core ([`crate::llc::model`]): requests overlap that are made within the
//! window after the first of them, up to as many reads as may be in flight. Then the core waits for
//! all of them. A trace does not hold the dependences between loads, so no load waits for another
//! of its group.

use terrace_trace::Block;

use super::owned::Owner;
use crate::llc::model::{OUTSTANDING, WINDOW};

/// Lines of a group that belong to one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lines {
    /// Whose they are.
    pub owner: Owner,
    /// Lines that are read.
    pub reads: u32,
    /// Dirty lines that are written back.
    pub writes: u32,
}

/// Collects requests into groups.
#[derive(Debug, Default)]
pub struct Groups {
    /// The lines of the group that is being made, by owner.
    group: Vec<Lines>,
    /// The instruction of its first request.
    first: u64,
    reads: usize,
}

impl Groups {
    /// Adds the requests of a block, each with its owner, and calls `done` with each group that is
    /// complete: the lines of each owner, in the order of owners.
    pub fn add(
        &mut self,
        block: &Block,
        mut owner: impl FnMut(u16) -> Owner,
        mut done: impl FnMut(&[Lines]),
    ) {
        for index in 0..block.len() {
            let row = block.get(index);
            let outside = row.instruction > self.first.saturating_add(WINDOW);
            let full = !row.write && self.reads == OUTSTANDING;
            if !self.group.is_empty() && (outside || full) {
                self.end(&mut done);
            }
            if self.group.is_empty() {
                self.first = row.instruction;
            }
            self.note(owner(row.process), row.write);
        }
    }

    fn note(&mut self, owner: Owner, write: bool) {
        let place = self.group.iter().position(|lines| lines.owner == owner);
        let place = place.unwrap_or_else(|| {
            self.group.push(Lines {
                owner,
                reads: 0,
                writes: 0,
            });
            self.group.len() - 1
        });
        let lines = &mut self.group[place];
        match write {
            true => lines.writes += 1,
            false => {
                lines.reads += 1;
                self.reads += 1;
            }
        }
    }

    /// Ends the last group.
    pub fn end(&mut self, mut done: impl FnMut(&[Lines])) {
        if !self.group.is_empty() {
            self.group.sort_unstable();
            done(&self.group);
            self.group.clear();
            self.reads = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_trace::Access;

    fn groups(rows: &[(u64, u16, bool)]) -> Vec<Vec<(u32, u32)>> {
        let mut block = Block::default();
        for &(instruction, process, write) in rows {
            block.push(Access {
                instruction,
                process,
                write,
                ..Access::default()
            });
        }
        let mut found = Vec::new();
        let mut groups = Groups::default();
        let mut done =
            |lines: &[Lines]| found.push(lines.iter().map(|one| (one.reads, one.writes)).collect());
        groups.add(&block, |mark| Some(usize::from(mark)), &mut done);
        groups.end(&mut done);
        found
    }

    #[test]
    fn what_the_window_holds_is_a_group() {
        let found = groups(&[
            (0, 0, false),
            (5, 1, false),
            (WINDOW, 0, true),
            (WINDOW + 1, 0, false),
        ]);
        assert_eq!(found, [vec![(1, 1), (1, 0)], vec![(1, 0)]]);
        assert!(groups(&[]).is_empty());
    }

    #[test]
    fn no_more_reads_overlap_than_may_be_in_flight() {
        let rows = [(0, 0, false); OUTSTANDING + 1];
        assert_eq!(groups(&rows), [vec![(OUTSTANDING as u32, 0)], vec![(1, 0)]]);
    }
}
