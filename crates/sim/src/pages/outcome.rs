//! Results of a simulation.

use std::iter;
use std::ops::Sub;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Nanos};
use terrace_device::{Consumed, lifetime};
use terrace_policy::prefetch::{Constituent, LifeStory};

use super::control::{Controlled, Look};
use super::count::{Counts, Latencies, Times};
use super::line_wear::LineWear;
use super::settings::PageMachine;
use super::tier::Tier;
use super::writes::SchemeOutcome;

/// Clocks of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    /// Number of the program that the thread belongs to.
    pub(super) program: usize,
    /// Time on the simulated machine.
    pub(super) now: Nanos,
    /// Part of that time that DRAM for everything would not cost.
    pub(super) penalty: Nanos,
}

impl Clock {
    /// Returns the time with DRAM for everything.
    pub(super) fn all_dram(&self) -> Nanos {
        self.now.saturating_sub(self.penalty)
    }
}

/// Values of all counters at a moment.
#[derive(Clone, Default)]
pub(super) struct Reading {
    pub(super) counts: Counts,
    pub(super) story: LifeStory,
    pub(super) times: Times,
    pub(super) latencies: Latencies,
    pub(super) constituents: Vec<Constituent>,
    /// Writes to each place of the tier.
    pub(super) slot_writes: Vec<u32>,
    /// Places of the tier that were written to.
    pub(super) places: u64,
    /// What was drawn from memories of limited bandwidth.
    pub(super) drawn: Drawn,
    pub(super) clocks: Vec<Clock>,
}

impl Reading {
    /// Returns the furthest clocks of a program, on the simulated machine and with DRAM for
    /// everything.
    fn furthest(&self, program: usize) -> (Nanos, Nanos) {
        let own = self.clocks.iter().filter(|clock| clock.program == program);
        own.fold((Nanos::ZERO, Nanos::ZERO), |furthest, clock| {
            (furthest.0.max(clock.now), furthest.1.max(clock.all_dram()))
        })
    }
}

/// Run time of one program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramTime {
    /// Run time with the simulated memory, in nanoseconds.
    pub time_ns: Nanos,
    /// Run time with DRAM for everything, in nanoseconds.
    pub all_dram_ns: Nanos,
    /// `time_ns` divided by `all_dram_ns`.
    pub slowdown: f64,
    /// Number of threads.
    pub threads: u32,
}

/// Lifetime of the tier at the rate at which it was written, in years; `None` if nothing was
/// written or no endurance is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// If all cells wore evenly (Awad 2016, figures 2 and 9; the same as Fedorov 2016, 2.4.5, with
    /// randomised levelling). By a levelling it is [`SchemeOutcome::first_years`].
    pub even: Option<f64>,
    /// No levelling: the most written cells end the lifetime.
    pub unlevelled: Option<f64>,
}

/// Bytes that accesses and moves have drawn from memories, reads and writes; `None` of one whose
/// bandwidth is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// From DRAM.
    pub fast: Option<u64>,
    /// From slow memory.
    pub slow: Option<u64>,
}

impl Sub for Drawn {
    type Output = Self;
    /// Returns what was drawn since `earlier`.
    fn sub(self, earlier: Self) -> Self {
        let since = |all: Option<u64>, earlier: Option<u64>| Some(all? - earlier.unwrap_or(0));
        Self {
            fast: since(self.fast, earlier.fast),
            slow: since(self.slow, earlier.slow),
        }
    }
}

