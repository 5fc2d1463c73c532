//! A program that runs: sampled meanwhile, and measured when it has ended.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use terrace_base::{Bytes, Context, Exit, Result, lock};

use crate::group::accounts::Accounts;
use crate::group::budget::{Budget, Usage};
use crate::group::counters::SwapCounters;
use crate::group::footprint::Footprint;
use crate::group::hierarchy::Version;
use crate::group::leavers::Leavers;
use crate::group::swapped::SwapCounter;
use crate::machine::pool::Pool;
use crate::machine::sysctl::Hand;
use crate::machine::zswap::{self, Charge, Served, Zswap};
use crate::nodes::balancing::Balancing;
use crate::program::{Ended, Program};
use crate::run::event::{Event, Observer};
use crate::run::interval::Intervals;
use crate::run::outcome::{Outcome, Phase};
use crate::run::status::Status;
use crate::steer::Progress;
use crate::steer::steered::Steered;
use crate::tier::balance::Balance;
use crate::tier::{Tier, zram};
use crate::watch::mappings::Mappings;
use crate::watch::waits::{self, Waits};

/// Pause between two samples of the program's memory: at first, and at most.
const SAMPLE_EVERY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// What a program runs with.
pub(crate) struct Running<'a> {
    /// Its group.
    pub budget: &'a Budget,
    /// Its DRAM.
    pub limit: Option<Bytes>,
    /// Its tier.
    pub tier: Option<&'a Tier>,
    /// Counts what it has in swap areas.
    pub swapped: SwapCounter,
    /// Keeps the statistics of its group, if it has a limit.
    pub accounts: Option<Accounts>,
    /// Whose value the kernel's readahead has, if this run has set it.
    pub readahead: Option<&'a Hand>,
    /// zswap, if this run has set it.
    pub zswap: Option<&'a Zswap>,
    /// NUMA balancing, if this run has set it.
    pub balancing: Option<&'a Balancing>,
    /// The pool of zswap as part of the budget, where the kernel does not charge it.
    pub charge: Option<Charge>,
    /// Its steering.
    pub steered: Option<Steered>,
    /// What measures the waits at its faults, if anything does.
    pub waits: Option<Waits>,
    /// The counts before its start.
    pub start: Counts,
    /// The pool of zswap before its start.
    pub pool: Pool,
    /// Time after which its figures begin to count, if not at its start.
    pub after: Option<Duration>,
    /// Time after which figures of the present interval are told, again and again.
    pub every: Option<Duration>,
}

/// What has been counted when a phase begins: figures of the phase are what is added.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    elapsed: Duration,
    faults: u64,
    major_faults: u64,
    seen_faults: u64,
    swap: SwapCounters,
    zram: zram::State,
    progress: Progress,
}

