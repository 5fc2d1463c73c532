//! Results of one last-level cache.

use serde::Serialize;
use terrace_policy::llc::InForce;
use terrace_sim::llc::{Counts, Ends, LlcMachine, Outcome, Pass, Point, Warmup};

use super::memory::Memory;
use super::settings::Shape;

/// Results of one last-level cache.
///
/// `hits` + `misses` + `writeback_misses` = `accesses`, and `dirtied` + `dirty_at_begin` =
/// `writebacks` + `dirty_at_end`.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// Policy as it was named.
    pub policy: String,
    /// Shape of the cache.
    pub llc: Shape,
    /// Bits that the policy stores beyond tags, dirty bits and LRU order.
    pub storage_bits: u64,
    /// Requests of the private levels.
    pub accesses: u64,
    /// Requests for a line that was present.
    pub hits: u64,
    /// Loads and stores of a line that was absent, including bypassed ones: reads of memory.
    pub misses: u64,
    /// Lines written to memory: dirty lines that were evicted or flushed, and write-backs that
    /// bypassed the cache.
    pub writebacks: u64,
    /// `misses` per load or store, 0 to 1; null where there are none.
    pub miss_ratio: Option<f64>,
    /// `misses` per 1000 instructions; null where a trace does not count instructions, no memory
    /// was simulated, or no instructions were executed.
    pub mpki: Option<f64>,
    /// Loads.
    pub loads: Requests,
    /// Store misses of the private levels, which read the line.
    pub stores: Requests,
    /// Write-backs of the private levels.
    pub from_above: Requests,
    /// Write-backs of the private levels for a line that was absent; they do not read memory.
    pub writeback_misses: u64,
    /// Requests for which the policy left the cache unchanged.
    pub bypasses: u64,
    /// Clean lines that were evicted.
    pub evictions_clean: u64,
    /// Dirty lines that were evicted.
    pub evictions_dirty: u64,
    /// Lines that programs flushed.
    pub flushes: u64,
    /// Flushed lines that were dirty in any level and were written to memory.
    pub flush_writes: u64,
    /// Write-backs of the private levels to a clean line, including bypassed ones, and flushes of
    /// lines that were dirty only in the private levels.
    pub dirtied: u64,
    /// Lines that were dirty at the end of the warm-up.
    pub dirty_at_begin: u64,
    /// Lines that were dirty at the end.
    pub dirty_at_end: u64,
    /// Hits by the number of lines of the set that were used more recently, from 0 (Fedorov 2016,
    /// figure 2.1); null where the policy keeps no such order.
    pub hits_by_position: Option<Vec<u64>>,
    /// Counts of the warm-up; null where the trace ended before it did, and all figures cover the
    /// whole trace.
    pub warmup: Option<Before>,
    /// Requests, warm-up included, until the cache was full; null where it never was.
    pub full_at: Option<u64>,
    /// Lines that the cache held at the end.
    pub filled_lines: usize,
    /// Results of the requests of each core; null where there is one core.
    pub cores: Option<Vec<Core>>,
    /// Results of the memories behind the cache, each simulated independently.
    pub memories: Vec<Memory>,
    /// Epochs, warm-up included; null where none were asked for.
    pub epochs: Option<Vec<Epoch>>,
    /// Reason why the figures may not be those of a steady state; null where there is none.
    pub warning: Option<String>,
}

/// Results of the requests of one core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Instructions that the core executed, warm-up included.
    pub instructions: u64,
    /// Requests of the private levels of the core.
    pub accesses: u64,
    /// Loads and stores of a line that was absent.
    pub misses: u64,
    /// Lines written to memory to make room for lines of the core, and lines that it flushed.
    pub writebacks: u64,
    /// Lines that the core flushed.
    pub flushes: u64,
    /// Flushed lines that were dirty.
    pub flush_writes: u64,
}

/// Counts of requests of one kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Requests {
    /// All requests.
    pub all: u64,
    /// Requests for a line that was present.
    pub hits: u64,
    /// Requests for a line that was absent.
    pub misses: u64,
    /// Requests for a line that was absent and was not allocated.
    pub bypasses: u64,
}

/// Counts of the warm-up.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Before {
    /// Requests.
    pub accesses: u64,
    /// Reads of memory.
    pub misses: u64,
    /// Lines written to memory.
    pub writebacks: u64,
}

/// Counts of consecutive requests.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Epoch {
    /// Requests from the beginning of the trace to the end of the epoch.
    pub end: u64,
    /// Requests of the epoch.
    pub accesses: u64,
    /// Requests for a line that was present.
    pub hits: u64,
    /// Reads of memory.
    pub misses: u64,
    /// Lines written to memory.
    pub writebacks: u64,
    /// Clean lines that were evicted.
    pub evictions_clean: u64,
    /// Dirty lines that were evicted.
    pub evictions_dirty: u64,
    /// Requests for which the policy left the cache unchanged.
    pub bypasses: u64,
    /// Ways of the high-hit partition at the end of the epoch, n of nHm; null where the policy has
    /// none.
    pub high: Option<usize>,
    /// Whether new lines are put at the top of the low-hit partition at the end of the epoch; null
    /// where the policy has none.
    pub low_insertion: Option<bool>,
}

