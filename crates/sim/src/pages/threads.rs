//! Threads of the simulated programs, each with its own virtual clock.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use terrace_base::Nanos;
use terrace_policy::Space;
use terrace_policy::replacement::PageId;
use terrace_trace::changes::Change;
use terrace_trace::order::Point;

use super::outcome::Clock;
use crate::workload::{Batch, Reference, Target};

/// Moment that is never reached.
pub(super) const NEVER: Nanos = Nanos(u64::MAX);

/// Moment at which clocks stop, 438 years: a thread that reaches it has impossible counts.
const LAST: Nanos = Nanos(3 << 62);

/// The last moment in picoseconds at which memory is drawn from.
const LAST_PICOS: u64 = u64::MAX / 2;

/// State of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The thread has touches to make.
    Running,
    /// The thread has not begun, or sleeps, until the run of touches before its next run in the
    /// trace is complete.
    Held(Mark),
    /// The thread waits for a page that is being read.
    Reading(PageId),
    /// The thread faulted on this page; the device is asked once the other threads reach this
    /// moment.
    Faulting(PageId, Way),
    /// The thread faulted on this page and waits for room in the eviction buffer.
    Evicting(PageId, Way),
    /// The page of the thread has arrived; the thread waits for all pages that are being fetched
    /// ahead.
    Joining,
    /// No touch is known that the thread has to make; its trace may hold more.
    #[default]
    Starving,
    /// The thread is taken to be asleep: much was read of the program's other threads, and no touch
    /// of this one.
    Parked,
}

/// Name of the end of a run of touches for which other threads may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// Point of a program that its trace names.
    Point(usize, Point),
    /// End of the run before the first of a thread, which its trace leaves open.
    Place(u64),
}

/// Run of touches of a thread.
struct Stretch {
    batch: Arc<Batch>,
    range: Range<usize>,
    /// Pages of the batch that are given back before.
    discards: Range<usize>,
    /// Instructions before.
    pause: u64,
    /// Runs that have to complete before this one.
    after: Vec<Mark>,
    /// Names of the end of this run.
    marks: Vec<Mark>,
}

/// Source of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// New page without contents.
    New,
    /// Eviction buffer.
    Near,
    /// Memory between DRAM and the tier.
    Middle,
    /// Tier.
    Far,
    /// Tier, which needs not be read: the page is zeros.
    Zeros,
}

impl Way {
    /// Returns whether the page was behind DRAM.
    pub(super) fn is_behind_dram(self) -> bool {
        matches!(self, Self::Middle | Self::Far | Self::Zeros)
    }
}

impl State {
    /// Returns whether the thread runs on a processor, as far as is known.
    pub(super) fn is_awake(self) -> bool {
        !matches!(self, Self::Held(_) | Self::Parked)
    }

    /// Returns whether the thread can continue by itself once the other threads reach its moment.
    pub(super) fn is_ready(self) -> bool {
        matches!(self, Self::Running | Self::Faulting(..) | Self::Starving)
    }
}

/// Number of touches that are announced at a time, and made without another look-up.
pub(super) const WINDOW: usize = 32;

/// A thread of a program.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) program: usize,
    pub(super) space: Space,
    pub(super) state: State,
    /// Computing time, in picoseconds.
    computed_ps: u64,
    /// Time without computing, faults and waits, and that of long pauses.
    stalled: Nanos,
    /// Computing time of long pauses, more than `computed_ps` may hold.
    paused: Nanos,
    /// Batch that holds the current run.
    batch: Option<Arc<Batch>>,
    /// Touches of the current run that were not made yet.
    left: Range<usize>,
    /// Pages that are given back before them.
    discards: Range<usize>,
    /// End of the touches of the current run that were announced.
    foretold: usize,
    /// Names of the end of the current run.
    marks: Vec<Mark>,
    /// Runs that have to complete before the next run that is fed.
    after: Vec<Mark>,
    /// Runs after the current one.
    later: VecDeque<Stretch>,
    /// End of the last known run in the trace of the program.
    pub(super) known_to: u64,
    /// Whether the thread has not begun.
    unborn: bool,
    /// Picoseconds per instruction, and picoseconds per touch.
    pace: (u64, u64),
    /// Number of touches made or pending.
    pub(super) made: u64,
    /// Pages that it waits for and maps beside that of its fault, if it has one.
    pub(super) to_map: u64,
    /// Pages that readahead has fetched beside that of the fault.
    pub(super) read_ahead: u64,
    /// Moment of the last fault.
    pub(super) faulted: Nanos,
    /// Next touch, if the clock has reached it.
    pub(super) pending: Option<Reference>,
    /// Time spent that a machine with DRAM for everything would not spend.
    pub(super) penalty: Nanos,
    /// What of it the thread lost by itself, and not by waiting for others that had.
    pub(super) lost: Nanos,
    /// Time in which it had not begun, or slept.
    pub(super) slept: Nanos,
    /// Picoseconds spent that are not a nanosecond yet.
    picos: u64,
}