/// Results of a simulation after its warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether the machine had a clock; times, latencies and lifetimes mean nothing without one.
    pub timed: bool,
    /// Counts of events.
    pub counts: Counts,
    /// Fates of predictions. With readahead, the other pages of each block are predicted.
    pub story: LifeStory,
    /// Time of all threads by cause, in nanoseconds.
    pub times: Times,
    /// Latencies of waits.
    pub latencies: Latencies,
    /// Pages fetched ahead that were in DRAM or on their way, and untouched, at the end.
    pub untouched: u64,
    /// Fates of predictions by constituent, where the predictor is a combination.
    pub constituents: Vec<Constituent>,
    /// Run time of each program.
    pub programs: Vec<ProgramTime>,
    /// Lifetime of the tier.
    pub lifetime: Lifetime,
    /// Energy that the tier consumed, if its powers are known.
    pub energy: Option<Energy>,
    /// Most pages at once that were touched and not given back.
    pub footprint_pages: u64,
    /// Pages of the tier that were ever in use.
    pub tier_pages_used: u64,
    /// Number of the touch at which DRAM was full and the first page was evicted.
    pub full_at: Option<u64>,
    /// Touches of the warm-up; `None` if the trace ended before the warm-up did.
    pub warmup: Option<u64>,
    /// What was drawn from memories of limited bandwidth.
    pub drawn: Drawn,
    /// What write schemes would have written, each under each wear levelling.
    pub schemes: Vec<SchemeOutcome>,
    /// How the control policy went, if there was one.
    pub control: Option<Controlled>,
    /// Its looks, some together where they are many.
    pub looks: Vec<Look>,
}

/// Energy that the tier consumed, in joules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Energy of reads, and of the rows activated for them.
    pub read_j: f64,
    /// Energy of writes, and of the rows activated for them.
    pub write_j: f64,
    /// Standby energy, by size and time.
    pub standby_j: f64,
    /// Refresh energy, by size and time.
    pub refresh_j: f64,
}

impl Outcome {
    /// Returns what happened from `warm`, the end of the warm-up, to `end`; without a warm-up, from
    /// the start.
    pub(super) fn new(
        settings: &PageMachine,
        footprint_pages: u64,
        threads: &[u32],
        warm: Option<&Reading>,
        full_at: Option<u64>,
        untouched: u64,
        end: Reading,
    ) -> Self {
        let start = &Reading::default();
        let from = warm.unwrap_or(start);
        let programs = programs(threads, from, &end);
        let elapsed = longest(&programs, |program| program.time_ns);
        let counts = end.counts - from.counts;
        let since = |one: &Constituent| one.since(&from.constituents);
        let capacity = settings.tier.capacity(footprint_pages);
        let before = from.slot_writes.iter().chain(iter::repeat(&0));
        let writes = end.slot_writes.iter().zip(before);
        let most = writes.map(|(end, before)| end - before).max();
        let energy = settings.tier.energy;
        let consumed =
            energy.map(|one| one.consumed(counts.reads, counts.writebacks, capacity, elapsed));
        Self {
            timed: !settings.tier.untimed,
            lifetime: Lifetime::new(
                &settings.tier,
                capacity,
                Bytes::of_pages(counts.writebacks),
                most.unwrap_or(0),
                elapsed,
            ),
            energy: consumed.map(|consumed| Energy::new(consumed, &counts)),
            counts,
            story: end.story - from.story,
            times: end.times - from.times,
            latencies: end.latencies - from.latencies,
            untouched,
            constituents: end.constituents.iter().map(since).collect(),
            programs,
            footprint_pages,
            tier_pages_used: end.places,
            full_at,
            warmup: warm.map(|warm| warm.counts.accesses),
            drawn: end.drawn - from.drawn,
            schemes: Vec::new(),
            control: None,
            looks: Vec::new(),
        }
    }

    /// Reckons lifetime and energy of the tier by the lines that were read and written there.
    pub(super) fn count_lines(&mut self, tier: &Tier, wear: Option<&LineWear>) {
        let counts = &self.counts;
        let capacity = tier.capacity(self.footprint_pages);
        let elapsed = longest(&self.programs, |program| program.time_ns);
        let written = Bytes(64 * (counts.slow_writes + counts.move_writes));
        let most = wear.map_or(0, LineWear::most);
        self.lifetime = Lifetime::new(tier, capacity, written, most, elapsed);
        self.energy = Energy::of_lines(tier, counts, capacity, elapsed);
        self.schemes = wear.map_or_else(Vec::new, |wear| wear.outcome(tier, elapsed));
    }

    /// Returns the virtual run time of all programs together, in nanoseconds.
    pub fn time(&self) -> Nanos {
        longest(&self.programs, |program| program.time_ns)
    }

    /// Returns the run time of all programs together with DRAM for everything, in nanoseconds.
    pub fn all_dram(&self) -> Nanos {
        longest(&self.programs, |program| program.all_dram_ns)
    }

