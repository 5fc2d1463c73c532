//! Looks of a control policy, and what it has done: pages that are reclaimed before DRAM is full,
//! and pages that are given back.

use terrace_base::Nanos;
use terrace_device::{Class, Kind, Request};
use terrace_policy::control::Step;
use terrace_policy::page::PAGE_BYTES;
use terrace_policy::replacement::{PageId, Replacement};

use super::super::control::{Held, Waits};
use super::super::store::Flags;
use super::super::threads::{NEVER, State, Thread};
use super::Simulation;
use super::traffic::{BESIDE, Departure, transfer_id};
use crate::intern::PageTable;

impl Simulation {
    /// Returns the next moment at which the control policy has to do something; none once all is
    /// over, or a clock has gone too far to be counted on.
    #[inline]
    pub(super) fn next_look(&self) -> Nanos {
        match &self.control {
            None => NEVER,
            Some(_) if self.is_over() || self.threads.iter().any(Thread::is_beyond) => NEVER,
            Some(control) => control.next(),
        }
    }

    /// Returns the state of the machine at a moment, as control sees it.
    pub(super) fn held(&self, time: Nanos) -> Held {
        Held {
            time,
            resident: self.resident(),
            waits: self.waits(time),
            written: self.counts.writebacks,
        }
    }

    fn resident(&self) -> u64 {
        let fetched = self
            .prefetch_cache
            .as_ref()
            .map_or(0, |cache| cache.resident());
        (self.replacement.resident() + fetched) as u64
    }

    /// Returns the time of all threads until a moment. A thread that waits is asked for what it has
    /// lost so far.
    fn waits(&self, time: Nanos) -> Waits {
        self.threads.iter().fold(Waits::default(), |sum, thread| {
            let waits = matches!(
                thread.state,
                State::Reading(_) | State::Evicting(..) | State::Joining
            );
            let now = thread.now();
            let waited = match waits {
                true => time.saturating_sub(now),
                false => Nanos::ZERO,
            };
            // It has reckoned how long it computes until its next touch.
            let ahead = match thread.pending {
                Some(_) => now.saturating_sub(time),
                None => Nanos::ZERO,
            };
            let ran = now.saturating_sub(thread.slept + ahead);
            sum + Waits {
                lost: thread.lost + waited,
                ran: ran + waited,
            }
        })
    }

    /// Handles the next moment of the control policy.
    pub(super) fn look(&mut self, pages: &PageTable) {
        let Some(mut control) = self.control.take() else {
            return;
        };
        let now = self.held(control.next());
        if let Some(decision) = control.pass(now) {
            let mut moved = 0;
            match decision.step {
                Step::Reclaim(bytes) => {
                    while moved < bytes / PAGE_BYTES
                        && let Some(page) = self.reclaim(now.time, pages)
                    {
                        control.left(page);
                        moved += 1;
                    }
                }
                Step::GiveBack(bytes) => {
                    while moved < bytes / PAGE_BYTES
                        && self.replacement.resident() < self.room
                        && let Some(page) = control.last_left()
                    {
                        moved += u64::from(self.give_back(page, now.time));
                    }
                }
                Step::Hold => {}
            }
            control.looked(now, decision, moved, self.resident());
        }
        self.control = Some(control);
    }

    /// Lets the page leave DRAM that would go next. A dirty one is written beside the eviction
    /// buffer, as no fault waits for its room.
    fn reclaim(&mut self, now: Nanos, pages: &PageTable) -> Option<PageId> {
        let page = self.replacement.evict()?;
        self.counts.evictions += 1;
        self.drop_untouched(page, pages);
        if self.store.flags(page).any(Flags::WRITING) {
            // It came back while it was written, and waits for that.
            self.leave(page);
            self.flush(now);
        } else if !matches!(self.departure(page), Departure::Clean) {
            let changed = self.store.flags(page).any(Flags::DIRTY);
            self.write_beside(page, now);
            self.tell_schemes(page, changed);
        }
        for page in self.replacement.writes() {
            if self.is_written_staying(page) {
                self.write_beside(page, now);
                if let Some(writes) = &mut self.writes {
                    writes.write_back(page);
                }
            }
        }
        Some(page)
    }

    /// Writes a page for which the eviction buffer need have no room.
    fn write_beside(&mut self, page: PageId, now: Nanos) {
        self.counts.writebacks += 1;
        self.store.write_out(page);
        self.store.set(page, Flags::WRITING);
        let request = Request {
            id: transfer_id(page, Kind::Write) | BESIDE,
            ..self.transfer(page, Kind::Write, Class::Background)
        };
        self.request(page, request, now);
    }

    /// Fetches a page back that left by control, into DRAM with room. Returns whether there was
    /// something to fetch: a page that is as it began is nowhere else.
    fn give_back(&mut self, page: PageId, now: Nanos) -> bool {
        let flags = self.store.flags(page);
        if flags.any(Flags::ZERO) {
            return false;
        }
        self.replacement.prefetch(page);
        self.store.set(page, Flags::GIVEN);
        if flags.any(Flags::IN_DRAM) {
            self.buffer.rescue(page, &mut self.store);
        } else if flags.are_zeros_of_tier() {
            self.forget_copy(page);
        } else if !flags.any(Flags::FLIGHT) {
            self.read(page, Class::Prefetch, now);
        }
        true
    }
}
