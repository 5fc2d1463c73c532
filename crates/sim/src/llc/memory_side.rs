//! The memory side of a last-level cache, and how it delays the cores.

use rustc_hash::FxHashMap;
use terrace_base::{Bytes, Nanos, Result};
use terrace_device::Consumed;
use terrace_policy::llc::{Geometry, Kind};
use terrace_trace::order::{Event, Point};

use super::batch::{Asked, Near, Ordered};
use super::core::{CYCLE, Core, LOOKUP};
use super::level::{Level, Victim};
use super::memory::{Chips, Memory, Transfers};
use super::order::Order;

/// Lines read ahead that are known at least, before those that have arrived are forgotten.
const LEAST_ARRIVING: usize = 1024;

/// Ways of the DRAM cache.
pub const DRAM_CACHE_WAYS: usize = 16;

/// A memory, or a memory behind a DRAM cache.
///
/// The DRAM cache holds lines; it is LRU, of 16 ways, write-back and write-allocate. Its model
/// (Qureshi et al., ISCA 2009, 256 MB before PCM) fetches whole pages; this one fetches only
/// requested lines. Its tags take no time.
#[derive(Clone, Debug)]
pub struct Backing {
    /// The name for results.
    pub name: String,
    /// The memory.
    pub memory: Chips,
    /// The chips of the DRAM cache; `None` where there is no DRAM cache.
    pub cache: Option<Chips>,
}

/// A DRAM cache that is simulated.
#[derive(Clone, Debug)]
struct DramCache {
    tags: Level,
    memory: Memory,
}

/// The memory of a last-level cache, and the clocks of the cores that wait for it.
#[derive(Clone, Debug)]
pub struct MemorySide {
    backing: Backing,
    line: u64,
    memory: Memory,
    cache: Option<DramCache>,
    cores: Vec<Core>,
    /// When lines arrive that were read ahead, where that may be later than now.
    arriving: FxHashMap<u64, u64>,
    /// The number of those at which lines that have arrived are forgotten.
    most_arriving: usize,
    /// First uses of lines that were read ahead and had not arrived.
    late: u64,
    /// The times of releases, by program.
    released: FxHashMap<(usize, Point), u64>,
    /// The readings at the end of the warm-up.
    begin: Reading,
}

/// Readings of all meters.
#[derive(Clone, Debug, Default)]
struct Reading {
    memory: Transfers,
    cache: Transfers,
    late: u64,
    clocks: Vec<u64>,
    instructions: Vec<u64>,
}

/// The memory accesses of a last-level cache for one request.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    /// Whether the line is read.
    pub read: bool,
    /// The line that is written.
    pub write: Option<u64>,
}

/// The results of a memory, after the warm-up.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The name.
    pub name: String,
    /// Lines read from and written to the memory.
    pub transfers: Transfers,
    /// Lines read from and written to the DRAM cache, if there is one.
    pub cache: Option<Transfers>,
    /// First uses of lines that were read ahead and had not arrived: a load or store waited.
    pub late: u64,
    /// Virtual time.
    pub elapsed: Nanos,
    /// Instructions and virtual time of each core.
    pub cores: Vec<(u64, Nanos)>,
    /// Energy of memory and DRAM cache, in joules; `None` where no powers are known.
    pub energy: Option<Consumed>,
    /// The years that the memory lasts at this rate of writes, if its cells are written evenly.
    pub lifetime_years: Option<f64>,
}

impl Found {
    /// Returns the cycles of a time.
    pub fn cycles(time: Nanos) -> f64 {
        time.0 as f64 * 1000.0 / CYCLE as f64
    }
}

