//! Rotation: on each CPU one task, whose turn it is, is scheduled as it was found, and the others
//! only where nothing else wants to run (`SCHED_IDLE`).
//!
//! A task outside of the mix that wakes up gets the CPU at once, and then the same task goes on:
//! the aggregation of timeslices of Fedorov 2016 (3.3), without a patched kernel. While the task
//! whose turn it is sleeps, the others run; no time is lost, and what they get is accounted for.
//! Whose turn is next is [`Fair`]'s to say, of all tasks on all CPUs.
//!
//! A thread for each CPU passes the turn on. It runs on that CPU and in real time if that is
//! allowed: the kernel looks for the next task when the thread goes back to sleep, and not a tick
//! (4 ms) later. The kernel then protects the task that it takes from others for the shortest slice
//! that is asked for, and looks again at a tick; so the task whose turn it is has the longest
//! slice, beside which one that wakes up goes first at once (`PREEMPT_SHORT`).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use terrace_base::process::Figures;
use terrace_base::{Result, lock};
use terrace_policy::sched::{Curve, Ended, Fair, Next, Progress, Task, Turns};

use super::counters::Reading;
use super::held::Changed;
use super::mechanism::{Mechanism, Steered};
use super::sample::Sample;
use crate::system::cpus::Cpus;
use crate::system::worker::Worker;

/// Longest pause between two looks at a turn, in which a task that fell asleep keeps it.
const LOOK_EVERY: Duration = Duration::from_millis(40);
/// A look is so much later than a task needs that runs alone: one that comes early has to be
/// repeated, and after some milliseconds of the task all that it needs is out of the cache.
const LATER: Duration = Duration::from_micros(200);
/// Pause while no turns are to be passed on.
const REST: Duration = Duration::from_millis(50);
/// A turn ends when it has taken so many times its length, others included, and at least this long.
const OVERDUE: (u32, Duration) = (10, Duration::from_millis(200));
/// Part of the time between two looks below which a task is asked whether it sleeps.
const IDLES: u32 = 4;

/// Tasks that take turns by rotation.
pub(crate) struct Rotation {
    // Ends before the tasks are put back.
    _threads: Vec<Worker>,
    table: Arc<Mutex<Table>>,
}

impl Rotation {
    /// Begins on these CPUs, without tasks yet.
    ///
    /// # Errors
    /// A failure if threads cannot be started.
    pub fn start(policy: Box<dyn Turns>, cpus: &Cpus) -> Result<Self> {
        let table = Arc::new(Mutex::new(Table::new(policy, cpus)));
        let thread = |(seat, cpu): (usize, usize)| {
            let table = Arc::clone(&table);
            Worker::start("terrace-turns", move |stop| {
                pass_on(&table, seat, cpu, stop)
            })
        };
        let threads = cpus.iter().enumerate().map(thread);
        Ok(Self {
            _threads: threads.collect::<Result<_>>()?,
            table,
        })
    }
}

impl Mechanism for Rotation {
    fn admit(&mut self, task: Steered) {
        lock(&self.table).admit(task);
    }

    fn release(&mut self, tid: u32) {
        lock(&self.table).release(Task(tid));
    }

    fn tend(&mut self) -> Vec<u32> {
        lock(&self.table).tend()
    }

    fn asked(&mut self) -> Option<Duration> {
        let (count, time) = std::mem::take(&mut lock(&self.table).lately);
        (count > 0).then(|| time / count)
    }

    fn asked_in_all(&self) -> Option<Duration> {
        let mean = lock(&self.table).asked.mean();
        mean.map(Duration::from_secs_f64)
    }

    fn curve(&self, tid: u32) -> Option<Curve> {
        lock(&self.table).policy.curve(Task(tid)).cloned()
    }
}

/// Body of the thread of one CPU.
fn pass_on(table: &Mutex<Table>, seat: usize, cpu: usize, stop: &AtomicBool) {
    // On another CPU or without priority turns are passed on as well, only later.
    let _ = Cpus::one(cpu).set(0);
    in_real_time();
    while !stop.load(Ordering::Relaxed) {
        let pause = lock(table).step(seat, Instant::now());
        thread::park_timeout(pause);
    }
}

