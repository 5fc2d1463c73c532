//! The threads of the programs, each with its own virtual clock.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use terrace_base::Nanos;
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
    /// Where its touches go on after that.
    later: VecDeque<(Arc<Batch>, Range<usize>)>,
    /// Picoseconds an instruction, and picoseconds a touch.
    pace: (u64, u64),
    /// The next touch, if the clock is there already.
    pub(super) pending: Option<Reference>,
    /// Time spent that a machine with DRAM for everything would not spend.
    pub(super) penalty: Nanos,
}

impl Thread {
    /// A thread that begins at `start`, an other's clock; an instruction and a touch take so many picoseconds.
    pub(super) fn new(program: usize, start: Clock, pace: (u64, u64)) -> Self {
        Self {
            program,
            state: State::Starving,
            computed_ps: 0,
            stalled: start.now,
            batch: None,
            left: 0..0,
            foretold: 0,
            later: VecDeque::new(),
            pace,
            pending: None,
            penalty: start.penalty,
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

    /// It spends time without computing.
    #[inline]
    pub(super) fn stall(&mut self, time: Nanos) {
        self.stalled += time;
    }

    /// It does nothing until `moment`; returns for how long.
    pub(super) fn wait_until(&mut self, moment: Nanos) -> Nanos {
        let waited = moment.saturating_sub(self.now());
        self.stalled += waited;
        waited
    }

    /// It sleeps until another thread is as far as `present`, if that is later, on the simulated
    /// machine and with DRAM alone; returns for how long.
    pub(super) fn sleep_until(&mut self, present: Clock) -> Nanos {
        let own = Clock::of(self).all_dram();
        let slept = self.wait_until(present.now);
        self.penalty = self.now().saturating_sub(own.max(present.all_dram()));
        slept
    }

    /// More touches are known.
    pub(super) fn feed(&mut self, batch: &Arc<Batch>, begin: usize, end: usize) {
        self.later.push_back((Arc::clone(batch), begin..end));
    }

    /// How many touches are known.
    pub(super) fn known(&self) -> usize {
        let later: usize = self.later.iter().map(|(_, range)| range.len()).sum();
        self.left.len() + later
    }

    /// Lends the batch with its next touches; [`Thread::give_back`] takes it. None where no touch
    /// is known.
    #[inline]
    pub(super) fn take_batch(&mut self) -> Option<Arc<Batch>> {
        if self.left.is_empty() {
            let (batch, left) = self.later.pop_front()?;
            self.foretold = left.start;
            self.left = left;
            return Some(batch);
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
        self.computed_ps += touch.instructions() * self.pace.0 + self.pace.1;
    }
}