impl Thread {
    /// Returns a thread that has not begun; `pace` is picoseconds per instruction and per touch.
    pub(super) fn new(program: usize, space: Space, pace: (u64, u64)) -> Self {
        Self {
            program,
            space,
            unborn: true,
            pace,
            ..Self::default()
        }
    }

    /// Returns the virtual time of the thread.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        Nanos(self.computed_ps / 1000) + self.stalled
    }

    /// Returns the computing time.
    #[inline]
    pub(super) fn computed(&self) -> Nanos {
        Nanos(self.computed_ps / 1000) + self.paused
    }

    /// Returns the virtual time in picoseconds; half of what a number can hold, 106 days, if it is
    /// later ([`Thread::is_beyond_picos`]).
    pub(super) fn picos(&self) -> u64 {
        let stalled = self.stalled.0.saturating_mul(1000);
        let all = stalled.saturating_add(self.computed_ps);
        all.saturating_add(self.picos).min(LAST_PICOS)
    }

    /// Returns whether the thread may go on at its clock: it neither sleeps nor waits for others.
    pub(super) fn is_under_way(&self) -> bool {
        !matches!(self.state, State::Held(_) | State::Parked)
    }

    /// Returns whether [`Thread::picos`] is too far to count on.
    pub(super) fn is_beyond_picos(&self) -> bool {
        self.picos() == LAST_PICOS
    }

    /// Returns whether the clock is too far to count on.
    pub(super) fn is_beyond(&self) -> bool {
        self.now() >= LAST
    }

    /// Spends time without computing that DRAM for everything would cost as well.
    #[inline]
    pub(super) fn stall(&mut self, time: Nanos) {
        self.stalled += time;
    }

    /// Spends time that DRAM for everything would not cost.
    #[inline]
    pub(super) fn lose(&mut self, time: Nanos) {
        self.stalled += time;
        self.penalty += time;
        self.lost += time;
    }

    /// Spends picoseconds that DRAM for everything would not cost; parts of a nanosecond add up.
    #[inline]
    pub(super) fn lose_picos(&mut self, time: u64) -> Nanos {
        let all = self.picos + time;
        self.picos = all % 1000;
        let lost = Nanos(all / 1000);
        self.lose(lost);
        lost
    }

    /// Loses the time until `moment`; returns the time lost.
    pub(super) fn lose_until(&mut self, moment: Nanos) -> Nanos {
        let lost = moment.saturating_sub(self.now());
        self.lose(lost);
        lost
    }

    /// Returns the clocks of the thread.
    pub(super) fn clock(&self) -> Clock {
        Clock {
            program: self.program,
            now: self.now(),
            penalty: self.penalty,
        }
    }

    /// Sleeps until another thread's clock `moment`, if it is later, on the simulated machine and
    /// with DRAM alone; returns the time slept since the thread began and since `from`.
    fn sleep_until(&mut self, moment: Clock, from: Nanos) -> Nanos {
        let (before, own) = (self.now(), self.clock().all_dram());
        let asleep = moment.now.saturating_sub(before);
        self.stall(asleep);
        self.slept += asleep;
        self.penalty = self.now().saturating_sub(own.max(moment.all_dram()));
        let begin = if self.unborn { NEVER } else { before.max(from) };
        self.now().saturating_sub(begin)
    }

    /// Has the next run that is fed wait for another to complete.
    pub(super) fn come_after(&mut self, mark: Mark) {
        self.after.push(mark);
    }

    /// Returns whether the next run that is fed waits for others.
    pub(super) fn is_ordered(&self) -> bool {
        !self.after.is_empty()
    }

    /// Appends the run `range` of a batch; before it the thread executes `pause` instructions, and
    /// the pages at `discards` are given back.
    pub(super) fn feed(
        &mut self,
        batch: &Arc<Batch>,
        range: Range<usize>,
        discards: Range<usize>,
        pause: u64,
    ) {
        self.later.push_back(Stretch {
            batch: Arc::clone(batch),
            range,
            discards,
            pause,
            after: std::mem::take(&mut self.after),
            marks: Vec::new(),
        });
    }

    /// Has a thread go on that had nothing to do.
    pub(super) fn start_over(&mut self) {
        if matches!(self.state, State::Parked | State::Starving) {
            self.state = State::Running;
        }
    }

    /// Names the end of the last known run. Returns whether that run is yet to be completed.
    pub(super) fn name_end(&mut self, mark: Mark) -> bool {
        let made = self.left.is_empty() && matches!(self.state, State::Starving | State::Parked);
        match self.later.back_mut() {
            Some(last) => last.marks.push(mark),
            None if made => return false,
            None => self.marks.push(mark),
        }
        true
    }

    /// Takes a name of the end of the current run, if the run is complete.
    #[inline]
    pub(super) fn take_mark(&mut self) -> Option<Mark> {
        match self.left.is_empty() {
            true => self.marks.pop(),
            false => None,
        }
    }

    /// Returns the name of an end that the next run waits for.
    pub(super) fn waits_for(&self) -> Option<Mark> {
        match self.later.front() {
            Some(next) if self.left.is_empty() => next.after.last().copied(),
            _ => None,
        }
    }

    /// Ends the wait of the next run for one other at `moment`; returns the time slept since the
    /// thread began and since `from`.
    pub(super) fn wake(&mut self, moment: Clock, from: Nanos) -> Nanos {
        self.go_on();
        self.sleep_until(moment, from)
    }

    /// Ends the wait of the next run for one other.
    pub(super) fn go_on(&mut self) {
        if let Some(next) = self.later.front_mut() {
            next.after.pop();
        }
    }

    /// Returns the number of known touches that were not made.
    pub(super) fn known(&self) -> usize {
        let later: usize = self.later.iter().map(|next| next.range.len()).sum();
        self.left.len() + later
    }

    /// Lends the batch with the next touches; [`Thread::give_back`] takes it back. Returns `None`
    /// if no touch is known.
    #[inline]
    pub(super) fn take_batch(&mut self) -> Option<Arc<Batch>> {
        if self.left.is_empty() {
            let next = self.later.pop_front()?;
            self.foretold = next.range.start;
            self.left = next.range;
            self.discards = next.discards;
            self.marks = next.marks;
            self.unborn = false;
            if next.pause > 0 {
                self.pause(next.pause);
            }
            return Some(next.batch);
        }
        self.batch.take()
    }

    /// Takes the places in the batch of pages that are given back before the next touch.
    #[inline]
    pub(super) fn take_discards(&mut self) -> Range<usize> {
        std::mem::take(&mut self.discards)
    }

    /// Returns the range of the next touches in the batch.
    #[inline]
    pub(super) fn window(&self) -> Range<usize> {
        self.left.start..self.left.end.min(self.left.start + WINDOW)
    }

    /// Returns touches beyond the window to announce; each touch is returned once.
    #[inline]
    pub(super) fn foretell(&mut self) -> Range<usize> {
        let begin = self.foretold;
        if begin < self.left.end.min(self.left.start + 2 * WINDOW) {
            self.foretold = self.left.end.min(begin + WINDOW);
        }
        begin..self.foretold
    }

    /// Returns what the last touch before those that are left changes in its page.
    pub(super) fn last_change(&self) -> Change<'_> {
        let last = self.left.start.checked_sub(1);
        let batch = self.batch.as_ref().zip(last);
        batch.map_or(Change::default(), |(batch, last)| batch.changes.of(last))
    }

    /// Returns what the last touch before those that are left is of.
    pub(super) fn last_target(&self) -> Target {
        let last = self.left.start.checked_sub(1);
        let batch = self.batch.as_ref().zip(last);
        batch.map_or(Target::default(), |(batch, last)| batch.target(last))
    }

    /// Returns whether the last touch before those that are left leaves zeros in its page.
    pub(super) fn last_leaves_zeros(&self) -> bool {
        let last = self.left.start.checked_sub(1);
        let batch = self.batch.as_ref().zip(last);
        batch.is_some_and(|(batch, last)| batch.zeros.get(last) == Some(&true))
    }

    /// Takes the batch back after `made` of its touches were made.
    #[inline]
    pub(super) fn give_back(&mut self, batch: Arc<Batch>, made: usize) {
        self.left.start += made;
        self.batch = Some(batch);
    }

    /// Advances the clock by the computing time of many instructions.
    #[cold]
    fn pause(&mut self, instructions: u64) {
        let picos = u128::from(instructions) * u128::from(self.pace.0);
        let left = LAST.saturating_sub(self.now());
        let nanos = u64::try_from(picos / 1000).map_or(left, |nanos| left.min(Nanos(nanos)));
        self.paused += nanos;
        self.stalled += nanos;
        self.computed_ps = self.computed_ps.saturating_add((picos % 1000) as u64);
    }

    /// Advances the clock by the computing time up to and including a touch. A line that is written
    /// back takes none.
    #[inline]
    pub(super) fn compute(&mut self, touch: Reference) {
        let touches = u64::from(!touch.is_write_back());
        self.made += touches;
        let time = touch.instructions() * self.pace.0 + touches * self.pace.1;
        self.computed_ps = self.computed_ps.saturating_add(time);
    }
}
