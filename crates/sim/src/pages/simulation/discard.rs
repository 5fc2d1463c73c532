//! Pages that a program gives back.

use terrace_base::Nanos;
use terrace_policy::replacement::{PageId, Replacement};

use super::super::store::Flags;
use super::super::threads::State;
use super::Simulation;
use crate::intern::PageTable;

impl Simulation {
    /// Lets a page go from DRAM and from the tier, without a write: its next touch is a first one.
    /// A transfer that is under way ends all the same. A page for which a thread waits stays: the
    /// thread touched it at a later time, and was simulated before.
    pub(super) fn discard(&mut self, page: PageId, now: Nanos, pages: &PageTable) {
        let flags = self.store.flags(page);
        if !flags.any(Flags::KNOWN) || self.is_waited_for(page) {
            return;
        }
        self.counts.discards += 1;
        if let Some(lines) = &mut self.lines {
            lines.gone(page);
            self.store.clear(
                page,
                Flags::FAST
                    .and(Flags::HINT)
                    .and(Flags::ACCESSED)
                    .and(Flags::PLACED),
            );
        }
        self.drop_untouched(page, pages);
        if let Some(control) = &mut self.control {
            control.gone(page);
        }
        if let Some(cache) = &mut self.prefetch_cache
            && cache.contains(page)
        {
            cache.remove(page);
        }
        self.replacement.remove(page);
        self.buffer.rescue(page, &mut self.store);
        if let Some(staging) = &mut self.staging {
            staging.rescue(page, &mut self.store);
        }
        self.leave_middle(page);
        self.store.give_up(page);
        self.store.set(page, Flags::RETURNED);
        let held = Flags::DIRTY.and(Flags::UNWRITTEN).and(Flags::ZEROS);
        self.store.clear(page, Flags::KNOWN.and(held));
        if let Some(writes) = &mut self.writes {
            writes.discard(page);
        }
        // There may be room in the eviction buffer now.
        self.let_evict(now);
    }

    fn is_waited_for(&self, page: PageId) -> bool {
        self.threads.iter().any(|thread| match thread.state {
            State::Reading(other) | State::Faulting(other, _) | State::Evicting(other, _) => {
                other == page
            }
            _ => false,
        })
    }
}
