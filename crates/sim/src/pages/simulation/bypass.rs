//! Access to a line where slow memory serves lines by itself, and moves of pages between it and
//! DRAM.

use terrace_base::Nanos;
use terrace_policy::migration::{Access, Move, Side};
use terrace_policy::replacement::PageId;

use super::super::bandwidth::Passed;
use super::super::cost::Shootdown;
use super::super::lines::{ALL, Sectors, costs, shootdowns};
use super::super::settings::{Fill, Inclusion};
use super::super::store::Flags;
use super::super::threads::{Thread, Way};
use super::Simulation;
use super::fault::Part;
use crate::workload::{Reference, Target};

impl Simulation {
    /// Lets a thread access a line of a page. It goes on running: an access to slow memory takes
    /// longer, and that is all.
    pub(super) fn access(&mut self, index: usize, touch: Reference, target: Target) {
        if touch.is_write_back() {
            return self.write_line(index, touch.page(), target);
        }
        let (page, write) = (touch.page(), touch.write());
        self.count_access(index, write);
        let next_scan = self.lines.as_ref().map(|lines| lines.next_scan);
        if next_scan.is_some_and(|next| self.threads[index].now() >= next) {
            self.scan(index);
        }
        let placed = self
            .lines
            .as_ref()
            .is_some_and(|lines| lines.is_placed(target.site));
        if !self.store.flags(page).any(Flags::KNOWN) {
            self.come(index, page);
        }
        if placed {
            self.counts.placed_accesses += 1;
            self.wait_for_channel(index, page, Side::Fast, write);
            return;
        }
        if self.store.flags(page).any(Flags::PLACED) {
            self.admit(page);
        }
        if self.store.flags(page).any(Flags::HINT) {
            self.take_hint(index, Access { page, wrote: write });
        }
        self.serve(index, page, write, target.line);
        let wrote = write && !self.is_cached(index);
        self.show(index, Access { page, wrote });
    }

    /// Brings in a new page.
    fn come(&mut self, index: usize, page: PageId) {
        self.counts.first_touches += 1;
        self.store.set(page, Flags::KNOWN.and(Flags::PLACED));
        for part in [Part::Trap, Part::Copy, Part::Map] {
            self.spend(index, part, Way::New);
        }
    }

    /// Puts a page on the side that the policy says.
    fn admit(&mut self, page: PageId) {
        self.store.clear(page, Flags::PLACED);
        let Some(lines) = &mut self.lines else { return };
        match lines.came(page) {
            true => self.store.set(page, Flags::FAST),
            false => {
                self.store.settle(page);
                self.marks.full_at.get_or_insert(self.counts.accesses);
            }
        }
    }

    /// Has DRAM or slow memory serve a line.
    fn serve(&mut self, index: usize, page: PageId, write: bool, line: u8) {
        let bit = 1 << line;
        let mut is_fast = self.store.flags(page).any(Flags::FAST);
        // What is written of a page in DRAM is written there, wherever the line is read.
        let mut writes = write && !is_fast;
        let Some(lines) = &mut self.lines else { return };
        writes &= !lines.cached[self.threads[index].program];
        if is_fast && let Some(sectors) = lines.sectors.get_mut(&page) {
            is_fast = sectors.here & bit != 0;
            sectors.here |= bit;
            sectors.dirty |= bit * u64::from(write);
            if let Some(bandwidth) = lines.bandwidth.as_mut().filter(|_| !is_fast) {
                // DRAM takes it in, for which nobody waits.
                bandwidth.occupy(Side::Fast, page, self.threads[index].picos());
            }
        }
        let side = if is_fast { Side::Fast } else { Side::Slow };
        self.wait_for_channel(index, page, side, writes);
        if !is_fast && let Some(lines) = &self.lines {
            let thread = &mut self.threads[index];
            self.counts.slow_accesses += 1;
            let slower = match writes {
                true => lines.slower.write_ps,
                false => lines.slower.read_ps,
            };
            self.counts.slow_writes += u64::from(writes);
            self.counts.slow_reads += u64::from(!writes);
            self.times.slow_lines += thread.lose_picos(slower);
        }
        if writes {
            self.wear(page, bit);
        }
        let flags = match write {
            true => Flags::ACCESSED.and(Flags::DIRTY).and(Flags::WRITTEN),
            false => Flags::ACCESSED,
        };
        self.store.set(page, flags);
    }

    /// Has a thread wait until a line of a page can pass the channel of its memory.
    #[inline]
    pub(super) fn wait_for_channel(&mut self, index: usize, page: PageId, side: Side, write: bool) {
        let Some(lines) = &mut self.lines else { return };
        if let Some(bandwidth) = &mut lines.bandwidth {
            let lost = bandwidth.serve(side, page, write, &mut self.threads[index]);
            *self.times.wait_of(side) += lost;
            if bandwidth.is_long() {
                let goes_on = self.threads.iter().filter(|thread| thread.is_under_way());
                let earliest = goes_on.map(Thread::picos).min();
                bandwidth.forget(earliest.unwrap_or(0));
            }
        }
    }

    /// Has lines of a page pass the channels of both memories from now on.
    fn pass_channels(&mut self, index: usize, page: PageId, lines: u64) -> Passed {
        let now = self.threads[index].picos();
        let bandwidth = self
            .lines
            .as_mut()
            .and_then(|lines| lines.bandwidth.as_mut());
        bandwidth.map_or_else(Passed::default, |bandwidth| {
            bandwidth.pass(page, lines, now)
        })
    }

    /// Has a thread wait until what it moves has passed.
    fn wait_until_passed(&mut self, index: usize, passed: Passed) {
        for side in [Side::Slow, Side::Fast] {
            *self.times.wait_of(side) += passed.wait(side, &mut self.threads[index]);
        }
    }

