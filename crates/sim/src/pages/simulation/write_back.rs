//! Lines that caches write back, in traces that have passed caches.
//!
//! No processor translates the address of such a line: what a cache holds is named by where it lies
//! in memory. So it touches no page, and no policy sees it but one of migration that asks a memory
//! which counts what reaches it.

use terrace_policy::migration::{Access, Side};
use terrace_policy::replacement::PageId;

use super::super::store::Flags;
use super::Simulation;
use crate::workload::Target;

impl Simulation {
    /// Takes a line that a cache writes back, where pages come by faults.
    ///
    /// A page that is in DRAM is dirty from here on. Where it has left, its line went with it on a
    /// machine, as copies and transfers of a page are coherent with caches; the trace, whose caches
    /// know of no page that leaves, tells of it only here. So the page was dirty when it left: it
    /// is written to the tier now, once, unless it was written then, or is still to be.
    pub(super) fn write_back(&mut self, index: usize, page: PageId) {
        self.count_write_back(index);
        let flags = self.store.flags(page);
        let is_coming = flags.any(Flags::FLIGHT.and(Flags::AHEAD));
        if !flags.any(Flags::KNOWN) {
            // Given back, or from before the trace.
        } else if self.replacement.contains(page) && !is_coming {
            self.store.write(page);
        } else if self.middle.is_some() && flags.any(Flags::IN_DRAM) || self.is_in_middle(page) {
            // It has not got to the tier, and goes there with what is written now.
            self.store.write(page);
        } else if !flags.any(Flags::SAVED.and(Flags::DIRTY)) {
            self.write_late(page, self.threads[index].now());
        }
    }

    /// Takes a line that a cache writes back, where slow memory serves lines: it goes to where the
    /// page lies. Slow memory is busy with it for as long as with a write of the thread, which
    /// waits; that is an upper bound, as memories with a queue of writes let threads go on until it
    /// is full. Where a memory's bandwidth is limited, the thread waits for its channel, DRAM's
    /// too.
    pub(super) fn write_line(&mut self, index: usize, page: PageId, target: Target) {
        self.count_write_back(index);
        let Some(lines) = &mut self.lines else { return };
        let flags = self.store.flags(page);
        let is_known = flags.any(Flags::KNOWN) && !flags.any(Flags::PLACED);
        if lines.is_placed(target.site) {
            self.wait_for_channel(index, page, Side::Fast, true);
            return;
        }
        if !is_known {
            // Given back, or from before the trace.
            return;
        }
        let bit = 1 << target.line;
        let is_shown = lines.policy.sees_write_backs();
        if flags.any(Flags::FAST) {
            if let Some(sectors) = lines.sectors.get_mut(&page) {
                sectors.here |= bit;
                sectors.dirty |= bit;
            }
            self.store.set(page, Flags::DIRTY);
            self.wait_for_channel(index, page, Side::Fast, true);
        } else {
            self.counts.slow_writes += 1;
            let slower = lines.slower.write_ps;
            self.wait_for_channel(index, page, Side::Slow, true);
            let lost = self.threads[index].lose_picos(slower);
            self.times.slow_lines += lost;
            self.wear(page, bit);
        }
        self.store.set(page, Flags::WRITTEN);
        if is_shown {
            self.show(index, Access::write(page));
        }
    }

    fn count_write_back(&mut self, index: usize) {
        self.warm(index);
        self.counts.line_writebacks += 1;
    }
}
