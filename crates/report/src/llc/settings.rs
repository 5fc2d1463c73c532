//! The settings of a simulation of last-level caches with everything filled in.

use serde::Serialize;
use terrace_base::Bytes;
use terrace_policy::llc::Geometry;
use terrace_sim::llc::{Backing, Pass, Settings, Warmup, model};

/// The effective settings.
#[derive(Clone, Debug, Serialize)]
pub struct Effective {
    /// Cores; each has private levels of its own.
    pub cores: usize,
    /// Bytes of a line.
    pub line_bytes: u64,
    /// The first private level of each core; null where it is off.
    pub l1: Option<Shape>,
    /// The second.
    pub l2: Option<Shape>,
    /// Requests to the last level before figures were taken; null where accesses were counted.
    pub warmup_requests: Option<u64>,
    /// Accesses of the traces before figures were taken; null where requests were counted.
    pub warmup_accesses: Option<u64>,
    /// Requests of an epoch; null where none were asked for.
    pub epoch: Option<u64>,
    /// For what policies and the placement of pages leave to chance.
    pub seed: u64,
    /// Which frames pages get, its settings filled in.
    pub pages: String,
    /// Of each program the address of the instruction that flushes; null where nothing does.
    pub flush_ips: Option<Vec<Option<u64>>>,
    /// Whether flushed lines stay in the caches, clean; null where nothing flushes.
    pub flush_keeps: Option<bool>,
    /// The memories behind each cache.
    pub memories: Vec<Behind>,
    /// The model of a core.
    pub core: Core,
    /// The model of a memory.
    pub memory: Bus,
}

/// The shape of a cache.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shape {
    /// Its capacity.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: usize,
    /// Sets.
    pub sets: usize,
}

/// A memory behind the last level.
#[derive(Clone, Debug, Serialize)]
pub struct Behind {
    /// As it was asked for: a technology, or `dram/` and one.
    pub memory: String,
    /// Its capacity.
    pub bytes: u64,
    /// That of the DRAM cache before it; null where there is none.
    pub dram_cache_bytes: Option<u64>,
    /// Ways of the DRAM cache.
    pub dram_cache_ways: Option<usize>,
    /// Lines that wait to be written.
    pub write_buffer: usize,
    /// Latency of a line in a row that is not open, in nanoseconds: read.
    pub read_ns: Option<u64>,
    /// The same: write.
    pub write_ns: Option<u64>,
    /// Latency of a line in the open row.
    pub same_row_ns: Option<u64>,
    /// Writes that a cell sustains; null where no source says.
    pub endurance: Option<f64>,
}

/// The model of a core, all of it assumed.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Core {
    /// Cycles a second.
    pub clock_hz: u64,
    /// Instructions a cycle while nothing goes beyond the private levels.
    pub issue: u64,
    /// Instructions that may follow a load that has not completed.
    pub window: u64,
    /// Loads and stores that may be under way beyond the private levels.
    pub outstanding: usize,
    /// Cycles of a look-up in the last level.
    pub lookup_cycles: u64,
}

/// The model of a memory on the bus.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Bus {
    /// Bytes a second.
    pub bandwidth: u64,
    /// Banks, each with an open row.
    pub banks: usize,
    /// Bytes of a row.
    pub row_bytes: u64,
}

impl Effective {
    /// Those of a pass.
    pub fn of(settings: &Settings, pass: &Pass) -> Self {
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
    /// In lines of `line` bytes.
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

/// The private levels in words: `L1 64.0 KiB 2-way, L2 256 KiB 8-way, lines of 64 bytes`.
pub fn hierarchy(settings: &Settings) -> String {
    let level = |number: usize| match settings.private[number] {
        None => format!("L{} off", number + 1),
        Some(size) => format!("L{} {} {}-way", number + 1, size.bytes, size.ways),
    };
    format!(
        "{}, {}, lines of {}",
        level(0),
        level(1),
        Bytes(settings.line)
    )
}
