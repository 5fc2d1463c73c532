//! Results of a pass: their names, units and meanings, declared once.
//!
//! To add one: an entry here. All times are virtual: a simple model predicts them for a machine of
//! these settings. Figures exclude the warm-up unless stated otherwise.

use terrace_base::schema::{Field, Value, fields};
use terrace_device::Consumed;
use terrace_policy::llc::{Counts, Ends};

use super::ahead::PrefetchCounts;
use super::early::EarlyWrites;
use super::frames::Faults;
use super::memory::Transfers;
use super::options::{effective, shape};
use super::private::LevelCounts;
use super::simulated::{Behind, Epoch, Progress, Run, Simulated};

/// Returns the fields of a simulation in the document `terrace.sim.llc/1`, in the order of JSON.
pub fn simulation() -> Vec<Field<Simulated>> {
    let settings = effective()
        .into_iter()
        .map(|field| field.under("settings", "effective settings"));
    let results = fields! { Simulated;
        /// simulated accesses, warm-up included
        "accesses" None |one| one.pass.accesses;
        /// instructions of all cores, warm-up included; estimated at three per access where a trace
        /// does not count them
        "instructions" None |one| all(&one.pass.instructions);
        /// whether all traces count instructions
        "counts_instructions" None |one| one.pass.counts_instructions;
        /// first private levels of all cores together, warm-up included; null where the level is
        /// off
        "l1?": private() => |one| one.pass.private[0];
        /// second private levels, likewise
        "l2?": private() => |one| one.pass.private[1];
        /// lines that second private levels read ahead, warm-up included; null where they read
        /// nothing
        "prefetches?": prefetches() => |one| one.pass.prefetches;
        /// lines that left private levels since the last level evicted them, warm-up included; null
        /// unless it is inclusive
        "invalidated" None |one| one.pass.invalidated;
        /// first touches of pages by each program; null where addresses stay virtual
        "pages": [touched()]? => |one| {
            let pages = &one.pass.pages;
            (!pages.is_empty()).then_some(pages)
        };
        /// results of each last-level cache
        "runs": [run()] => |one| one.runs();
    };
    settings.chain(results).collect()
}

/// Returns the fields of a last-level cache.
///
/// `hits` + `misses` + `writeback_misses` + `prefetches.misses` + `clean_victims.misses` =
/// `accesses`, and `dirtied` + `dirty_at_begin` = `writebacks` + `taken_dirty` + `dirty_at_end`;
/// `clean_victims` and `taken_dirty` are none unless the cache is exclusive.
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
        /// loads and stores of a line that was absent, including bypassed ones: reads of memory,
        /// beside those of prefetches
        "misses" None |run| run.counts().misses();
        /// lines written to memory: dirty lines that were evicted, flushed or written early, and
        /// those that bypassed the cache
        "writebacks" None |run| run.counts().writebacks();
        /// `misses` per load or store, 0 to 1; null where there are none
        "miss_ratio" Ratio |run| run.miss_ratio();
        /// `misses` per 1000 instructions; null where a trace does not count instructions, no
        /// memory was simulated, or no instructions were executed
        "mpki" None |run| run.mpki();
        /// loads
        "loads": ends() => |run| Some(run.counts().loads);
        /// store misses of the private levels, which read the line
        "stores": ends() => |run| Some(run.counts().stores);
        /// write-backs of the private levels
        "from_above": ends() => |run| Some(run.counts().from_above);
        /// prefetches of the second private levels, or of a trace of requests
        "prefetches": ends() => |run| Some(run.counts().prefetches);
        /// lines that left private levels unwritten, which an exclusive cache takes in; lines among
        /// them that were dirty when they were taken out of it still are; null for another cache
        "clean_victims?": ends() => |run| run.exclusive(run.counts().clean_victims);
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
        /// dirty lines that were written to memory before they were evicted; null where they are
        /// written on demand
        "early_writes?": early() => |run| run.outcome.early;
        /// write-backs of the private levels to a clean line, including bypassed ones, and flushes
        /// and evictions of lines that were dirty only in the private levels; of an exclusive cache
        /// dirty lines that came in, and those flushes
        "dirtied" None |run| run.counts().dirtied;
        /// dirty lines that hits took out of an exclusive cache, and that stay dirty; null for
        /// another
        "taken_dirty" None |run| run.exclusive(run.counts().taken_dirty);
        /// lines that were dirty at the end of the warm-up
        "dirty_at_begin" None |run| run.outcome.dirty_at_begin;
        /// lines that were dirty at the end
        "dirty_at_end" None |run| run.outcome.dirty_at_end;
        /// hits by the number of lines of the set that were used more recently, from 0 (Fedorov
        /// 2016, figure 2.1); null where the policy keeps no such order
        "hits_by_position" None |run| run.outcome.positions.as_deref().map(Value::list);
        /// counts of the warm-up; null where the trace ended before it did, and all figures cover
        /// the whole trace
        "warmup?": traffic() => |run| run.outcome.warmup;
        /// requests, warm-up included, until every place of the cache had been filled; null where
        /// some never were
        "full_at" None |run| run.outcome.full_at;
        /// lines that the cache held at the end
        "filled_lines" None |run| run.outcome.filled;
        /// reads and write-backs together that no policy is below, whatever it knows; null unless
        /// this policy knows the future, where lines are flushed, or where the cache is exclusive
        "least_transfers" None |run| run.outcome.bounds.map(|bounds| bounds.least);
        /// reads and write-backs together that some policy that knows the future is not above;
        /// null likewise
        "reached_transfers" None |run| run.outcome.bounds.map(|bounds| bounds.reached);
        /// results of the requests of each core; null where there is one core
        "cores": [by_core()]? => |run| {
            let several = !run.outcome.by_core.is_empty();
            several.then(|| run.cores())
        };
        /// results of the memories behind the cache, each simulated independently
        "memories": [memory()] => |run| run.memories();
        /// epochs, warm-up included; null where none were asked for
        "epochs": [epoch()]? => |run| run.epochs();
        /// reason why the figures may not be those of a steady state; null where there is none
        "warning" None |run| run.warning();
    }
}

