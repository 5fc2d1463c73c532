//! Emptying a map, in steps.

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::LINE_BYTES;
use crate::sink::Sink;

use super::super::emptying::{Emptying, Progress, STEP};
use super::chain::Chain;
use super::layout::{GROUPS_WORD, LINE_WORDS, LINES, Pointer};
use super::sums::seal_line;
use super::table::Table;

impl Emptying for Table {
    /// Empties groups from the last one on.
    fn empty_some<S: Sink>(&self, sink: &mut S, progress: &mut Progress) -> Result<bool> {
        let (groups, mut freed) = (self.groups(), 0);
        let mut chain = Chain::default();
        while freed < STEP {
            let Some(group) = groups.checked_sub(progress.at + 1) else {
                return Ok(false);
            };
            progress.at += 1;
            let first = self.group(group);
            for line in (first..).step_by(LINE_BYTES as usize).take(LINES as usize) {
                chain.clear();
                chain.add(sink, line)?;
                if chain.slots.is_empty() && chain.links.is_empty() {
                    continue;
                }
                for slot in &chain.slots {
                    let entry = self.entries.read(sink, slot & FIELD_MAX)?;
                    freed += entry.objects(sink)?.len();
                    entry.free(sink)?;
                }
                freed += chain.links.len();
                chain.links.iter().try_for_each(|&link| sink.free(link))?;
                let mut empty = [0; LINE_WORDS];
                if self.shape.checked {
                    seal_line(line, &mut empty);
                }
                sink.write(line, &empty)?;
            }
        }
        Ok(true)
    }

    /// Frees all segments but the first, and the pages of the directory.
    fn shrink<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let (mut segments, mut pages) = (Vec::new(), Vec::new());
        for segment in 1..self.shape.segments() {
            match self.segment_at(sink, segment)? {
                0 => break,
                at => segments.push((segment, at)),
            }
        }
        for (segment, at) in segments {
            sink.free(at)?;
            match self.shape.pointer(segment) {
                Pointer::InTable(byte) => sink.set(self.at + byte, 0)?,
                Pointer::InPage { page, .. } if pages.last() != Some(&page) => pages.push(page),
                Pointer::InPage { .. } => {}
            }
        }
        for page in pages {
            let at = sink.word(self.at + page)?;
            sink.free(at)?;
            sink.set(self.at + page, 0)?;
        }
        sink.set(self.at + GROUPS_WORD * 8, 1 << self.shape.first)?;
        self.seal(sink)
    }

    fn free_table<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let first = self.segment_at(sink, 0)?;
        sink.free(first)?;
        sink.free(self.at)
    }
}
