//! Results of a memory behind a last-level cache.

use serde::Serialize;
use terrace_base::Nanos;
use terrace_device::Consumed;
use terrace_sim::llc::{Found, Transfers};

/// Results of a memory behind a cache.
#[derive(Clone, Debug, Serialize)]
pub struct Memory {
    /// Memory as it was named: a technology, or `dram/` and a technology.
    pub memory: String,
    /// Virtual time of the slowest core, in nanoseconds.
    pub time_ns: Nanos,
    /// Instructions per cycle, summed over the cores; null where a trace does not count them.
    pub ipc: Option<f64>,
    /// Results of each core.
    pub cores: Vec<Core>,
    /// Lines that the memory transferred, including writes that were waiting at the end of the
    /// warm-up.
    pub lines: Lines,
    /// Lines that the DRAM cache in front of the memory transferred; null where there is none.
    pub dram_cache: Option<Lines>,
    /// Bytes per second between the last level and the memory, in both directions.
    pub bandwidth: f64,
    /// Energy of memory and DRAM cache, in joules; null where no powers are known.
    pub energy: Option<Energy>,
    /// Years until cells wear out at this rate of writes with all cells written evenly (Fedorov
    /// 2016, 2.4.5); null where nothing is written or no endurance is known.
    pub lifetime_years: Option<f64>,
}

/// Progress of a core.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Instructions; estimated where the trace does not count them.
    pub instructions: u64,
    /// Virtual time, in nanoseconds.
    pub time_ns: Nanos,
    /// Instructions per cycle; null where they are not counted, or none were executed.
    pub ipc: Option<f64>,
}

/// Transferred lines.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Lines {
    /// Lines read.
    pub reads: u64,
    /// Lines read from the open row.
    pub reads_in_open_row: u64,
    /// Lines written.
    pub writes: u64,
    /// Lines written to the open row.
    pub writes_in_open_row: u64,
}

/// Energy by cause, in joules.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Energy {
    /// Energy of reads.
    pub read: f64,
    /// Energy of writes.
    pub write: f64,
    /// Energy of row activations.
    pub activate: f64,
    /// Standby energy.
    pub standby: f64,
    /// Refresh energy.
    pub refresh: f64,
    /// Sum of all causes.
    pub total: f64,
}

impl Memory {
    /// Returns the results of a memory behind a cache that transferred `bytes` bytes.
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
