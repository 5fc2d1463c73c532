//! Serving what programs flush.

use terrace_policy::llc::{Kind, Request};

use super::super::batch::{Asked, Batch};
use super::super::behind::Asks;
use super::super::flush::Flushed;
use super::{Shared, note};

impl Shared {
    /// Serves all requests of a batch, and the flushes between them.
    pub(super) fn serve_flushing(&mut self, batch: &Batch) {
        let mut flushed = batch.flushed.iter().peekable();
        for (index, asked) in batch.asked.iter().enumerate() {
            if batch.measured_from == Some(index) {
                self.measure();
            }
            while let Some(flushed) = flushed.next_if(|flushed| flushed.before <= index) {
                self.flush(flushed);
            }
            self.ask(asked);
        }
        if batch.measured_from == Some(batch.asked.len()) {
            self.measure();
        }
        flushed.for_each(|flushed| self.flush(flushed));
    }

    fn flush(&mut self, flushed: &Flushed) {
        let dirty = self.cache.flush(flushed.line, flushed.invalidates);
        let writes = u64::from(dirty || flushed.dirty);
        let of_core = self.by_core.get_mut(usize::from(flushed.core));
        for counts in std::iter::once(&mut self.counts).chain(of_core) {
            counts.flushes += 1;
            counts.flush_writes += writes;
            counts.dirtied += u64::from(flushed.dirty && !dirty);
        }
        if writes == 0 {
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
        };
        let asks = Asks {
            read: false,
            write: Some(flushed.line),
        };
        for behind in &mut self.behind {
            behind.serve(&asked, asks);
        }
        if let Some(traffic) = &mut self.traffic {
            note(traffic, self.lines, &asked, asks);
        }
    }
}