    /// Returns the time divided by the all-DRAM time; 1 where both are zero.
    pub fn slowdown(&self) -> f64 {
        ratio(self.time(), self.all_dram())
    }

    /// Returns the bytes a second that were drawn from a memory on average; `None` where that was
    /// not limited, or took no time.
    pub fn rate(&self, drawn: Option<u64>) -> Option<f64> {
        let seconds = self.time().0 as f64 * 1e-9;
        Some(drawn? as f64 / seconds).filter(|_| seconds > 0.0)
    }

    /// Returns the misses per touch.
    pub fn miss_ratio(&self) -> f64 {
        match self.counts.accesses {
            0 => 0.0,
            accesses => self.counts.misses() as f64 / accesses as f64,
        }
    }

    /// Returns whether filling DRAM affects the figures: a tenth or more of the touches were made
    /// before the first eviction. `None` if DRAM never filled.
    pub fn is_cold(&self) -> Option<bool> {
        let cold = self.full_at?.saturating_sub(self.warmup.unwrap_or(0));
        Some(cold.saturating_mul(10) > self.counts.accesses)
    }
}

/// Returns the longest time of any program; 0 if there is none.
fn longest(programs: &[ProgramTime], time: fn(&ProgramTime) -> Nanos) -> Nanos {
    programs.iter().map(time).max().unwrap_or_default()
}

/// Returns the ratio of two times: 1 where both are zero; an all-DRAM time counts as at least 1 ns.
fn ratio(time: Nanos, all_dram: Nanos) -> f64 {
    match time.0 {
        0 if all_dram.0 == 0 => 1.0,
        time => time as f64 / all_dram.0.max(1) as f64,
    }
}

/// Returns the run times from the progress of each program at the end of the warm-up to its end.
fn programs(threads: &[u32], from: &Reading, end: &Reading) -> Vec<ProgramTime> {
    let program = |(program, &threads): (usize, &u32)| {
        let (from, to) = (from.furthest(program), end.furthest(program));
        let time_ns = to.0.saturating_sub(from.0);
        let all_dram_ns = to.1.saturating_sub(from.1);
        ProgramTime {
            time_ns,
            all_dram_ns,
            slowdown: ratio(time_ns, all_dram_ns),
            threads,
        }
    };
    threads.iter().enumerate().map(program).collect()
}

impl Lifetime {
    fn new(tier: &Tier, capacity: Bytes, written: Bytes, most: u32, elapsed: Nanos) -> Self {
        if let Some(rated) = tier.rated {
            // A drive levels by itself.
            return Self {
                even: rated.years(written, Duration::from_nanos(elapsed.0)),
                ..Self::default()
            };
        }
        let Some(endurance) = tier.endurance else {
            return Self::default();
        };
        Self {
            even: lifetime::awad(endurance, capacity, written, elapsed),
            unlevelled: lifetime::fedorov(endurance, most.into(), elapsed),
        }
    }
}

impl Energy {
    /// Returns that of a tier which serves lines; `None` if its powers are not known. An access
    /// opens a row for its line, and a move one for the lines of a page.
    fn of_lines(tier: &Tier, counts: &Counts, capacity: Bytes, elapsed: Nanos) -> Option<Self> {
        let (line, page) = (tier.line_energy?, tier.energy?);
        let pages = |lines: u64| lines as f64 / 64.0;
        let idle = line.consumed(0, 0, capacity, elapsed);
        Some(Self {
            read_j: (line.read + line.activate) * counts.slow_reads as f64
                + (page.read + page.activate) * pages(counts.move_reads),
            write_j: (line.write + line.activate) * counts.slow_writes as f64
                + (page.write + page.activate) * pages(counts.move_writes),
            standby_j: idle.standby,
            refresh_j: idle.refresh,
        })
    }

    fn new(consumed: Consumed, counts: &Counts) -> Self {
        let transfers = (counts.reads + counts.writebacks).max(1) as f64;
        let share = |part: u64| consumed.activate * part as f64 / transfers;
        Self {
            read_j: consumed.read + share(counts.reads),
            write_j: consumed.write + share(counts.writebacks),
            standby_j: consumed.standby,
            refresh_j: consumed.refresh,
        }
    }
}
