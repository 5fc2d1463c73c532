//! The threads of the programs, each with its own virtual clock.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use terrace_base::Nanos;
use terrace_policy::Space;
use terrace_policy::replacement::PageId;

use super::outcome::Clock;
use crate::workload::{Batch, Reference};

/// No moment that is ever reached.
pub(super) const NEVER: Nanos = Nanos(u64::MAX);

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has touches to make.
    Running,
    /// It was not there, or slept, until a run before its next in the trace has been made.
    Held(Mark),
    /// It waits for a page that is being read.
    Reading(PageId),
    /// It faulted on this page; when the others have come as far, the device is asked.
    Faulting(PageId, Way),
    /// It faulted on this page, and waits for room in the eviction buffer.
    Evicting(PageId, Way),
    /// Its page is there; it waits for all pages that are being fetched ahead.
    Joining,
    /// Its trace may say more; nothing is known yet.
    Starving,
    /// So much is known of the program's other threads that it is taken to sleep.
    Parked,
}

/// Names the end of a run of touches for which another thread waits.
pub(super) type Mark = u64;

/// A run of touches of a thread.
struct Stretch {
    batch: Arc<Batch>,
    range: Range<usize>,
    /// The run that has to be made before it.
    after: Option<Mark>,
    /// The name of its end, if somebody waits for that.
    mark: Option<Mark>,
}

/// Where a page comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is new.
    New,
    /// The eviction buffer.
    Near,
    /// The tier.
    Far,
}

impl State {
    /// Whether the thread runs on a processor, as far as is known.
    pub(super) fn is_awake(self) -> bool {
        !matches!(self, Self::Held(_) | Self::Parked)
    }

    /// Whether the thread can go on by itself once the others have come as far.
    pub(super) fn is_ready(self) -> bool {
        matches!(self, Self::Running | Self::Faulting(..) | Self::Starving)
    }
}

/// Touches that are foretold at a time, and made without looking up.
pub(super) const WINDOW: usize = 32;

/// One thread.
pub(super) struct Thread {
    pub(super) program: usize,
    pub(super) space: Space,
    pub(super) state: State,
    /// Picoseconds that it computed.
    computed_ps: u64,
    /// Time that it did not compute: faults, and waiting.
    stalled: Nanos,
    /// The batch that it is in.
    batch: Option<Arc<Batch>>,
    /// Its touches there that were not made yet.
    left: Range<usize>,
    /// Up to here it was foretold which these are.
    foretold: usize,
    /// The name of their end.
    mark: Option<Mark>,
    /// Where its touches go on after that.
    later: VecDeque<Stretch>,
    /// Where its last known run ends in the trace of its program.
    pub(super) known_to: u64,
    /// Whether it has not begun.
    unborn: bool,
    /// Picoseconds an instruction, and picoseconds a touch.
    pace: (u64, u64),
    /// Touches that it has made, or that are pending.
    pub(super) made: u64,
    /// When it faulted last.
    pub(super) faulted: Nanos,
    /// The next touch, if the clock is there already.
    pub(super) pending: Option<Reference>,
    /// Time spent that a machine with DRAM for everything would not spend.
    pub(super) penalty: Nanos,
}

impl Thread {
    /// A thread that has not begun; an instruction and a touch take it so many picoseconds.
    pub(super) fn new(program: usize, space: Space, pace: (u64, u64)) -> Self {
        Self {
            program,
            space,
            state: State::Starving,
            computed_ps: 0,
            stalled: Nanos::ZERO,
            batch: None,
            left: 0..0,
            foretold: 0,
            mark: None,
            known_to: 0,
            unborn: true,
            later: VecDeque::new(),
            pace,
            made: 0,
            faulted: Nanos::ZERO,
            pending: None,
            penalty: Nanos::ZERO,
        }
    }

    /// Its virtual time.
    #[inline]
    pub(super) fn now(&self) -> Nanos {
        self.computed() + self.stalled
    }

    /// The time that it computed.
    #[inline]
    pub(super) fn computed(&self) -> Nanos {
        Nanos(self.computed_ps / 1000)
    }

    /// It spends time without computing, as it would with DRAM for everything.
    #[inline]
    pub(super) fn stall(&mut self, time: Nanos) {
        self.stalled += time;
    }