/// Puts the calling thread before all that is scheduled as usual.
fn in_real_time() {
    let least = libc::sched_param { sched_priority: 1 };
    // SAFETY: reads the parameter, and concerns the calling thread alone.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const least) };
}

/// A task of the rotation.
struct Seated {
    steered: Steered,
    /// CPUs on which it may have turns.
    cpus: Cpus,
    /// What it had used when that was last accounted for.
    accounted: Duration,
    asleep: bool,
    /// Whether it was last set to run where nothing else wants to.
    deferred: bool,
}

/// The turn on one CPU.
struct Turn {
    task: Task,
    began: Instant,
    /// What the task had used when it began.
    at_first: Reading,
    /// Length that the policy expects.
    planned: Duration,
    /// Time of the last look, and what the task had run in its turn by then.
    looked: (Instant, Duration),
}

/// Whose turn it is on each CPU, and who waits.
struct Table {
    policy: Box<dyn Turns>,
    fair: Fair,
    cpus: Cpus,
    tasks: BTreeMap<Task, Seated>,
    /// The turn on each CPU, in their order.
    seats: Vec<(usize, Option<Turn>)>,
    /// Whether there are more tasks than CPUs, so that they take turns.
    rotates: bool,
    /// Lengths of turns that were asked for, in seconds; and their number and sum lately.
    asked: Sample,
    lately: (u32, Duration),
    /// Tasks that are steered no more, not yet told.
    gone: Vec<u32>,
}

impl Table {
    fn new(policy: Box<dyn Turns>, cpus: &Cpus) -> Self {
        Self {
            policy,
            fair: Fair::default(),
            cpus: cpus.clone(),
            tasks: BTreeMap::new(),
            seats: cpus.iter().map(|cpu| (cpu, None)).collect(),
            rotates: false,
            asked: Sample::default(),
            lately: (0, Duration::ZERO),
            gone: Vec::new(),
        }
    }

    fn admit(&mut self, mut steered: Steered) {
        let task = steered.task();
        let cpus = self.allowed(task);
        if cpus.count() == 0 {
            // Deferred, it would never have a turn.
            return;
        }
        self.fair.join(task, steered.weight());
        let accounted = steered.counters.read().time;
        let seated = Seated {
            steered,
            cpus,
            accounted,
            asleep: false,
            deferred: false,
        };
        self.tasks.insert(task, seated);
        self.settle();
        if self.rotates {
            self.defer(task);
        }
    }

    fn release(&mut self, task: Task) {
        self.leave(task);
        self.settle();
    }

    /// Returns the CPUs on which a task may have turns; none if it may use none of these, or has
    /// ended.
    fn allowed(&self, task: Task) -> Cpus {
        let all = Cpus::of(task.0).unwrap_or_default();
        all.and(&self.cpus)
    }

    /// Removes a task and puts it back.
    fn leave(&mut self, task: Task) {
        for seat in 0..self.seats.len() {
            if self.holder(seat) == Some(task) {
                self.end(seat, Ended::Slept);
            }
        }
        self.fair.forget(task);
        self.policy.forget(task);
        if let Some(seated) = self.tasks.remove(&task) {
            // What cannot be put back now stays in the journal.
            let _ = seated.steered.held.put_back();
        }
    }

    /// Removes a task that has ended, or is to be left alone.
    fn lose(&mut self, task: Task) {
        self.leave(task);
        self.gone.push(task.0);
    }

    /// Begins or ends the rotation, as there are more tasks than CPUs for them or not.
    fn settle(&mut self) {
        let crowded = self.is_crowded();
        match (self.rotates, crowded) {
            (false, true) => {
                self.rotates = true;
                let all: Vec<Task> = self.tasks.keys().copied().collect();
                all.into_iter().for_each(|task| self.defer(task));
            }
            (true, false) => {
                self.rotates = false;
                (0..self.seats.len()).for_each(|seat| self.end(seat, Ended::Cut));
                for seated in self.tasks.values_mut() {
                    seated.deferred = false;
                    let _ = seated.steered.held.put_back();
                }
            }
            _ => {}
        }
    }