impl Backing {
    /// Returns the memory side of a cache with lines of `line` bytes that `cores` share.
    ///
    /// # Errors
    /// A usage error where the technology has no latency of a line, or the DRAM cache is not a
    /// whole number of sets.
    pub fn memory_side(&self, line: u64, cores: usize) -> Result<MemorySide> {
        let cache = self.cache.as_ref().map(|chips| {
            let geometry = Geometry::of(chips.capacity.0, DRAM_CACHE_WAYS, line);
            let geometry = geometry.map_err(terrace_base::Error::usage)?;
            Ok(DramCache {
                tags: Level::new(geometry),
                memory: chips.memory(line)?,
            })
        });
        Ok(MemorySide {
            backing: self.clone(),
            line,
            memory: self.memory.memory(line)?,
            cache: cache.transpose()?,
            cores: vec![Core::default(); cores],
            arriving: FxHashMap::default(),
            most_arriving: LEAST_ARRIVING,
            late: 0,
            released: FxHashMap::default(),
            begin: Reading::default(),
        })
    }
}

impl MemorySide {
    /// Serves a request with the memory accesses that the cache makes for it.
    pub fn serve(&mut self, asked: &Asked, asks: Asks) {
        let index = usize::from(asked.request.core);
        let (line, kind) = (asked.request.line, asked.request.kind);
        let looked = self.looked(asked);
        let done = match asks.read {
            true => self.read(line, looked),
            false => looked,
        };
        match kind {
            Kind::Load | Kind::Store => self.cores[index].start(done, kind == Kind::Load),
            Kind::Prefetch => self.expect(line, done),
            Kind::WriteBack | Kind::CleanVictim => {}
        }
        if let Some(line) = asks.write {
            let until = self.write(line, looked);
            if until > looked {
                self.cores[index].wait_until(until);
            }
        }
    }

    /// Returns the time at which the cache has looked for the line of a request, whose core gets
    /// there.
    fn looked(&mut self, asked: &Asked) -> u64 {
        let core = &mut self.cores[usize::from(asked.request.core)];
        core.advance(asked.instruction);
        if asked.request.kind.is_demand() {
            core.make_room();
        }
        core.begin(asked.after) + LOOKUP * CYCLE
    }

    /// Advances the memory to the time of a request that it will serve, and returns it, so that
    /// what it does not have to do can be done before.
    pub fn before(&mut self, asked: &Asked) -> &mut Memory {
        let looked = self.looked(asked);
        self.memory.arrive(looked);
        &mut self.memory
    }

    /// Returns the memory.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Notes the time of a release, or has a core wait for it.
    pub fn order(&mut self, ordered: &Ordered) {
        let Order {
            program,
            core,
            event,
        } = ordered.order;
        let core = &mut self.cores[core];
        core.advance(ordered.instruction);
        match event {
            Event::Release(point) => drop(self.released.insert((program, point), core.now())),
            Event::Acquire(point) => {
                let released = self.released.get(&(program, point));
                core.wait_until(released.copied().unwrap_or(0));
            }
        }
    }

    /// Serves an access from the second level, which waits for a line that was read ahead and is on
    /// its way.
    pub fn serve_near(&mut self, near: &Near) {
        let core = &mut self.cores[usize::from(near.core)];
        if let Some(arrives) = near.ahead.and_then(|line| self.arriving.remove(&line)) {
            core.advance(near.instruction);
            if arrives > core.begin(near.after) {
                self.late += 1;
                core.make_room();
                return core.start(arrives, near.load);
            }
        }
        if near.load {
            core.load_near(near.instruction, near.after);
        }
    }

    /// Notes when a line arrives that was read ahead.
    fn expect(&mut self, line: u64, arrives: u64) {
        if self.arriving.len() >= self.most_arriving {
            let now = self.cores.iter().map(Core::now).min().unwrap_or(0);
            self.arriving.retain(|_, arrives| *arrives > now);
            self.most_arriving = LEAST_ARRIVING.max(2 * self.arriving.len());
        }
        self.arriving.insert(line, arrives);
    }

    fn read(&mut self, line: u64, at: u64) -> u64 {
        let Some(cache) = &mut self.cache else {
            return self.memory.read(line, at);
        };
        match cache.tags.touch(line, false) {
            None => cache.memory.read(line, at),
            Some(victim) => {
                let done = self.memory.read(line, at);
                self.fill(line, victim, at).max(done)
            }
        }
    }

