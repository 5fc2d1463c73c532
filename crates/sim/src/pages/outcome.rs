//! What a simulation found.

use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Nanos};
use terrace_device::{Consumed, lifetime};
use terrace_policy::PAGE_BYTES;

use super::count::{Constituent, Counts, Latencies, Times};
use super::settings::Settings;
use super::threads::Thread;

/// The clocks of a thread.
#[derive(Clone, Copy, Default)]
pub(super) struct Clock {
    program: usize,
    /// On the simulated machine.
    pub(super) now: Nanos,
    /// What all-DRAM would not have needed of it.
    pub(super) penalty: Nanos,
}

impl Clock {
    pub(super) fn of(thread: &Thread) -> Self {
        Self {
            program: thread.program,
            now: thread.now(),
            penalty: thread.penalty,
        }
    }

    /// With DRAM for everything.
    pub(super) fn all_dram(&self) -> Nanos {
        self.now.saturating_sub(self.penalty)
    }
}

/// What all meters say at a moment.
#[derive(Clone)]
pub(super) struct Reading {
    pub(super) counts: Counts,
    pub(super) times: Times,
    pub(super) latencies: Latencies,
    pub(super) constituents: Vec<Constituent>,
    /// Writes to each place of the tier.
    pub(super) slot_writes: Vec<u32>,
    /// Places of the tier that were written to.
    pub(super) places: u64,
    pub(super) clocks: Vec<Clock>,
}

impl Reading {
    /// How far a program has come: its furthest clocks, on the simulated machine and with DRAM
    /// for everything.
    fn furthest(&self, program: usize) -> (Nanos, Nanos) {
        let own = self.clocks.iter().filter(|clock| clock.program == program);
        own.fold((Nanos::ZERO, Nanos::ZERO), |furthest, clock| {
            (furthest.0.max(clock.now), furthest.1.max(clock.all_dram()))
        })
    }
}

/// The run time of one program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramTime {
    /// With the simulated memory, in nanoseconds.
    pub time_ns: Nanos,
    /// With DRAM for everything, in nanoseconds.
    pub all_dram_ns: Nanos,
    /// The one divided by the other.
    pub slowdown: f64,
    /// Its threads.
    pub threads: u32,
}

/// How long the tier lasts at the rate at which it was written, in years; none where nothing was
/// written, or no endurance is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// All cells are written evenly (Awad 2016, figures 2 and 9; Fedorov 2016, 2.4.5 with
    /// randomised levelling says the same).
    pub levelled: Option<f64>,
    /// With start-gap levelling, taken to be even but for its own writes, one in a hundred
    /// (Qureshi et al. 2009).
    pub start_gap: Option<f64>,
    /// Without levelling: the cells that are written most end it.
    pub unlevelled: Option<f64>,
}

/// Start-gap moves a line every so many writes (Qureshi et al. 2009).
const START_GAP_PERIOD: f64 = 100.0;

/// What a simulation found, after its warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Events.
    pub counts: Counts,
    /// Where the time of all threads went, in nanoseconds.
    pub times: Times,
    /// What waits took.
    pub latencies: Latencies,
    /// Pages fetched ahead that were in DRAM, or on their way, and not touched at the end.
    pub untouched: u64,
    /// What became of predictions by those who made them, where the predictor is a combination.
    pub constituents: Vec<Constituent>,
    /// The run time of each program.
    pub programs: Vec<ProgramTime>,
    /// The tier's life.
    pub lifetime: Lifetime,
    /// What the tier consumed, where that is known.
    pub energy: Option<Energy>,
    /// Pages that were touched.
    pub footprint_pages: u64,
    /// Pages of the tier that hold, or held, something.
    pub tier_pages_used: u64,
    /// The touch at which DRAM was full and the first page had to go.
    pub full_at: Option<u64>,
    /// Touches before the figures were taken; none if the trace ended before.
    pub warmup: Option<u64>,
}

/// What the tier consumed, in joules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Reads, and the rows activated for them.
    pub read_j: f64,
    /// Writes, and the rows activated for them.
    pub write_j: f64,
    /// Standing by, by size and time.
    pub standby_j: f64,
    /// Refreshing, by size and time.
    pub refresh_j: f64,
}