    /// Whether tasks share a CPU: more of them than CPUs that they may use, whichever tasks one
    /// takes together.
    fn is_crowded(&self) -> bool {
        let sets = self.tasks.values().map(|seated| &seated.cpus);
        sets.clone().chain([&self.cpus]).any(|set| {
            let within = sets
                .clone()
                .filter(|cpus| cpus.iter().all(|cpu| set.has(cpu)));
            within.count() > set.count()
        })
    }

    fn defer(&mut self, task: Task) {
        let Some(seated) = self.tasks.get_mut(&task) else {
            return;
        };
        seated.deferred = true;
        if seated.steered.held.defer() != Changed::Yes {
            self.lose(task);
        }
    }

    fn holder(&self, seat: usize) -> Option<Task> {
        self.seats[seat].1.as_ref().map(|turn| turn.task)
    }

    /// Does what is due on a CPU, and returns how long nothing will be.
    fn step(&mut self, seat: usize, now: Instant) -> Duration {
        if !self.rotates {
            return REST;
        }
        match self.look(seat, now) {
            Some(pause) => pause,
            None => self.next(seat, now),
        }
    }

    /// Looks at the turn on a CPU; `None` if there is none, or it has ended.
    fn look(&mut self, seat: usize, now: Instant) -> Option<Duration> {
        let turn = self.seats[seat].1.as_mut()?;
        let seated = self.tasks.get_mut(&turn.task)?;
        let reading = seated.steered.counters.read();
        let progress = since(turn.at_first, reading);
        let (looked, ran) = turn.looked;
        let idles = progress.time.saturating_sub(ran) < (now - looked) / IDLES;
        turn.looked = (now, progress.time);
        let taken = now - turn.began;
        let overdue = taken > (turn.planned * OVERDUE.0).max(OVERDUE.1);
        if idles && !wants_to_run(turn.task) {
            self.end(seat, Ended::Slept);
            return None;
        }
        match self.policy.progress(turn.task, progress) {
            Next::Look(at) if !overdue => {
                let left = at.saturating_sub(progress.time);
                Some(until_look(left))
            }
            Next::Look(_) => {
                self.end(seat, Ended::Cut);
                None
            }
            Next::End => {
                self.end(seat, Ended::UsedUp);
                None
            }
        }
    }

    /// Tells the policy that the turn on a CPU has ended. The task stays as it is until another has
    /// its turn.
    fn end(&mut self, seat: usize, why: Ended) {
        let Some(turn) = self.seats[seat].1.take() else {
            return;
        };
        let Some(seated) = self.tasks.get_mut(&turn.task) else {
            return;
        };
        let progress = since(turn.at_first, seated.steered.counters.read());
        self.policy.end(turn.task, progress, why);
        if why == Ended::Slept {
            seated.asleep = true;
            self.fair.leave(turn.task);
        }
    }

    /// Begins the next turn on a CPU.
    fn next(&mut self, seat: usize, now: Instant) -> Duration {
        self.account();
        self.wake();
        let cpu = self.seats[seat].0;
        while let Some(task) = self.fair.next_of(|task| self.may_have(seat, task)) {
            if !wants_to_run(task) {
                match self.tasks.get_mut(&task) {
                    Some(seated) if seated.steered.held.is_there() => {
                        seated.asleep = true;
                        self.fair.leave(task);
                    }
                    _ => self.lose(task),
                }
                continue;
            }
            match self.favour(task, cpu) {
                Some(Changed::Yes) => return self.begin(seat, task, now),
                Some(_) => self.lose(task),
                None => {}
            }
        }
        self.settle();
        LOOK_EVERY
    }

    /// Whether a task may have the turn on a CPU: it may run there, and has no turn elsewhere.
    fn may_have(&self, seat: usize, task: Task) -> bool {
        let allowed = |seated: &Seated| seated.cpus.has(self.seats[seat].0);
        let mut holders = (0..self.seats.len()).map(|seat| self.holder(seat));
        self.tasks.get(&task).is_some_and(allowed) && !holders.any(|holder| holder == Some(task))
    }