    /// It spends time that it would not with DRAM for everything.
    #[inline]
    pub(super) fn lose(&mut self, time: Nanos) {
        self.stalled += time;
        self.penalty += time;
    }

    /// It loses the time until `moment`; returns how much.
    pub(super) fn lose_until(&mut self, moment: Nanos) -> Nanos {
        let lost = moment.saturating_sub(self.now());
        self.lose(lost);
        lost
    }

    /// It sleeps until another thread is as far as `moment`, if that is later, on the simulated
    /// machine and with DRAM alone; returns for how long, since it began and since `from`.
    fn sleep_until(&mut self, moment: Clock, from: Nanos) -> Nanos {
        let (before, own) = (self.now(), Clock::of(self).all_dram());
        self.stall(moment.now.saturating_sub(before));
        self.penalty = self.now().saturating_sub(own.max(moment.all_dram()));
        let begin = if self.unborn { NEVER } else { before.max(from) };
        self.now().saturating_sub(begin)
    }

    /// More touches are known, `range` of a batch, to be made after a run that has a name.
    pub(super) fn feed(&mut self, batch: &Arc<Batch>, range: Range<usize>, after: Option<Mark>) {
        self.later.push_back(Stretch {
            batch: Arc::clone(batch),
            range,
            after,
            mark: None,
        });
    }

    /// Names the end of its last known run. None where that has been made, or there is none.
    pub(super) fn name_end(&mut self, mark: Mark) -> Option<Mark> {
        let made = self.left.is_empty() && matches!(self.state, State::Starving | State::Parked);
        match self.later.back_mut() {
            Some(last) => last.mark = Some(mark),
            None if made => return None,
            None => self.mark = Some(mark),
        }
        Some(mark)
    }

    /// The name of the end of a run that it has made just now.
    pub(super) fn take_mark(&mut self) -> Option<Mark> {
        if self.left.is_empty() {
            self.mark.take()
        } else {
            None
        }
    }

    /// What its next run waits for.
    pub(super) fn waits_for(&self) -> Option<Mark> {
        match self.later.front() {
            Some(next) if self.left.is_empty() => next.after,
            _ => None,
        }
    }

    /// That has come to pass at `moment`; returns for how long it slept, since it began and since
    /// `from`.
    pub(super) fn wake(&mut self, moment: Clock, from: Nanos) -> Nanos {
        if let Some(next) = self.later.front_mut() {
            next.after = None;
        }
        self.sleep_until(moment, from)
    }

    /// How many touches are known.
    pub(super) fn known(&self) -> usize {
        let later: usize = self.later.iter().map(|next| next.range.len()).sum();
        self.left.len() + later
    }

    /// Lends the batch with its next touches; [`Thread::give_back`] takes it. None where no touch
    /// is known.
    #[inline]
    pub(super) fn take_batch(&mut self) -> Option<Arc<Batch>> {
        if self.left.is_empty() {
            let next = self.later.pop_front()?;
            self.foretold = next.range.start;
            self.left = next.range;
            self.mark = next.mark;
            self.unborn = false;
            return Some(next.batch);
        }
        self.batch.take()
    }

    /// The next touches in the batch.
    #[inline]
    pub(super) fn window(&self) -> Range<usize> {
        self.left.start..self.left.end.min(self.left.start + WINDOW)
    }

    /// Some touches behind the window, each once.
    #[inline]
    pub(super) fn foretell(&mut self) -> Range<usize> {
        let begin = self.foretold;
        if begin < self.left.end.min(self.left.start + 2 * WINDOW) {
            self.foretold = self.left.end.min(begin + WINDOW);
        }
        begin..self.foretold
    }

    /// So many touches of the batch were made.
    #[inline]
    pub(super) fn give_back(&mut self, batch: Arc<Batch>, made: usize) {
        self.left.start += made;
        self.batch = Some(batch);
    }

    /// Computes up to a touch.
    #[inline]
    pub(super) fn compute(&mut self, touch: Reference) {
        self.made += 1;
        let time = touch.instructions() * self.pace.0 + self.pace.1;
        self.computed_ps = self.computed_ps.saturating_add(time);
    }
}
