//! A simulated hierarchy, its caches and memories, and the figures that follow from their counts.

use terrace_base::Nanos;
use terrace_policy::llc::Counts;

use super::core::TIMED;
use super::memory_side::Found;
use super::outcome::{Outcome, Pass, Point};
use super::settings::{LlcMachine, Size, Warmup};

/// A hierarchy that was simulated.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Settings of the pass.
    pub machine: LlcMachine,
    /// Results of the pass.
    pub pass: Pass,
}

/// A last-level cache that was simulated.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The hierarchy that it is a part of.
    pub hierarchy: &'a Simulated,
    /// Results of the cache.
    pub outcome: &'a Outcome,
}

/// A memory behind a last-level cache.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// The cache.
    pub(super) run: Run<'a>,
    /// Results of the memory.
    pub found: &'a Found,
}

/// Progress of a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub instructions: u64,
    pub time: Nanos,
    pub ipc: Option<f64>,
}

/// Counts of consecutive requests.
#[derive(Clone, Copy, Debug)]
pub struct Epoch {
    /// Counts of the epoch.
    pub counts: Counts,
    /// State at its end.
    pub end: Point,
}

impl Simulated {
    /// Returns the last-level caches.
    pub fn runs(&self) -> impl Iterator<Item = Run<'_>> {
        let outcomes = self.pass.outcomes.iter();
        outcomes.map(|outcome| Run {
            hierarchy: self,
            outcome,
        })
    }
}

impl<'a> Run<'a> {
    /// Returns the counts after the warm-up.
    pub fn counts(&self) -> Counts {
        self.outcome.counts
    }

    /// Returns a figure of exclusive caches; `None` for another.
    pub(super) fn exclusive<T>(&self, figure: T) -> Option<T> {
        self.hierarchy.machine.is_exclusive().then_some(figure)
    }

    /// Returns the size of the cache.
    pub fn size(&self) -> Size {
        self.outcome.llc.size
    }

    /// Returns the misses per load or store; `None` where there are none.
    pub fn miss_ratio(&self) -> Option<f64> {
        let counts = self.counts();
        share(counts.misses(), counts.loads.all() + counts.stores.all())
    }

    /// Returns the memories behind the cache.
    pub fn memories(self) -> impl Iterator<Item = Behind<'a>> {
        let memories = self.outcome.memories.iter();
        memories.map(move |found| Behind { run: self, found })
    }

    /// Returns the epochs; `None` where none were asked for.
    pub fn epochs(&self) -> Option<impl Iterator<Item = Epoch> + use<'a>> {
        let points = &self.outcome.points;
        let begins = std::iter::once(Counts::default()).chain(points.iter().map(|end| end.counts));
        let epochs = points.iter().zip(begins).map(|(end, begin)| Epoch {
            counts: end.counts - begin,
            end: *end,
        });
        self.hierarchy.machine.epoch.map(|_| epochs)
    }

    pub(super) fn mpki(&self) -> Option<f64> {
        let cores = &self.outcome.memories.first()?.cores;
        let sum = |sum: u64, (more, _): &(u64, _)| sum.saturating_add(*more);
        let instructions = cores.iter().fold(0, sum);
        let each = share(self.counts().misses(), instructions)?;
        self.hierarchy
            .pass
            .counts_instructions
            .then_some(1000.0 * each)
    }

    /// Returns the instructions of each core, warm-up included, and the counts of its requests.
    pub(super) fn cores(&self) -> impl Iterator<Item = (u64, Counts)> {
        let instructions = self.hierarchy.pass.instructions.iter().copied();
        instructions.zip(self.outcome.by_core.iter().copied())
    }

    /// Returns the reason why figures may not be those of a steady state, as a sentence.
    pub fn warning(&self) -> Option<String> {
        let outcome = self.outcome;
        let asked = match self.hierarchy.machine.warmup {
            Warmup::Requests(0) | Warmup::Accesses(0) => None,
            Warmup::Requests(requests) => Some(format!("{requests} requests")),
            Warmup::Accesses(accesses) => Some(format!("{accesses} accesses")),
        };
        let Some(warmup) = outcome.warmup else {
            let asked = asked.unwrap_or_default();
            return Some(format!(
                "the warm-up is too long: nothing follows its {asked}, so the figures are of the \
                 whole; give a smaller --warmup"
            ));
        };
        let instructions = &self.hierarchy.pass.instructions;
        if !outcome.memories.is_empty() && instructions.iter().any(|all| *all > TIMED) {
            return Some(format!(
                "a core executed more than {TIMED} instructions, where its clock stands still: \
                 counts are right, and times, and what follows from them, are not"
            ));
        }
        let (measured, lines) = (outcome.counts.accesses(), outcome.geometry.lines() as u64);
        if let Some(asked) = asked.filter(|_| measured == 0) {
            return Some(format!(
                "the warm-up is too long: no request follows its {asked}, so there are no figures; \
                 give a smaller --warmup"
            ));
        }
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
}

impl Behind<'_> {
    /// Returns the progress of each core.
    pub(super) fn cores(&self) -> impl Iterator<Item = Progress> {
        let counts_instructions = self.run.hierarchy.pass.counts_instructions;
        self.found.cores.iter().map(move |&(instructions, time)| {
            let cycles = Found::cycles(time);
            let ipc = counts_instructions && cycles > 0.0;
            Progress {
                instructions,
                time,
                ipc: ipc.then(|| instructions as f64 / cycles),
            }
        })
    }

    /// Returns the instructions per cycle, summed over the cores; `None` where a trace does not
    /// count them.
    pub fn ipc(&self) -> Option<f64> {
        let cores = self.cores().filter_map(|core| core.ipc);
        cores.reduce(|sum, ipc| sum + ipc)
    }

    /// Returns the first uses of lines that were read ahead and had not arrived; `None` where
    /// private levels read nothing ahead.
    pub fn late(&self) -> Option<u64> {
        let ahead = self.run.hierarchy.pass.prefetches;
        ahead.map(|_| self.found.late)
    }

    /// Returns the bytes per second between the last level and the memory, in both directions.
    pub fn bandwidth(&self) -> f64 {
        let counts = self.run.counts();
        let bytes = (counts.reads() + counts.writebacks()) * self.run.hierarchy.machine.line;
        match self.found.elapsed.seconds() {
            seconds if seconds > 0.0 => bytes as f64 / seconds,
            _ => 0.0,
        }
    }
}

/// Returns `part` divided by `whole`; `None` if `whole` is zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