    /// Lets a task have its turn on a CPU; `None` if it may no longer run there.
    fn favour(&mut self, task: Task, cpu: usize) -> Option<Changed> {
        let cpus = self.allowed(task);
        let seated = self.tasks.get_mut(&task)?;
        let (none, still) = (cpus.count() == 0, cpus.has(cpu));
        seated.cpus = cpus;
        match (none, still) {
            (true, _) => Some(Changed::Refused),
            (_, true) => {
                seated.deferred = false;
                Some(seated.steered.held.favour(cpu))
            }
            (_, false) => None,
        }
    }

    fn begin(&mut self, seat: usize, task: Task, now: Instant) -> Duration {
        let Some(seated) = self.tasks.get_mut(&task) else {
            return LATER;
        };
        let at_first = seated.steered.counters.read();
        let plan = self.policy.begin(task);
        self.asked.add(plan.turn.as_secs_f64());
        self.lately.0 += 1;
        self.lately.1 += plan.turn;
        self.seats[seat].1 = Some(Turn {
            task,
            began: now,
            at_first,
            planned: plan.turn,
            looked: (now, Duration::ZERO),
        });
        self.defer_others(|seated| !seated.deferred);
        until_look(plan.look)
    }

    /// Defers the tasks without a turn, of some.
    fn defer_others(&mut self, of: impl Fn(&Seated) -> bool) {
        let seats = 0..self.seats.len();
        let holders: Vec<Task> = seats.filter_map(|seat| self.holder(seat)).collect();
        let some = self.tasks.iter().filter(|(_, seated)| of(seated));
        let others = some.filter(|(task, _)| !holders.contains(task));
        let others: Vec<Task> = others.map(|(task, _)| *task).collect();
        others.into_iter().for_each(|task| self.defer(task));
    }

    /// Accounts for the time that all tasks have run, in turns or between them.
    fn account(&mut self) {
        for (task, seated) in &mut self.tasks {
            let now = seated.steered.counters.read().time;
            let ran = now.saturating_sub(seated.accounted);
            seated.accounted = now;
            if ran > Duration::ZERO {
                self.fair.ran(*task, ran);
            }
        }
    }

    /// Lets tasks that slept and want to run again take part.
    fn wake(&mut self) {
        for (task, seated) in &mut self.tasks {
            if seated.asleep && wants_to_run(*task) {
                seated.asleep = false;
                self.fair.join(*task, seated.steered.weight());
            }
        }
    }

    /// Checks that the tasks are as they were left: the guardian puts them back while this process
    /// is stopped.
    fn tend(&mut self) -> Vec<u32> {
        let there = |seated: &Seated| seated.steered.held.is_there();
        let ended = self.tasks.iter().filter(|(_, seated)| !there(seated));
        let ended: Vec<Task> = ended.map(|(task, _)| *task).collect();
        ended.into_iter().for_each(|task| self.lose(task));
        self.settle();
        if self.rotates {
            self.defer_others(|_| true);
        }
        std::mem::take(&mut self.gone)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        for seated in self.tasks.values() {
            let _ = seated.steered.held.put_back();
        }
    }
}

/// Returns the pause until a look after so much more time of the task.
fn until_look(left: Duration) -> Duration {
    (left + LATER).min(LOOK_EVERY)
}

/// Returns what a task has done between two readings.
fn since(first: Reading, now: Reading) -> Progress {
    let misses = now.counts.map(|counts| counts.misses);
    let before = first.counts.map_or(0, |counts| counts.misses);
    Progress {
        time: now.time.saturating_sub(first.time),
        misses: misses.map(|misses| misses.saturating_sub(before)),
    }
}

/// Whether a task runs or wants to.
fn wants_to_run(task: Task) -> bool {
    let figures = Figures::of(task.0).ok().flatten();
    figures.is_some_and(|it| it.state == 'R')
}
