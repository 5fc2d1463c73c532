//! The life of a program in a session, however it gets its budget: its start, and its end with all
//! that it has started.

use std::sync::Arc;
use std::time::{Duration, Instant};

use terrace_base::{Exit, Result, Target};

use super::{Event, Observer, Outcome, Session};
use crate::group::budget::Budget;
use crate::group::cgroup::processes_in;
use crate::machine::sysctl::{Hand, PageCluster};
use crate::machine::view::Covers;
use crate::program::{Invocation, Program};
use crate::run::running::Running;
use crate::watch::written;

/// Time that processes may outlive the program before a notice says so.
const STRAGGLE: Duration = Duration::from_millis(300);

/// What ends with a program that is followed, beside what it runs with.
#[derive(Default)]
pub(super) struct Held {
    /// The kernel's readahead, if the way sets it.
    pub knob: Option<PageCluster>,
    /// What looks at its writes.
    pub writes: Option<written::Watch>,
}

impl Session {
    /// Starts a program in its group, of whose files some are covered; from now on it gets the
    /// signals.
    pub(super) fn start(
        &self,
        invocation: &Invocation,
        budget: &Budget,
        covers: Option<Covers>,
    ) -> Result<Program> {
        // Here, so that no process of ours belongs to the program's name space.
        self.signals.aim(Target::Starting);
        let start = || Program::start(invocation, &budget.entrances(), &self.signals);
        let program = match covers {
            Some(covers) => covers.within(start)??,
            None => start()?,
        };
        self.signals.aim(Target::program(program.pid()));
        // A signal between the start and here reached no process.
        self.signals.pass_on();
        Ok(program)
    }

    /// Waits until a program and all processes that it started have ended; measures it meanwhile.
    pub(super) fn follow(
        &self,
        program: Program,
        running: Running,
        held: Held,
        observer: Observer,
    ) -> Result<Outcome> {
        let (budget, hand) = (running.budget, running.readahead);
        let the_rest = |exit, observer: Observer| self.await_the_rest(budget, exit, observer);
        let (ended, seen) = running.watch(program, the_rest, observer);
        self.signals.aim(Target::Nobody);
        if let Some(tier) = self.far.swap() {
            tier.follow(None);
        }
        let mut outcome = running.outcome(ended?, seen);
        self.tell_of_phase(&outcome, observer);
        drop(held.knob);
        // Another program may have written it after the last look.
        if let Some(notice) = hand.and_then(Hand::notice) {
            observer(Event::Notice(&notice));
        }
        outcome.written = held.writes.map(written::Watch::finish);
        Ok(outcome)
    }

    /// Says so if the program ended before its figures were to begin to count.
    fn tell_of_phase(&self, outcome: &Outcome, observer: Observer) {
        if let (Some(after), None) = (self.measures.after, outcome.phase.from) {
            observer(Event::Notice(&format!(
                "the program ended before the {} s of --after, so the figures are of the whole run",
                after.as_secs_f64()
            )));
        }
    }

    /// Waits for processes that outlive the program, because their memory is in the tier; returns
    /// whether there were any.
    pub(super) fn await_the_rest(
        &self,
        budget: &Budget,
        exit: Option<Exit>,
        observer: Observer,
    ) -> bool {
        self.signals.forget_survived(exit.as_slice());
        let group = budget.directories()[0].clone();
        let left = move || processes_in(&group);
        self.signals.aim(Target::Left(Arc::new(left)));
        self.signals.pass_on();
        let since = Instant::now();
        let (mut told, mut is_outlived) = (false, false);
        while !budget.processes().is_empty() {
            is_outlived = true;
            if !told && since.elapsed() > STRAGGLE {
                told = true;
                observer(Event::Notice(&format!(
                    "the program has ended, {} of the processes it started still run; \
                     waiting for them (a SIGTERM to terrace ends them)",
                    budget.processes().len()
                )));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        is_outlived
    }
}
