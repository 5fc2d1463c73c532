//! Effective settings of a simulation of last-level caches.

use serde::Serialize;
use terrace_policy::llc::Geometry;
use terrace_sim::llc::{Backing, LlcMachine, Pass, Warmup, model};

/// Effective settings.
#[derive(Clone, Debug, Serialize)]
pub struct Effective {
    /// Number of cores; each has its own private levels.
    pub cores: usize,
    /// Bytes per line.
    pub line_bytes: u64,
    /// First private level of each core; null where it is off.
    pub l1: Option<Shape>,
    /// Second private level of each core; null where it is off.
    pub l2: Option<Shape>,
    /// Requests to the last level before figures were taken; null where accesses were counted.
    pub warmup_requests: Option<u64>,
    /// Accesses of the traces before figures were taken; null where requests were counted.
    pub warmup_accesses: Option<u64>,
    /// Requests per epoch; null where none were asked for.
    pub epoch: Option<u64>,
    /// Seed of the random choices of policies and of the placement of pages.
    pub seed: u64,
    /// Placement of pages in frames, with its settings filled in.
    pub pages: String,
    /// Address of the flushing instruction of each program; null where no program flushes.
    pub flush_ips: Option<Vec<Option<u64>>>,
    /// Whether flushed lines stay in the caches, clean; null where no program flushes.
    pub flush_keeps: Option<bool>,
    /// Memories behind each cache.
    pub memories: Vec<Behind>,
    /// Model of a core.
    pub core: Core,
    /// Model of a memory.
    pub memory: Bus,
}

/// Shape of a cache.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shape {
    /// Capacity in bytes.
    pub bytes: u64,
    /// Lines per set.
    pub ways: usize,
    /// Number of sets.
    pub sets: usize,
}

/// Settings of a memory behind the last level.
#[derive(Clone, Debug, Serialize)]
pub struct Behind {
    /// Memory as it was named: a technology, or `dram/` and a technology.
    pub memory: String,
    /// Capacity in bytes.
    pub bytes: u64,
    /// Capacity in bytes of the DRAM cache in front of the memory; null where there is none.
    pub dram_cache_bytes: Option<u64>,
    /// Ways of the DRAM cache; null where there is none.
    pub dram_cache_ways: Option<usize>,
    /// Number of lines that can wait to be written.
    pub write_buffer: usize,
    /// Read latency of a line in a row that is not open, in nanoseconds; null where no source
    /// states it.
    pub read_ns: Option<u64>,
    /// Write latency of a line in a row that is not open, in nanoseconds; null where no source
    /// states it.
    pub write_ns: Option<u64>,
    /// Latency of a line in the open row, in nanoseconds; null where no source states it.
    pub same_row_ns: Option<u64>,
    /// Writes that a cell sustains; null where no source states it.
    pub endurance: Option<f64>,
}

/// Model of a core; all its figures are assumed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Cycles per second.
    pub clock_hz: u64,
    /// Instructions per cycle while no request goes beyond the private levels.
    pub issue: u64,
    /// Instructions that may follow a load that has not completed.
    pub window: u64,
    /// Loads and stores that may be in progress beyond the private levels.
    pub outstanding: usize,
    /// Cycles of a look-up in the last level.
    pub lookup_cycles: u64,
}

/// Model of a memory on the bus.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bus {
    /// Bytes per second.
    pub bandwidth: u64,
    /// Number of banks, each with an open row.
    pub banks: usize,
    /// Bytes per row.
    pub row_bytes: u64,
}

impl Effective {
    /// Returns the effective settings of a pass.
    pub fn of(settings: &LlcMachine, pass: &Pass) -> Self {
        let levels = settings.levels().unwrap_or_default();
        let shape = |level: Option<Geometry>| level.map(|level| Shape::of(level, settings.line));
        let (warmup_requests, warmup_accesses) = match settings.warmup {
            Warmup::Requests(requests) => (Some(requests), None),
            Warmup::Accesses(accesses) => (None, Some(accesses)),
        };
        let flushes = Some(&settings.flushes).filter(|flushes| !flushes.ips.is_empty());
        Self {
            cores: pass.instructions.len(),
            line_bytes: settings.line,
            l1: shape(levels[0]),
            l2: shape(levels[1]),
            warmup_requests,
            warmup_accesses,
            epoch: settings.epoch,
            seed: settings.seed,
            pages: settings.placement.to_string(),
            flush_ips: flushes.map(|flushes| flushes.ips.clone()),
            flush_keeps: flushes.map(|flushes| flushes.keeps),
            memories: settings.memories.iter().map(Behind::of).collect(),
            core: Core {
                clock_hz: 1_000_000_000_000 / model::CYCLE,
                issue: model::ISSUE,
                window: model::WINDOW,
                outstanding: model::OUTSTANDING,
                lookup_cycles: model::LOOKUP,
            },
            memory: Bus {
                bandwidth: model::BANDWIDTH,
                banks: model::BANKS,
                row_bytes: model::ROW_BYTES,
            },
        }
    }
}

impl Shape {
    /// Returns the shape of a cache with lines of `line` bytes.
    pub fn of(geometry: Geometry, line: u64) -> Self {
        Self {
            bytes: geometry.lines() as u64 * line,
            ways: geometry.ways,
            sets: geometry.sets,
        }
    }
}

impl Behind {
    fn of(backing: &Backing) -> Self {
        let technology = &backing.memory.technology;
        let nanos = |figure: &Option<terrace_device::Figure<terrace_base::Nanos>>| {
            figure.as_ref().map(|figure| figure.value.0)
        };
        let cache = backing.cache.as_ref();
        Self {
            memory: backing.name.clone(),
            bytes: backing.memory.capacity.0,
            dram_cache_bytes: cache.map(|chips| chips.capacity.0),
            dram_cache_ways: cache.map(|_| model::DRAM_CACHE_WAYS),
            write_buffer: backing.memory.write_buffer,
            read_ns: nanos(&technology.line_read),
            write_ns: nanos(&technology.line_write),
            same_row_ns: nanos(&technology.same_row),
            endurance: technology.endurance.as_ref().map(|figure| figure.value),
        }
    }
}
