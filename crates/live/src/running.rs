//! A program that runs: sampled meanwhile, and measured when it has ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use terrace_base::{Bytes, Result};

use crate::balance::Balance;
use crate::budget::Budget;
use crate::counters::SwapCounters;
use crate::footprint::Footprint;
use crate::hierarchy::Version;
use crate::mappings::Mappings;
use crate::nodes::balancing::Balancing;
use crate::outcome::{Event, Observer, Outcome, Status};
use crate::pool::Pool;
use crate::program::{Ended, Program};
use crate::steered::Steered;
use crate::tier::{Tier, zram};
use crate::zswap::{self, Charge, Served, Zswap};

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
    /// zswap, if this run has set it.
    pub zswap: Option<&'a Zswap>,
    /// NUMA balancing, if this run has set it.
    pub balancing: Option<&'a Balancing>,
    /// The pool of zswap as part of the budget, where the kernel does not charge it.
    pub charge: Option<Charge>,
    /// Its steering.
    pub steered: Option<Steered>,
    /// The kernel's counters before its start.
    pub counted: SwapCounters,
    /// The pool of zswap before its start.
    pub pool: Pool,
    /// The state of zram before its start, if that is the tier.
    pub zram: zram::State,
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
}

impl Running<'_> {
    /// Waits for the program while a second thread samples it.
    pub fn watch(&self, program: Program, observer: Observer) -> (Result<Ended>, Seen) {
        let done = AtomicBool::new(false);
        let started = Instant::now();
        std::thread::scope(|scope| {
            let watcher = scope.spawn(|| {
                let mut seen = Seen::default();
                while !done.load(Ordering::Relaxed) {
                    self.look(&mut seen, started.elapsed(), observer);
                    // A short program is sampled near its end, too.
                    let next = started.elapsed() / 16;
                    std::thread::park_timeout(next.clamp(SAMPLE_EVERY.0, SAMPLE_EVERY.1));
                }
                seen
            });
            let ended = program.wait();
            done.store(true, Ordering::Relaxed);
            watcher.thread().unpark();
            (ended, watcher.join().unwrap_or_default())
        })
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
            seen.compressed = seen.compressed.larger(zram.since(self.zram).pool);
        }
        if let Some(steered) = &self.steered {
            seen.mappings.look(elapsed, || steered.sample());
        }
        let notices = [
            self.tier.and_then(Tier::notice),
            self.zswap.and_then(Zswap::notice),
            self.balancing.and_then(Balancing::notice),
        ];
        for notice in notices.iter().flatten() {
            observer(Event::Notice(notice));
        }
        observer(Event::Running(&Status {
            elapsed,
            usage,
            limit: self.limit,
            progress: self.steered.as_ref().map(Steered::progress),
            tier: SwapCounters::read().since(self.counted),
        }));
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
        let tier = SwapCounters::read().since(self.counted);
        let mut outcome = Outcome {
            exit: ended.exit,
            wall: ended.wall,
            user: ended.user,
            system: ended.system,
            major_faults: usage.major_faults,
            minor_faults: usage.faults.saturating_sub(usage.major_faults),
            tier_read: Bytes::of_pages(tier.read),
            tier_unread: tier.unread,
            tier_written: Bytes::of_pages(tier.written),
            tier_zeros: tier.zeros,
            peak_resident: self.budget.peak(),
            footprint: footprint.bytes,
            footprint_sampled: footprint.sampled,
            kernel: kernel.max(seen.kernel),
            huge: seen.huge,
            zswap: Served::of(tier, seen.pool, seen.beyond),
            compressed: self
                .tier
                .and_then(|tier| tier.compressed(self.zram, seen.compressed)),
            oom_kills: self.budget.oom_kills(),
            ..Outcome::default()
        };
        if let Some(steered) = self.steered {
            let foreseen = steered.finish(seen.mappings);
            let progress = foreseen.progress;
            let balance = Balance::of(&progress.story, outcome.major_faults, tier);
            outcome.balance = Some(balance);
            outcome.prefetch = Some(progress.story);
            outcome.redundant = progress.redundant;
            outcome.rested = progress.rested;
            outcome.let_go = progress.let_go;
            outcome.unseen_faults = progress.unseen_faults;
            outcome.constituents = foreseen.parts.constituents;
            outcome.processes = foreseen.parts.processes;
            outcome.lesson = foreseen.parts.lesson;
            outcome.faults = Some(foreseen.faults);
        }
        outcome
    }
}
