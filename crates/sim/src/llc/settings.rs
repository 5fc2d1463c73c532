//! Settings of a simulation: the private levels, and the last-level caches that serve their
//! requests.

use terrace_base::{Bytes, Error, Result};
use terrace_policy::llc::{Geometry, LINE_BYTES, Spec};

use super::flush::Flushes;
use super::lines::Lines;
use super::memory_side::Backing;
use super::placement::Placement;

/// End of the warm-up, after which figures are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// Number of requests to the last level.
    Requests(u64),
    /// Number of accesses of the traces.
    Accesses(u64),
}

impl Default for Warmup {
    fn default() -> Self {
        Self::Requests(0)
    }
}

/// Size of a cache and number of lines per set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Capacity.
    pub bytes: Bytes,
    /// Associativity.
    pub ways: usize,
}

impl Size {
    /// Returns the shape of the cache with lines of `line` bytes.
    ///
    /// # Errors
    /// A usage error where the size is not a whole number of sets.
    pub fn geometry(self, line: u64) -> Result<Geometry> {
        Geometry::of(self.bytes.0, self.ways, line).map_err(Error::usage)
    }
}

/// Last-level cache.
#[derive(Clone, Debug)]
pub struct Llc {
    /// Size of the cache.
    pub size: Size,
    /// Policy of the cache.
    pub policy: Spec,
}

/// Settings of one pass.
#[derive(Clone, Debug, Default)]
pub struct LlcMachine {
    /// Bytes per line, in all levels.
    pub line: u64,
    /// Private levels of each core, first and second; `None` for a level that is absent.
    pub private: [Option<Size>; 2],
    /// Last-level caches, each simulated independently.
    pub llcs: Vec<Llc>,
    /// Memories behind each last-level cache, each simulated independently.
    pub memories: Vec<Backing>,
    /// End of the warm-up.
    pub warmup: Warmup,
    /// Requests per epoch; `None` if no epochs are recorded.
    pub epoch: Option<u64>,
    /// Seed of the random choices of policies.
    pub seed: u64,
    /// Whether the requests of the last level to memory are kept.
    pub traffic: bool,
    /// Placement of pages in frames.
    pub placement: Placement,
    /// Accesses that are flushes.
    pub flushes: Flushes,
}

impl LlcMachine {
    /// Returns the hierarchy of Fedorov 2016, table 2.1, for `cores` cores: private levels of 64 KB
    /// with 2 ways and 256 KB with 8 ways, a last level of 2 MB per core with 16 ways, lines of 64
    /// bytes.
    pub fn table_2_1(cores: usize, policies: Vec<Spec>) -> Self {
        let size = |kib, ways| Size {
            bytes: Bytes(kib << 10),
            ways,
        };
        let llc = |policy| Llc {
            size: size(2048 * cores as u64, 16),
            policy,
        };
        Self {
            line: LINE_BYTES,
            private: [Some(size(64, 2)), Some(size(256, 8))],
            llcs: policies.into_iter().map(llc).collect(),
            seed: 1,
            ..Self::default()
        }
    }

    /// Returns the size and shape of a private level, 0 for the first; `None` where it is absent,
    /// or not a whole number of sets.
    pub fn level(&self, number: usize) -> Option<(Size, Geometry)> {
        let size = self.private[number]?;
        Some((size, size.geometry(self.line).ok()?))
    }

    /// Returns what flushes; `None` where no program does.
    pub fn flushes(&self) -> Option<&Flushes> {
        Some(&self.flushes).filter(|flushes| !flushes.ips.is_empty())
    }

    /// Checks that all caches, policies and memories can be built.
    ///
    /// # Errors
    /// A usage error that names what cannot be built.
    pub fn check(&self) -> Result<()> {
        self.lines()?;
        self.levels()?;
        for llc in &self.llcs {
            let geometry = llc.size.geometry(self.line)?;
            let policy = llc.policy.policy(geometry, self.seed);
            policy.map(drop).map_err(Error::usage)?;
        }
        for memory in &self.memories {
            memory.memory_side(self.line, 1)?;
        }
        let largest = self.llcs.iter().map(|llc| llc.size.bytes).max();
        let memories = self.memories.iter().map(|backing| backing.memory.capacity);
        match (largest, memories.min()) {
            (Some(cache), Some(memory)) if memory < cache => Err(Error::usage(format!(
                "a memory of {memory} is smaller than the last level of {cache} before it; make it larger"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the private levels in words: `L1 64.0 KiB 2-way, L2 256 KiB 8-way, lines of 64
    /// bytes`.
    pub fn hierarchy(&self) -> String {
        let level = |number: usize| match self.private[number] {
            None => format!("L{} off", number + 1),
            Some(size) => format!("L{} {} {}-way", number + 1, size.bytes, size.ways),
        };
        let line = Bytes(self.line);
        format!("{}, {}, lines of {line}", level(0), level(1))
    }

    /// Returns the division of addresses into lines.
    ///
    /// # Errors
    /// A usage error where the line size is not valid.
    pub fn lines(&self) -> Result<Lines> {
        Lines::new(self.line)
    }

    /// Returns the shapes of the private levels.
    ///
    /// # Errors
    /// A usage error where a level is not a whole number of sets.
    pub fn levels(&self) -> Result<[Option<Geometry>; 2]> {
        let of = |size: Option<Size>| size.map(|size| size.geometry(self.line)).transpose();
        Ok([of(self.private[0])?, of(self.private[1])?])
    }
}