/// Returns the fields of a private level.
fn private() -> Vec<Field<LevelCounts>> {
    fields! { LevelCounts;
        /// lines requested by the level above, without write-backs; in the first level, an access
        /// to two lines counts twice
        "accesses" None |level| level.accesses;
        /// requested lines that were not present
        "misses" None |level| level.misses;
        /// dirty lines written to the level below
        "writebacks" None |level| level.writebacks;
    }
}

/// Returns the fields of lines that are read ahead.
fn prefetches() -> Vec<Field<PrefetchCounts>> {
    fields! { PrefetchCounts;
        /// lines read ahead: those that the level did not have
        "issued" None |ahead| ahead.issued;
        /// lines of those that the first level asked for while they were there
        "useful" None |ahead| ahead.useful;
        /// lines of those that left, or were written back to, before they were asked for
        "useless" None |ahead| ahead.useless;
        /// lines of those that were there at the end, and not asked for
        "unused" None |ahead| ahead.unused();
    }
}

/// Returns the fields of lines that are written early.
fn early() -> Vec<Field<EarlyWrites>> {
    fields! { EarlyWrites;
        /// lines written early, and clean from then on
        "writes" None |early| early.writes;
        /// lines of those, some of them of the warm-up, that were written again before they left:
        /// their early write was one too many
        "premature" None |early| early.premature;
        /// idle time of the memory that early writes took; 0 where they do not wait for it
        "idle_ns" Nanos |early| early.idle;
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
        /// loads and stores of a line that was absent
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
        /// lines written to memory to make room for lines of the core, and lines that it flushed;
        /// lines that are written early are no core's
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
        /// loads and stores of a line that was absent
        "misses" None |epoch| epoch.counts.misses();
        /// lines written to memory
        "writebacks" None |epoch| epoch.counts.writebacks();
        /// clean lines that were evicted
        "evictions_clean" None |epoch| epoch.counts.clean_evictions;
        /// dirty lines that were evicted
        "evictions_dirty" None |epoch| epoch.counts.dirty_evictions;
        /// requests for which the policy left the cache unchanged
        "bypasses" None |epoch| epoch.counts.bypasses();
        /// ways of the high-hit partition at the end of the epoch, n of nHm; null where the policy
        /// has none
        "high" None |epoch| epoch.end.in_force.map(|settings| settings.high);
        /// whether new lines are put at the top of the low-hit partition at the end of the epoch;
        /// null where the policy has none
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
        "cores": [progress()] => |behind| behind.cores();
        /// lines that the memory transferred, including writes that were waiting at the end of the
        /// warm-up
        "lines": transfers() => |behind| Some(behind.found.transfers);
        /// lines that the DRAM cache in front of the memory transferred; null where there is none
        "dram_cache?": transfers() => |behind| behind.found.cache;
        /// first uses of lines that were read ahead and had not arrived, for which a core waited;
        /// null where private levels read nothing ahead
        "late_prefetches" None |behind| behind.late();
        /// bytes per second between the last level and the memory, in both directions
        "bandwidth" Rate |behind| behind.bandwidth();
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
        /// lines written to cells: where a memory writes them when a row is closed, several writes
        /// of a line may be one
        "array_writes" None |lines| lines.array_writes;
    }
}

/// Returns the instructions of all cores.
fn all(instructions: &[u64]) -> u64 {
    let add = |sum: u64, more: &u64| sum.saturating_add(*more);
    instructions.iter().fold(0, add)
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