impl Run {
    /// Returns the results of a cache.
    pub fn of(outcome: &Outcome, settings: &LlcMachine, pass: &Pass) -> Self {
        let counts = outcome.counts;
        let memory_bytes = (counts.misses() + counts.writebacks()) * settings.line;
        let demand = counts.loads.all() + counts.stores.all();
        let memory = |found| Memory::of(found, memory_bytes, pass.counts_instructions);
        Self {
            policy: outcome.llc.policy.to_string(),
            llc: Shape::of(outcome.geometry, settings.line),
            storage_bits: outcome.storage_bits,
            accesses: counts.accesses(),
            hits: counts.hits(),
            misses: counts.misses(),
            writebacks: counts.writebacks(),
            miss_ratio: share(counts.misses(), demand),
            mpki: mpki(outcome, pass),
            loads: Requests::of(counts.loads),
            stores: Requests::of(counts.stores),
            from_above: Requests::of(counts.from_above),
            writeback_misses: counts.writeback_misses(),
            bypasses: counts.bypasses(),
            evictions_clean: counts.clean_evictions,
            evictions_dirty: counts.dirty_evictions,
            flushes: counts.flushes,
            flush_writes: counts.flush_writes,
            dirtied: counts.dirtied,
            dirty_at_begin: outcome.dirty_at_begin,
            dirty_at_end: outcome.dirty_at_end,
            hits_by_position: outcome.positions.clone(),
            warmup: outcome.warmup.map(Before::of),
            full_at: outcome.full_at,
            filled_lines: outcome.filled,
            cores: cores(outcome, pass),
            memories: outcome.memories.iter().map(memory).collect(),
            epochs: settings.epoch.map(|_| epochs(&outcome.points)),
            warning: warning(outcome, settings),
        }
    }
}

impl Requests {
    fn of(ends: Ends) -> Self {
        Self {
            all: ends.all(),
            hits: ends.hits,
            misses: ends.misses(),
            bypasses: ends.bypasses,
        }
    }
}

impl Before {
    fn of(counts: Counts) -> Self {
        Self {
            accesses: counts.accesses(),
            misses: counts.misses(),
            writebacks: counts.writebacks(),
        }
    }
}

fn cores(outcome: &Outcome, pass: &Pass) -> Option<Vec<Core>> {
    let cores = outcome.by_core.iter().zip(&pass.instructions);
    let core = |(counts, &instructions): (&Counts, &u64)| Core {
        instructions,
        accesses: counts.accesses(),
        misses: counts.misses(),
        writebacks: counts.writebacks(),
        flushes: counts.flushes,
        flush_writes: counts.flush_writes,
    };
    (!outcome.by_core.is_empty()).then(|| cores.map(core).collect())
}

/// Returns `part` divided by `whole`; `None` if `whole` is zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn mpki(outcome: &Outcome, pass: &Pass) -> Option<f64> {
    let cores = &outcome.memories.first()?.cores;
    let instructions = cores.iter().map(|(instructions, _)| instructions).sum();
    let each = share(outcome.counts.misses(), instructions)?;
    pass.counts_instructions.then_some(1000.0 * each)
}

/// Returns the counts between the ends of epochs.
fn epochs(points: &[Point]) -> Vec<Epoch> {
    let begins = std::iter::once(Counts::default()).chain(points.iter().map(|point| point.counts));
    let epochs = points.iter().zip(begins);
    epochs.map(|(end, begin)| epoch(end, begin)).collect()
}

fn epoch(end: &Point, begin: Counts) -> Epoch {
    let counts = end.counts - begin;
    Epoch {
        end: end.counts.accesses(),
        accesses: counts.accesses(),
        hits: counts.hits(),
        misses: counts.misses(),
        writebacks: counts.writebacks(),
        evictions_clean: counts.clean_evictions,
        evictions_dirty: counts.dirty_evictions,
        bypasses: counts.bypasses(),
        high: end.in_force.map(|InForce { high, .. }| high),
        low_insertion: end
            .in_force
            .map(|InForce { low_insertion, .. }| low_insertion),
    }
}

/// Returns the reason why figures may not be those of a steady state, as a sentence.
fn warning(outcome: &Outcome, settings: &LlcMachine) -> Option<String> {
    let Some(warmup) = outcome.warmup else {
        let asked = match settings.warmup {
            Warmup::Requests(requests) => format!("{requests} requests"),
            Warmup::Accesses(accesses) => format!("{accesses} accesses"),
        };
        return Some(format!(
            "the warm-up is too long: the trace ended before its {asked}, so the figures are of the whole"
        ));
    };
    let (measured, lines) = (outcome.counts.accesses(), outcome.geometry.lines() as u64);
    match outcome.full_at {
        // Flushes make room again and again.
        None if outcome.counts.flushes > 0 => None,
        None => Some("the last level never filled: everything fitted".to_owned()),
        Some(full) if full > warmup.accesses() => Some(format!(
            "the warm-up is too short: the last level was full only after {full} requests, so the figures are partly of a cache that was filling; give --warmup {full} or more, or a longer trace"
        )),
        Some(_) if measured < lines => Some(format!(
            "the trace is too short: {measured} requests after the warm-up, for a cache of {lines} lines"
        )),
        Some(_) => None,
    }
}
