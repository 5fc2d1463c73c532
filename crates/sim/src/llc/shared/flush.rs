//! Flushes of lines by programs.

use terrace_policy::llc::{Kind, Request};

use super::super::batch::Asked;
use super::super::flush::Flushed;
use super::super::memory_side::Asks;
use super::{Shared, note};

impl Shared {
    /// Flushes a line for a program.
    pub(super) fn flush(&mut self, flushed: &Flushed) {
        let (line, dirty, invalidates) = (flushed.line, flushed.dirty, flushed.invalidates);
        let written = self.cache.flush(line, dirty, invalidates);
        if let Some(counts) = self.by_core.get_mut(usize::from(flushed.core)) {
            counts.flushes += 1;
            counts.flush_writes += u64::from(written);
        }
        if let Some(early) = &mut self.early {
            early.note_flush(flushed, written);
        }
        if !written {
            return;
        }
        let asked = Asked {
            request: Request {
                line: flushed.line,
                ip: 0,
                core: flushed.core,
                kind: Kind::WriteBack,
            },
            instruction: flushed.instruction,
            after: 0,
        };
        let asks = Asks {
            read: false,
            write: Some(flushed.line),
        };
        for memory_side in &mut self.memory_sides {
            memory_side.serve(&asked, asks);
        }
        if let Some(traffic) = &mut self.traffic {
            note(traffic, self.lines, &asked, asks);
        }
    }
}
