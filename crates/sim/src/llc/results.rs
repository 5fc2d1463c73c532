//! Results of a pass: their names, units and meanings, declared once.
//!
//! To add one: an entry here. All times are virtual: a simple model predicts them for a machine of
//! these settings. Figures exclude the warm-up unless stated otherwise.

use terrace_base::Nanos;
use terrace_base::schema::{Field, Tree, Value, fields};
use terrace_device::Consumed;
use terrace_policy::llc::{Counts, Ends, Geometry};

use super::frames::Faults;
use super::memory::Transfers;
use super::memory_side::Found;
use super::options::effective;
use super::outcome::{Outcome, Pass};
use super::private::LevelCounts;
use super::settings::{LlcMachine, Size, Warmup};
use super::shared::Point;

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
    /// The hierarchy of which it is a part.
    pub hierarchy: &'a Simulated,
    /// Results of the cache.
    pub outcome: &'a Outcome,
}

/// A memory behind a last-level cache.
#[derive(Clone, Copy, Debug)]
pub struct Behind<'a> {
    /// The cache.
    run: Run<'a>,
    /// Results of the memory.
    pub found: &'a Found,
}

/// Progress of a core.
#[derive(Clone, Copy, Debug)]
struct Progress {
    instructions: u64,
    time: Nanos,
    ipc: Option<f64>,
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

    fn mpki(&self) -> Option<f64> {
        let cores = &self.outcome.memories.first()?.cores;
        let instructions = cores.iter().map(|(instructions, _)| instructions).sum();
        let each = share(self.counts().misses(), instructions)?;
        self.hierarchy
            .pass
            .counts_instructions
            .then_some(1000.0 * each)
    }

    /// Returns the instructions of each core, warm-up included, and the counts of its requests.
    fn cores(&self) -> impl Iterator<Item = (u64, Counts)> {
        let instructions = self.hierarchy.pass.instructions.iter().copied();
        instructions.zip(self.outcome.by_core.iter().copied())
    }