impl Counts {
    /// Reads the counts before a program starts, on this tier.
    pub fn at_start(tier: Option<&Tier>) -> Self {
        Self {
            swap: SwapCounters::read(),
            zram: tier.and_then(Tier::state).unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// What was seen of a program while it ran: the peaks of its memory, and its mapped regions.
#[derive(Default)]
pub(crate) struct Seen {
    footprint: Footprint,
    kernel: Bytes,
    huge: Bytes,
    pool: Pool,
    beyond: Bytes,
    compressed: Pool,
    mappings: Mappings,
    /// The counts when the figures began to count, if not at the start.
    phase: Option<Counts>,
    intervals: Intervals,
    others: Bytes,
    /// Processes that have left the group.
    left_group: u64,
}

impl Running<'_> {
    /// Waits for the program, and then for the processes that outlive it by `the_rest`, which is
    /// told how it ended, while a second thread samples them. Returns how the program ended and how
    /// long its group ran.
    pub fn watch(
        &self,
        program: Program,
        the_rest: impl FnOnce(Option<Exit>, Observer) -> bool,
        observer: Observer,
    ) -> (Result<Ended>, Seen) {
        let done = AtomicBool::new(false);
        let (started, pid) = (program.started(), program.pid());
        let observer = Mutex::new(observer);
        let mut tell = |event: Event| lock(&observer)(event);
        std::thread::scope(|scope| {
            let watcher = Builder::new().spawn_scoped(scope, || {
                let mut seen = Seen {
                    intervals: Intervals::of(self.every),
                    ..Seen::default()
                };
                let group = self.budget.directories()[0].clone();
                let mut leavers = Leavers::of(group, pid);
                while !done.load(Ordering::Relaxed) {
                    leavers.look();
                    self.look(&mut seen, started.elapsed(), &mut |event| {
                        lock(&observer)(event)
                    });
                    // A short program is sampled near its end, too.
                    let next = started.elapsed() / 16;
                    std::thread::park_timeout(next.clamp(SAMPLE_EVERY.0, SAMPLE_EVERY.1));
                }
                seen.left_group = leavers.count();
                seen
            });
            let ended = program.wait();
            let exit = ended.as_ref().ok().map(|ended| ended.exit);
            let is_outlived = the_rest(exit, &mut tell);
            let ended = ended.map(|ended| self.with_the_rest(ended, is_outlived, started));
            done.store(true, Ordering::Relaxed);
            let seen = watcher.map(|watcher| {
                watcher.thread().unpark();
                watcher.join().unwrap_or_default()
            });
            let why = || "the program was not looked at, as no thread can be started".into();
            let mut seen = seen.or_fail(why).unwrap_or_else(|error| {
                tell(Event::Notice(&error.to_string()));
                Seen::default()
            });
            if let Ok(ended) = &ended {
                self.end_intervals(&mut seen, ended.wall, &mut tell);
            }
            (ended, seen)
        })
    }

    /// Counts the processes that outlived the program: its times are those of the whole group,
    /// until it is empty.
    fn with_the_rest(&self, ended: Ended, is_outlived: bool, started: Instant) -> Ended {
        let wall = match is_outlived {
            true => started.elapsed(),
            false => ended.wall,
        };
        match self.budget.processor_time() {
            Some((user, system)) => Ended {
                wall,
                user,
                system,
                ..ended
            },
            None => Ended { wall, ..ended },
        }
    }

    /// Tells the figures of the last interval, which is shorter.
    fn end_intervals(&self, seen: &mut Seen, elapsed: Duration, observer: &mut dyn FnMut(Event)) {
        let status = self.status(elapsed, self.budget.usage(), Bytes(0));
        if let Some(interval) = seen.intervals.end(&status, || self.recent_waits()) {
            observer(Event::Interval(&interval));
        }
    }

    /// Takes a sample, and reports it.
    fn look(&self, seen: &mut Seen, elapsed: Duration, observer: &mut dyn FnMut(Event)) {
        let usage = self.budget.usage();
        seen.footprint.look(usage.charges);
        seen.kernel = seen.kernel.max(usage.kernel);
        seen.huge = seen.huge.max(usage.huge);
        let pool = zswap::pool().since(self.pool);
        seen.pool = seen.pool.larger(pool);
        seen.beyond = seen.beyond.max(self.beyond(pool.taken));
        if let Some(zram) = self.tier.and_then(Tier::state) {
            seen.compressed = seen.compressed.larger(zram.since(self.start.zram).pool);
        }
        if let Some(steered) = &self.steered {
            seen.mappings.look(elapsed, || steered.sample());
        }
        let shares = self.tier.map(|tier| tier.shares(&self.swapped));
        let shares = shares.unwrap_or_default();
        seen.others = seen.others.max(shares.others);
        let notices = [
            self.tier.and_then(|tier| tier.notice(&shares)),
            self.readahead.and_then(Hand::notice),
            self.zswap.and_then(Zswap::notice),
            self.balancing.and_then(Balancing::notice),
        ];
        for notice in notices.iter().flatten() {
            observer(Event::Notice(notice));
        }
        if seen.phase.is_none() && self.after.is_some_and(|after| elapsed >= after) {
            seen.phase = Some(self.begin_phase(elapsed));
        }
        let status = self.status(elapsed, usage, shares.others);
        observer(Event::Running(&status));
        if let Some(interval) = seen.intervals.look(&status, || self.recent_waits()) {
            observer(Event::Interval(&interval));
        }
    }

    fn status(&self, elapsed: Duration, usage: Usage, others: Bytes) -> Status {
        Status {
            elapsed,
            usage,
            limit: self.limit,
            progress: self.steered.as_ref().map(Steered::progress),
            tier: SwapCounters::read().since(self.start.swap),
            others,
        }
    }

    fn recent_waits(&self) -> Option<waits::Recent> {
        self.waits.as_ref().map(Waits::take_recent)
    }

    /// Reads the counts with which a phase begins.
    fn begin_phase(&self, elapsed: Duration) -> Counts {
        // Right before the waits, so that those are of the same faults.
        let usage = self.budget.usage();
        if let Some(waits) = &self.waits {
            waits.begin_phase();
        }
        let steered = self.steered.as_ref();
        Counts {
            elapsed,
            faults: usage.faults,
            major_faults: usage.major_faults,
            seen_faults: steered.map_or(0, Steered::seen),
            swap: SwapCounters::read(),
            zram: self.tier.and_then(Tier::state).unwrap_or_default(),
            progress: steered.map(Steered::progress).unwrap_or_default(),
        }
    }

    /// Returns how much of a pool of zswap that takes `taken` is beyond the budget now.
    fn beyond(&self, taken: Bytes) -> Bytes {
        match (&self.charge, self.limit, self.budget.version()) {
            (Some(charge), ..) => charge.beyond(taken),
            (None, Some(_), Version::V1) => taken,
            (None, ..) => Bytes(0),
        }
    }

    /// Returns the measurements of the program, whose processes have all ended.
    pub fn outcome(self, ended: Ended, seen: Seen) -> Outcome {
        let usage = self.budget.usage();
        let kernel = self.budget.kernel_peak().unwrap_or_default();
        let footprint = seen.footprint.finish(usage.charges);
        let from = seen.phase.unwrap_or(self.start);
        let tier = SwapCounters::read().since(from.swap);
        let major_faults = usage.major_faults.saturating_sub(from.major_faults);
        let faults = usage.faults.saturating_sub(from.faults);
        let mut outcome = Outcome {
            exit: ended.exit,
            wall: ended.wall,
            user: ended.user,
            system: ended.system,
            has_all_cpu: self.budget.processor_time().is_some(),
            phase: Phase {
                from: seen.phase.map(|phase| phase.elapsed),
                time: ended.wall.saturating_sub(from.elapsed),
            },
            major_faults,
            minor_faults: faults.saturating_sub(major_faults),
            tier_read: Bytes::of_pages(tier.read),
            tier_unread: tier.unread,
            tier_written: Bytes::of_pages(tier.written),
            tier_zeros: tier.zeros,
            tier_others: seen.others,
            tier_switched_off: self.tier.map(Tier::switched_off).unwrap_or_default(),
            left_group: seen.left_group,
            locked: self.accounts.as_ref().map_or(Bytes(0), Accounts::locked),
            peak_resident: self.budget.peak(),
            footprint: footprint.bytes,
            footprint_sampled: footprint.sampled,
            kernel: kernel.max(seen.kernel),
            huge: seen.huge,
            zswap: Served::of(tier, seen.pool, seen.beyond),
            compressed: self
                .tier
                .and_then(|tier| tier.compressed(from.zram, seen.compressed)),
            oom_kills: self.budget.oom_kills(),
            waits: self.waits.map(|waits| waits.finish(faults)),
            ..Outcome::default()
        };
        if let Some(steered) = self.steered {
            let foreseen = steered.finish(seen.mappings, usage.major_faults);
            let progress = foreseen.progress.since(&from.progress);
            let seen_faults = foreseen.faults.seen.saturating_sub(from.seen_faults);
            let balance = Balance::of(&progress.story, outcome.major_faults, tier);
            outcome.balance = Some(balance);
            outcome.prefetch = Some(progress.story);
            outcome.redundant = progress.redundant;
            outcome.rested = progress.rested;
            outcome.let_go = progress.let_go;
            outcome.unseen_faults = outcome.major_faults.saturating_sub(seen_faults);
            outcome.constituents = foreseen.parts.constituents;
            outcome.processes = foreseen.parts.processes;
            outcome.lesson = foreseen.parts.lesson;
            outcome.faults = Some(foreseen.faults);
        }
        outcome
    }
}