impl Outcome {
    pub(super) fn new(
        settings: &Settings,
        footprint_pages: u64,
        threads: &[u32],
        warm: Option<&Reading>,
        full_at: Option<u64>,
        untouched: u64,
        end: Reading,
    ) -> Self {
        let programs = programs(threads, warm, &end);
        let elapsed = programs.iter().map(|program| program.time_ns).max();
        let elapsed = elapsed.unwrap_or(Nanos::ZERO);
        let (counts, times, latencies) = match warm {
            Some(warm) => (
                end.counts - warm.counts,
                end.times - warm.times,
                end.latencies - warm.latencies,
            ),
            None => (end.counts, end.times, end.latencies),
        };
        let constituents = match warm {
            Some(warm) => {
                let since = |one: &Constituent| one.since(&warm.constituents);
                end.constituents.iter().map(since).collect()
            }
            None => end.constituents,
        };
        let tier_pages_used = end.places;
        let pages = settings.tier.pages.unwrap_or(footprint_pages).max(1);
        let capacity = Bytes(pages * PAGE_BYTES);
        let before = warm.map_or(&[][..], |warm| &warm.slot_writes);
        let most = end.slot_writes.iter().enumerate();
        let most = most
            .map(|(slot, writes)| writes - before.get(slot).copied().unwrap_or(0))
            .max();
        Self {
            lifetime: Lifetime::new(
                settings.tier.endurance,
                capacity,
                counts.writebacks,
                u64::from(most.unwrap_or(0)),
                elapsed,
            ),
            energy: settings.tier.energy.map(|energy| {
                Energy::new(
                    energy.consumed(counts.reads, counts.writebacks, capacity, elapsed),
                    &counts,
                )
            }),
            counts,
            times,
            latencies,
            untouched,
            constituents,
            programs,
            footprint_pages,
            tier_pages_used,
            full_at,
            warmup: warm.map(|warm| warm.counts.accesses),
        }
    }

    /// Virtual run time of all programs together, in nanoseconds.
    pub fn time(&self) -> Nanos {
        self.programs
            .iter()
            .map(|program| program.time_ns)
            .max()
            .unwrap_or(Nanos::ZERO)
    }

    /// The same with DRAM for everything.
    pub fn all_dram(&self) -> Nanos {
        self.programs
            .iter()
            .map(|program| program.all_dram_ns)
            .max()
            .unwrap_or(Nanos::ZERO)
    }

    /// Time divided by all-DRAM time; 1 where both are nothing.
    pub fn slowdown(&self) -> f64 {
        ratio(self.time(), self.all_dram())
    }

    /// Misses a touch.
    pub fn miss_ratio(&self) -> f64 {
        match self.counts.accesses {
            0 => 0.0,
            accesses => self.counts.misses() as f64 / accesses as f64,
        }
    }

    /// Whether the figures hold much of a DRAM that was still filling: a tenth of the touches and
    /// more were made before the first page had to go. None where DRAM never filled.
    pub fn is_cold(&self) -> Option<bool> {
        let cold = self.full_at?.saturating_sub(self.warmup.unwrap_or(0));
        Some(cold * 10 > self.counts.accesses)
    }
}

/// Of nothing to nothing it is 1; all-DRAM counts as a nanosecond at least.
fn ratio(time: Nanos, all_dram: Nanos) -> f64 {
    match time.0 {
        0 if all_dram.0 == 0 => 1.0,
        time => time as f64 / all_dram.0.max(1) as f64,
    }
}

/// The run times: from where each program was at the end of the warm-up to its end.
fn programs(threads: &[u32], warm: Option<&Reading>, end: &Reading) -> Vec<ProgramTime> {
    let program = |(program, &threads): (usize, &u32)| {
        let from = warm.map_or_else(Default::default, |warm| warm.furthest(program));
        let to = end.furthest(program);
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
    fn new(
        endurance: Option<f64>,
        capacity: Bytes,
        writes: u64,
        most: u64,
        elapsed: Nanos,
    ) -> Self {
        let Some(endurance) = endurance else {
            return Self::default();
        };
        let written = Bytes(writes * PAGE_BYTES);
        let levelled = lifetime::awad(endurance, capacity, written, elapsed);
        Self {
            levelled,
            start_gap: levelled.map(|years| years / (1.0 + 1.0 / START_GAP_PERIOD)),
            unlevelled: lifetime::fedorov(endurance, most as f64, elapsed),
        }
    }
}

impl Energy {
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