    /// Returns the reason why figures may not be those of a steady state, as a sentence.
    pub fn warning(&self) -> Option<String> {
        let outcome = self.outcome;
        let Some(warmup) = outcome.warmup else {
            let asked = match self.hierarchy.machine.warmup {
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
}

impl Behind<'_> {
    /// Returns the progress of each core.
    fn cores(&self) -> impl Iterator<Item = Progress> {
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

    /// Returns the instructions per cycle, summed over the cores; `None` where a trace does not count
    /// them.
    pub fn ipc(&self) -> Option<f64> {
        let cores = self.cores().filter_map(|core| core.ipc);
        cores.reduce(|sum, ipc| sum + ipc)
    }

    /// Returns the bytes per second between the last level and the memory, in both directions.
    pub fn bandwidth(&self) -> f64 {
        let counts = self.run.counts();
        let bytes = (counts.misses() + counts.writebacks()) * self.run.hierarchy.machine.line;
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

/// Returns the fields of a simulation in the document `terrace.sim.llc/1`, in the order of JSON.
pub fn simulation() -> Vec<Field<Simulated>> {
    let settings = effective().into_iter().map(|field| field.under("settings"));
    let results = fields! { Simulated;
        /// simulated accesses, warm-up included
        "accesses" None |one| one.pass.accesses;
        /// instructions of all cores, warm-up included; estimated at three per access where a trace
        /// does not count them
        "instructions" None |one| one.pass.instructions.iter().sum::<u64>();
        /// whether all traces count instructions
        "counts_instructions" None |one| one.pass.counts_instructions;
        /// first private levels of all cores together, warm-up included; null where the level is off
        "l1?": private() => |one| one.pass.private[0];
        /// second private levels, likewise
        "l2?": private() => |one| one.pass.private[1];
        /// first touches of pages by each program; null where addresses stay virtual
        "pages" None |one| {
            let pages = &one.pass.pages;
            (!pages.is_empty()).then(|| Tree::list(&touched(), pages))
        };
        /// results of each last-level cache
        "runs" None |one| Tree::list(&run(), one.runs());
    };
    settings.chain(results).collect()
}

/// Returns the fields of a last-level cache.
///
/// `hits` + `misses` + `writeback_misses` = `accesses`, and `dirtied` + `dirty_at_begin` =
/// `writebacks` + `dirty_at_end`.
pub fn run<'a>() -> Vec<Field<Run<'a>>> {
    fields! { Run<'a>;
        /// policy as it was named
        "policy" None |run| run.outcome.llc.policy.to_string();
        /// shape of the cache
        "llc": shape() => |run| Some((run.size(), run.outcome.geometry));
        /// bits that the policy stores beyond tags, dirty bits and LRU order
        "storage_bits" None |run| run.outcome.storage_bits;
        /// requests of the private levels
        "accesses" None |run| run.counts().accesses();
        /// requests for a line that was present
        "hits" None |run| run.counts().hits();
        /// loads and stores of a line that was absent, including bypassed ones: reads of memory
        "misses" None |run| run.counts().misses();
        /// lines written to memory: dirty lines that were evicted or flushed, and write-backs that
        /// bypassed the cache
        "writebacks" None |run| run.counts().writebacks();
        /// `misses` per load or store, 0 to 1; null where there are none
        "miss_ratio" Ratio |run| run.miss_ratio();
        /// `misses` per 1000 instructions; null where a trace does not count instructions, no memory
        /// was simulated, or no instructions were executed
        "mpki" None |run| run.mpki();
        /// loads
        "loads": ends() => |run| Some(run.counts().loads);
        /// store misses of the private levels, which read the line
        "stores": ends() => |run| Some(run.counts().stores);
        /// write-backs of the private levels
        "from_above": ends() => |run| Some(run.counts().from_above);
        /// write-backs of the private levels for a line that was absent; they do not read memory
        "writeback_misses" None |run| run.counts().writeback_misses();
        /// requests for which the policy left the cache unchanged
        "bypasses" None |run| run.counts().bypasses();
        /// clean lines that were evicted
        "evictions_clean" None |run| run.counts().clean_evictions;
        /// dirty lines that were evicted
        "evictions_dirty" None |run| run.counts().dirty_evictions;
        /// lines that programs flushed
        "flushes" None |run| run.counts().flushes;
        /// flushed lines that were dirty in any level and were written to memory
        "flush_writes" None |run| run.counts().flush_writes;
        /// write-backs of the private levels to a clean line, including bypassed ones, and flushes of
        /// lines that were dirty only in the private levels
        "dirtied" None |run| run.counts().dirtied;
        /// lines that were dirty at the end of the warm-up
        "dirty_at_begin" None |run| run.outcome.dirty_at_begin;
        /// lines that were dirty at the end
        "dirty_at_end" None |run| run.outcome.dirty_at_end;
        /// hits by the number of lines of the set that were used more recently, from 0 (Fedorov 2016,
        /// figure 2.1); null where the policy keeps no such order
        "hits_by_position" None |run| run.outcome.positions.as_deref().map(Value::list);
        /// counts of the warm-up; null where the trace ended before it did, and all figures cover the
        /// whole trace
        "warmup?": traffic() => |run| run.outcome.warmup;
        /// requests, warm-up included, until the cache was full; null where it never was
        "full_at" None |run| run.outcome.full_at;
        /// lines that the cache held at the end
        "filled_lines" None |run| run.outcome.filled;
        /// results of the requests of each core; null where there is one core
        "cores" None |run| {
            let several = !run.outcome.by_core.is_empty();
            several.then(|| Tree::list(&by_core(), run.cores()))
        };
        /// results of the memories behind the cache, each simulated independently
        "memories" None |run| Tree::list(&memory(), run.memories());
        /// epochs, warm-up included; null where none were asked for
        "epochs" None |run| run.epochs().map(|epochs| Tree::list(&epoch(), epochs));
        /// reason why the figures may not be those of a steady state; null where there is none
        "warning" None |run| run.warning();
    }
}

/// Returns the fields of the shape of a cache.
pub(super) fn shape() -> Vec<Field<(Size, Geometry)>> {
    fields! { (Size, Geometry);
        /// capacity
        "bytes" Bytes |shape| shape.0.bytes;
        /// lines per set
        "ways" None |shape| shape.1.ways;
        /// number of sets
        "sets" None |shape| shape.1.sets;
    }
}

/// Returns the fields of a private level.
fn private() -> Vec<Field<LevelCounts>> {
    fields! { LevelCounts;
        /// lines requested by the level above, without write-backs; in the first level, an access to
        /// two lines counts twice
        "accesses" None |level| level.accesses;
        /// requested lines that were not present
        "misses" None |level| level.misses;
        /// dirty lines written to the level below
        "writebacks" None |level| level.writebacks;
    }
}

/// Returns the fields of the first touches of pages by a program.
fn touched() -> Vec<Field<Faults>> {
    fields! { Faults;
        /// pages that the program touched
        "touched" None |faults| faults.pages;
        /// touched pages whose frame does not follow the frame of the page touched first before
        /// (Kannan 2013, 4.1)
        "contiguity_misses" None |faults| faults.contiguity_misses;
    }
}

/// Returns the fields of requests of one kind.
fn ends() -> Vec<Field<Ends>> {
    fields! { Ends;
        /// all requests
        "all" None |ends| ends.all();
        /// requests for a line that was present
        "hits" None |ends| ends.hits;
        /// requests for a line that was absent
        "misses" None |ends| ends.misses();
        /// requests for a line that was absent and was not allocated
        "bypasses" None |ends| ends.bypasses;
    }
}

/// Returns the fields of what requests cost.
fn traffic() -> Vec<Field<Counts>> {
    fields! { Counts;
        /// requests
        "accesses" None |counts| counts.accesses();
        /// reads of memory
        "misses" None |counts| counts.misses();
        /// lines written to memory
        "writebacks" None |counts| counts.writebacks();
    }
}

/// Returns the fields of the requests of one core.
fn by_core() -> Vec<Field<(u64, Counts)>> {
    fields! { (u64, Counts);
        /// instructions that the core executed, warm-up included
        "instructions" None |core| core.0;
        /// requests of the private levels of the core
        "accesses" None |core| core.1.accesses();
        /// loads and stores of a line that was absent
        "misses" None |core| core.1.misses();
        /// lines written to memory to make room for lines of the core, and lines that it flushed
        "writebacks" None |core| core.1.writebacks();
        /// lines that the core flushed
        "flushes" None |core| core.1.flushes;
        /// flushed lines that were dirty
        "flush_writes" None |core| core.1.flush_writes;
    }
}

/// Returns the fields of an epoch.
fn epoch() -> Vec<Field<Epoch>> {
    fields! { Epoch;
        /// requests from the beginning of the trace to the end of the epoch
        "end" None |epoch| epoch.end.counts.accesses();
        /// requests of the epoch
        "accesses" None |epoch| epoch.counts.accesses();
        /// requests for a line that was present
        "hits" None |epoch| epoch.counts.hits();
        /// reads of memory
        "misses" None |epoch| epoch.counts.misses();
        /// lines written to memory
        "writebacks" None |epoch| epoch.counts.writebacks();
        /// clean lines that were evicted
        "evictions_clean" None |epoch| epoch.counts.clean_evictions;
        /// dirty lines that were evicted
        "evictions_dirty" None |epoch| epoch.counts.dirty_evictions;
        /// requests for which the policy left the cache unchanged
        "bypasses" None |epoch| epoch.counts.bypasses();
        /// ways of the high-hit partition at the end of the epoch, n of nHm; null where the policy has
        /// none
        "high" None |epoch| epoch.end.in_force.map(|settings| settings.high);
        /// whether new lines are put at the top of the low-hit partition at the end of the epoch; null
        /// where the policy has none
        "low_insertion" None |epoch| epoch.end.in_force.map(|settings| settings.low_insertion);
    }
}

/// Returns the fields of a memory behind a cache.
fn memory<'a>() -> Vec<Field<Behind<'a>>> {
    fields! { Behind<'a>;
        /// memory as it was named: a technology, or `dram/` and a technology
        "memory" None |behind| behind.found.name.clone();
        /// virtual time of the slowest core
        "time_ns" Nanos |behind| behind.found.elapsed;
        /// instructions per cycle, summed over the cores; null where a trace does not count them
        "ipc" None |behind| behind.ipc();
        /// progress of each core
        "cores" None |behind| Tree::list(&progress(), behind.cores());
        /// lines that the memory transferred, including writes that were waiting at the end of the
        /// warm-up
        "lines": transfers() => |behind| Some(behind.found.transfers);
        /// lines that the DRAM cache in front of the memory transferred; null where there is none
        "dram_cache?": transfers() => |behind| behind.found.cache;
        /// bytes per second between the last level and the memory, in both directions
        "bandwidth" None |behind| behind.bandwidth();
        /// energy of memory and DRAM cache; null where no powers are known
        "energy?": energy() => |behind| behind.found.energy;
        /// until cells wear out at this rate of writes with all cells written evenly (Fedorov 2016,
        /// 2.4.5); null where nothing is written or no endurance is known
        "lifetime_years" Years |behind| behind.found.lifetime_years;
    }
}

/// Returns the fields of the progress of a core.
fn progress() -> Vec<Field<Progress>> {
    fields! { Progress;
        /// instructions; estimated where the trace does not count them
        "instructions" None |core| core.instructions;
        /// virtual time
        "time_ns" Nanos |core| core.time;
        /// instructions per cycle; null where they are not counted, or none were executed
        "ipc" None |core| core.ipc;
    }
}

/// Returns the fields of transferred lines.
fn transfers() -> Vec<Field<Transfers>> {
    fields! { Transfers;
        /// lines read
        "reads" None |lines| lines.all_reads();
        /// lines read from the open row
        "reads_in_open_row" None |lines| lines.reads_in_row;
        /// lines written
        "writes" None |lines| lines.all_writes();
        /// lines written to the open row
        "writes_in_open_row" None |lines| lines.writes_in_row;
    }
}

/// Returns the fields of energy by cause.
fn energy() -> Vec<Field<Consumed>> {
    fields! { Consumed;
        /// energy of reads
        "read" Joules |energy| energy.read;
        /// energy of writes
        "write" Joules |energy| energy.write;
        /// energy of row activations
        "activate" Joules |energy| energy.activate;
        /// standby energy
        "standby" Joules |energy| energy.standby;
        /// refresh energy
        "refresh" Joules |energy| energy.refresh;
        /// sum of all causes
        "total" Joules |energy| energy.total();
    }
}
