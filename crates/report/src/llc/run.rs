//! What one last-level cache came to.

use serde::Serialize;
use terrace_policy::llc::InForce;
use terrace_sim::llc::{Counts, Ends, Outcome, Pass, Point, Settings, Warmup};

use super::memory::Memory;
use super::settings::Shape;

/// What became of requests to one last-level cache.
///
/// `hits` + `misses` + `writeback_misses` = `accesses`, and `dirtied` + `dirty_at_begin` =
/// `writebacks` + `dirty_at_end`.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The policy as it was asked for.
    pub policy: String,
    /// The cache.
    pub llc: Shape,
    /// Bits that the policy stores beyond tags, dirty bits and LRU order.
    pub storage_bits: u64,
    /// Requests of the private levels.
    pub accesses: u64,
    /// Requests for a line that was there.
    pub hits: u64,
    /// Loads and stores of a line that was not, bypassed ones among them: reads of memory.
    pub misses: u64,
    /// Lines written to memory: dirty ones that had to go or were flushed, and write-backs that passed
    /// the cache by.
    pub writebacks: u64,
    /// `misses` for each load and store, 0 to 1; null where there is none.
    pub miss_ratio: Option<f64>,
    /// `misses` for each 1000 instructions; null where a trace does not count them, or nothing was
    /// simulated in time.
    pub mpki: Option<f64>,
    /// Loads.
    pub loads: Requests,
    /// Store misses of the private levels, which read the line.
    pub stores: Requests,
    /// Write-backs of the private levels.
    pub from_above: Requests,
    /// Write-backs of the private levels for a line that was not there; they read no memory.
    pub writeback_misses: u64,
    /// Requests for which the policy kept the cache as it was.
    pub bypasses: u64,
    /// Clean lines that had to go.
    pub evictions_clean: u64,
    /// Dirty lines that had to go.
    pub evictions_dirty: u64,
    /// Lines that programs flushed.
    pub flushes: u64,
    /// Those of them that were dirty in any level, and so were written to memory.
    pub flush_writes: u64,
    /// Write-backs of the private levels to a line that was not dirty, bypassed ones among them, and
    /// flushes of lines that were dirty only there.
    pub dirtied: u64,
    /// Lines that were dirty when the warm-up ended.
    pub dirty_at_begin: u64,
    /// Lines that were left dirty at the end.
    pub dirty_at_end: u64,
    /// Hits by how many lines of the set had been used more recently, the most recent first (Fedorov
    /// 2016, figure 2.1); null where the policy keeps no such order.
    pub hits_by_position: Option<Vec<u64>>,
    /// The warm-up; null where the trace ended before, and all figures are of the whole.
    pub warmup: Option<Before>,
    /// Requests, warm-up included, after which the cache was full; null where it never was.
    pub full_at: Option<u64>,
    /// Lines that it held at the end.
    pub filled_lines: usize,
    /// What the requests of each core came to; null where there is one core.
    pub cores: Option<Vec<Core>>,
    /// The memories behind it, each for itself.
    pub memories: Vec<Memory>,
    /// Epochs, warm-up included; null where none were asked for.
    pub epochs: Option<Vec<Epoch>>,
    /// Why the figures are not to be taken as those of a steady state; null where they may be.
    pub warning: Option<String>,
}

/// What the requests of one core came to.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Instructions that it executed, warm-up included.
    pub instructions: u64,
    /// Requests of its private levels.
    pub accesses: u64,
    /// Loads and stores of a line that was not there.
    pub misses: u64,
    /// Lines written to memory to make room for it, and those that it flushed.
    pub writebacks: u64,
    /// Lines that it flushed.
    pub flushes: u64,
    /// Those of them that were dirty.
    pub flush_writes: u64,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Requests {
    /// All.
    pub all: u64,
    /// The line was there.
    pub hits: u64,
    /// It was not.
    pub misses: u64,
    /// It was not, and was not taken in.
    pub bypasses: u64,
}

/// What was counted before figures were taken.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Before {
    /// Requests.
    pub accesses: u64,
    /// Reads of memory.
    pub misses: u64,
    /// Lines written to memory.
    pub writebacks: u64,
}

/// Some requests that follow each other.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Epoch {
    /// Requests until its end, since the beginning of the trace.
    pub end: u64,
    /// Requests.
    pub accesses: u64,
    /// Requests for a line that was there.
    pub hits: u64,
    /// Reads of memory.
    pub misses: u64,
    /// Lines written to memory.
    pub writebacks: u64,
    /// Clean lines that had to go.
    pub evictions_clean: u64,
    /// Dirty lines that had to go.
    pub evictions_dirty: u64,
    /// Requests for which the policy kept the cache as it was.
    pub bypasses: u64,
    /// Ways of the high-hit partition at its end, n of nHm; null where the policy has none.
    pub high: Option<usize>,
    /// Whether new lines are put at the top of the low-hit partition, at its end; null likewise.
    pub low_insertion: Option<bool>,
}

impl Run {
    /// What was found of a cache.
    pub fn of(outcome: &Outcome, settings: &Settings, pass: &Pass) -> Self {
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

/// One divided by the other.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn mpki(outcome: &Outcome, pass: &Pass) -> Option<f64> {
    let cores = &outcome.memories.first()?.cores;
    let instructions = cores.iter().map(|(instructions, _)| instructions).sum();
    let each = share(outcome.counts.misses(), instructions)?;
    pass.counts_instructions.then_some(1000.0 * each)
}

/// What happened between the ends of epochs.
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

/// Why figures are not to be taken for those of a steady state, in a sentence.
fn warning(outcome: &Outcome, settings: &Settings) -> Option<String> {
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
        // What is flushed makes room again and again.
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