    /// Whether the trace of a thread has passed caches: what it writes comes back by itself.
    fn is_cached(&self, index: usize) -> bool {
        let program = self.threads[index].program;
        self.lines
            .as_ref()
            .is_some_and(|lines| lines.cached[program])
    }

    /// Shows an access to the policy, if it looks at that one, and does what it asks for.
    pub(super) fn show(&mut self, index: usize, access: Access) {
        let now = self.threads[index].now();
        let Some(lines) = &mut self.lines else { return };
        if lines.is_sample() {
            lines.sampled(access, now);
            self.counts.samples += 1;
            self.times.sample += self.settings.sample;
            self.threads[index].lose(self.settings.sample);
            self.carry_out(index);
        }
    }

    /// Handles a fault that only shows an access.
    fn take_hint(&mut self, index: usize, access: Access) {
        self.counts.hint_faults += 1;
        self.store.clear(access.page, Flags::HINT);
        self.spend(index, Part::Trap, Way::Near);
        self.spend(index, Part::Map, Way::Near);
        let now = self.threads[index].now();
        if let Some(lines) = &mut self.lines {
            lines.hinted(access, now);
        }
        self.carry_out(index);
    }

    /// Collects the accessed and dirty bits for the policy and clears them, which processors have
    /// to be told.
    fn scan(&mut self, index: usize) {
        let mut accessed = Vec::new();
        for page in (0..self.store.len() as u32).map(PageId) {
            let flags = self.store.flags(page);
            if flags.any(Flags::ACCESSED) {
                self.store.clear(page, Flags::ACCESSED.and(Flags::WRITTEN));
                let wrote = flags.any(Flags::WRITTEN);
                accessed.push(Access { page, wrote });
            }
        }
        self.shoot_down(index);
        let now = self.threads[index].now();
        if let Some(lines) = &mut self.lines {
            lines.scan(&accessed, now);
        }
        self.carry_out(index);
    }

    /// Does what the policy has asked for.
    fn carry_out(&mut self, index: usize) {
        let now = self.threads[index].now();
        let Some(lines) = &mut self.lines else { return };
        for page in std::mem::take(&mut lines.plan.hints) {
            if self.store.flags(page).any(Flags::KNOWN) {
                self.store.set(page, Flags::HINT);
                lines.mark(page, now);
            }
        }
        let moves = std::mem::take(&mut lines.plan.moves);
        for one in &moves {
            self.migrate(index, *one);
        }
        if self.settings.fault.shootdown == Shootdown::Batched && !moves.is_empty() {
            self.tell_all(index);
        }
    }

    /// Moves a page to the other side.
    fn migrate(&mut self, index: usize, one: Move) {
        self.spend(index, Part::Unmap, Way::Near);
        match one.to {
            Side::Fast => self.promote(index, one.page),
            Side::Slow => self.demote(index, one.page),
        }
        self.spend(index, Part::Map, Way::Near);
        if self.settings.fault.shootdown != Shootdown::Batched {
            self.tell_all(index);
        }
    }

    fn promote(&mut self, index: usize, page: PageId) {
        self.counts.promotions += 1;
        // The copy that stays behind is up to date.
        self.store.set(page, Flags::FAST);
        self.store.clear(page, Flags::DIRTY);
        if self.settings.inclusion == Inclusion::Exclusive {
            self.store.give_up(page);
        }
        let Some(lines) = &mut self.lines else { return };
        match self.settings.fill {
            Fill::Page => {
                let all = u64::from(ALL.count_ones());
                self.counts.move_reads += all;
                let passed = self.pass_channels(index, page, all);
                self.spend(index, Part::Copy, Way::Near);
                self.wait_until_passed(index, passed);
            }
            Fill::Sectors => {
                let none = Sectors { here: 0, dirty: 0 };
                lines.sectors.insert(page, none);
            }
        }
    }

    fn demote(&mut self, index: usize, page: PageId) {
        self.counts.demotions += 1;
        let flags = self.store.flags(page);
        let has_copy = flags.any(Flags::TIER);
        self.store.clear(page, Flags::FAST);
        self.store.settle(page);
        let Some(lines) = &mut self.lines else { return };
        let held = lines.sectors.remove(&page);
        let copied = match held {
            Some(sectors) => sectors.dirty,
            None if has_copy && !flags.any(Flags::DIRTY) => 0,
            None => ALL,
        };
        self.wear(page, copied);
        let copied = u64::from(copied.count_ones());
        self.counts.move_writes += copied;
        let passed = self.pass_channels(index, page, copied);
        let time = Nanos(self.settings.copy_out().0 * copied / 64);
        self.times.copy += time;
        self.threads[index].lose(time);
        self.wait_until_passed(index, passed);
    }

    /// Counts a write of some lines of a page that lies in slow memory, a bit each.
    pub(super) fn wear(&mut self, page: PageId, lines: u64) {
        let Some(state) = &mut self.lines else { return };
        if let Some(wear) = &mut state.wear
            && let Some(place) = self.store.place_of(page)
        {
            wear.write(place, lines);
        }
    }

    /// Tells the other processors of pages that have moved.
    fn tell_all(&mut self, index: usize) {
        for _ in 0..shootdowns(&self.settings.fault) {
            self.shoot_down(index);
        }
    }

    /// Tells the policy what moves cost, now that a program has another thread.
    pub(super) fn weigh(&mut self) {
        let Some(lines) = &mut self.lines else { return };
        let most = self.programs.iter().map(|program| program.threads.len());
        let threads = self.settings.threads;
        let threads = threads.unwrap_or(most.max().unwrap_or(1) as u32);
        let costs = costs(&self.settings, lines.slower, threads);
        lines.set_costs(costs);
    }
}
