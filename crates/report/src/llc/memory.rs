//! What a memory behind a last-level cache came to.

use serde::Serialize;
use terrace_base::Nanos;
use terrace_device::Consumed;
use terrace_sim::llc::{Found, Transfers};

/// A memory behind a cache.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// As it was asked for: a technology, or `dram/` and one.
    pub memory: String,
    /// Virtual time, in nanoseconds: of the core that took longest.
    pub time_ns: Nanos,
    /// Instructions a cycle, added up over the cores; null where a trace does not count them.
    pub ipc: Option<f64>,
    /// Each core.
    pub cores: Vec<Core>,
    /// Lines that the memory transferred. Writes that waited when the warm-up ended are among them.
    pub lines: Lines,
    /// Lines that the DRAM cache before it transferred; null where there is none.
    pub dram_cache: Option<Lines>,
    /// Bytes a second between the last level and what is behind it, both ways.
    pub bandwidth: f64,
    /// What memory and DRAM cache consumed, in joules; null where no powers are known.
    pub energy: Option<Energy>,
    /// Years until cells wear out, were the memory written at this rate with all cells evenly
    /// (Fedorov 2016, 2.4.5); null where nothing is written or no endurance known.
    pub lifetime_years: Option<f64>,
}

/// How far a core came.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Instructions; estimated where the trace does not count them.
    pub instructions: u64,
    /// Its virtual time, in nanoseconds.
    pub time_ns: Nanos,
    /// Instructions a cycle; null where they are not counted, or none were executed.
    pub ipc: Option<f64>,
}

/// Lines that were transferred.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lines {
    /// Read.
    pub reads: u64,
    /// Those of them that were in the open row.
    pub reads_in_open_row: u64,
    /// Written.
    pub writes: u64,
    /// Those of them that were in the open row.
    pub writes_in_open_row: u64,
}

/// Where energy went, in joules.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Energy {
    /// Reads.
    pub read: f64,
    /// Writes.
    pub write: f64,
    /// Opening rows.
    pub activate: f64,
    /// Being there.
    pub standby: f64,
    /// Refreshing.
    pub refresh: f64,
    /// All of it.
    pub total: f64,
}

impl Memory {
    /// What was found of one behind a cache that transferred so many bytes.
    pub fn of(found: &Found, bytes: u64, counts_instructions: bool) -> Self {
        let ipc = |instructions: u64, time: Nanos| {
            let cycles = Found::cycles(time);
            (counts_instructions && cycles > 0.0).then(|| instructions as f64 / cycles)
        };
        let core = |&(instructions, time_ns): &(u64, Nanos)| Core {
            instructions,
            time_ns,
            ipc: ipc(instructions, time_ns),
        };
        let cores: Vec<Core> = found.cores.iter().map(core).collect();
        let seconds = found.elapsed.seconds();
        Self {
            memory: found.name.clone(),
            time_ns: found.elapsed,
            ipc: cores
                .iter()
                .filter_map(|core| core.ipc)
                .reduce(|sum, ipc| sum + ipc),
            cores,
            lines: Lines::of(found.transfers),
            dram_cache: found.cache.map(Lines::of),
            bandwidth: if seconds > 0.0 {
                bytes as f64 / seconds
            } else {
                0.0
            },
            energy: found.energy.map(Energy::of),
            lifetime_years: found.lifetime_years,
        }
    }
}

impl Lines {
    fn of(transfers: Transfers) -> Self {
        Self {
            reads: transfers.all_reads(),
            reads_in_open_row: transfers.reads_in_row,
            writes: transfers.all_writes(),
            writes_in_open_row: transfers.writes_in_row,
        }
    }
}

impl Energy {
    fn of(consumed: Consumed) -> Self {
        Self {
            read: consumed.read,
            write: consumed.write,
            activate: consumed.activate,
            standby: consumed.standby,
            refresh: consumed.refresh,
            total: consumed.total(),
        }
    }
}