    fn write(&mut self, line: u64, at: u64) -> u64 {
        let Some(cache) = &mut self.cache else {
            return self.memory.write(line, at);
        };
        match cache.tags.touch(line, true) {
            None => cache.memory.write(line, at),
            Some(victim) => self.fill(line, victim, at),
        }
    }

    /// Inserts a line into the DRAM cache in place of a victim, and returns the time at which there
    /// is room.
    fn fill(&mut self, line: u64, victim: Victim, at: u64) -> u64 {
        let Some(cache) = &mut self.cache else {
            return at;
        };
        let mut until = at;
        if let Some(victim) = victim.dirty() {
            cache.memory.read(victim, at);
            until = self.memory.write(victim, at);
        }
        cache.memory.write(line, at).max(until)
    }

    /// Returns the time of a core at an instruction in picoseconds, if it requests nothing before.
    pub fn time_at(&self, core: usize, instruction: u64) -> u64 {
        self.cores[core].time_at(instruction)
    }

    /// Has a core execute up to an instruction, and returns its time in picoseconds.
    pub fn advance(&mut self, core: usize, instruction: u64) -> u64 {
        self.cores[core].advance(instruction);
        self.cores[core].now()
    }

    /// Has a core stand still for a time, in picoseconds.
    pub fn hold_up(&mut self, core: usize, time: u64) {
        let until = self.cores[core].now() + time;
        self.cores[core].wait_until(until);
    }

    /// Ends the warm-up.
    pub fn measure(&mut self) {
        self.begin = self.reading();
    }

    /// Ends the simulation, after the given instructions of each core.
    pub fn end(&mut self, instructions: &[u64]) {
        for (core, instructions) in self.cores.iter_mut().zip(instructions) {
            core.advance(*instructions);
        }
        self.memory.flush();
        if let Some(cache) = &mut self.cache {
            cache.memory.flush();
        }
    }

    fn reading(&self) -> Reading {
        Reading {
            memory: self.memory.transfers(),
            late: self.late,
            cache: self
                .cache
                .as_ref()
                .map(|cache| cache.memory.transfers())
                .unwrap_or_default(),
            clocks: self.cores.iter().map(Core::now).collect(),
            instructions: self.cores.iter().map(Core::instruction).collect(),
        }
    }

    /// Returns the results after the warm-up.
    pub fn found(&self) -> Found {
        let end = self.reading();
        let begin = &self.begin;
        let core = |index: usize| {
            let before = |of: &[u64]| of.get(index).copied().unwrap_or(0);
            let picos = end.clocks[index] - before(&begin.clocks);
            let instructions = end.instructions[index] - before(&begin.instructions);
            (instructions, Nanos(picos / 1000))
        };
        let cores: Vec<(u64, Nanos)> = (0..self.cores.len()).map(core).collect();
        let elapsed = cores
            .iter()
            .map(|(_, time)| *time)
            .max()
            .unwrap_or_default();
        let memory = end.memory - begin.memory;
        let cache = self.cache.as_ref().map(|_| end.cache - begin.cache);
        let backing = &self.backing;
        Found {
            name: backing.name.clone(),
            transfers: memory,
            cache,
            late: end.late - begin.late,
            elapsed,
            energy: backing.consumed(memory, cache.unwrap_or_default(), elapsed),
            lifetime_years: backing
                .memory
                .lifetime(memory.array_writes, self.line, elapsed),
            cores,
        }
    }
}

impl Backing {
    /// Returns the energy of memory and DRAM cache together.
    fn consumed(&self, memory: Transfers, cache: Transfers, elapsed: Nanos) -> Option<Consumed> {
        let memory = self.memory.consumed(memory, elapsed)?;
        match &self.cache {
            None => Some(memory),
            Some(chips) => Some(memory + chips.consumed(cache, elapsed)?),
        }
    }

    /// Returns the capacity of the memory, and of the DRAM cache if there is one.
    pub fn capacity(&self) -> (Bytes, Option<Bytes>) {
        let cache = self.cache.as_ref().map(|chips| chips.capacity);
        (self.memory.capacity, cache)
    }
}
