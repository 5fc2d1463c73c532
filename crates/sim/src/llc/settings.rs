//! What is simulated: the hierarchy, and the last-level caches that share what it asks.

use terrace_base::{Bytes, Error, Result};
use terrace_policy::llc::{Geometry, LINE_BYTES, Spec};

use super::behind::Backing;
use super::flush::Flushes;
use super::lines::Lines;
use super::placement::Placement;

/// When figures are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// After so many requests to the last level.
    Requests(u64),
    /// After so many accesses of the traces.
    Accesses(u64),
}

/// The size of a cache, and how many lines a set has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its capacity.
    pub bytes: Bytes,
    /// Its associativity.
    pub ways: usize,
}

impl Size {
    /// In lines of `line` bytes.
    ///
    /// # Errors
    /// A usage error where that is no whole number of sets.
    pub fn geometry(self, line: u64) -> Result<Geometry> {
        Geometry::of(self.bytes.0, self.ways, line).map_err(Error::usage)
    }
}

/// A last-level cache.
#[derive(Clone, Debug)]
pub struct Llc {
    /// Its size.
    pub size: Size,
    /// Its policy.
    pub policy: Spec,
}

/// Everything that is simulated in one pass.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Bytes of a line, of all levels.
    pub line: u64,
    /// The private levels of each core, the first before the second; none for one that is missing.
    pub private: [Option<Size>; 2],
    /// Last-level caches, each for itself.
    pub llcs: Vec<Llc>,
    /// Memories behind each of them, each for itself.
    pub memories: Vec<Backing>,
    /// When figures are taken.
    pub warmup: Warmup,
    /// Requests of an epoch; none: nothing is noted between begin and end.
    pub epoch: Option<u64>,
    /// For what policies leave to chance.
    pub seed: u64,
    /// Whether what the last level asks of memory is kept.
    pub traffic: bool,
    /// Which frames pages get.
    pub placement: Placement,
    /// Which accesses are flushes.
    pub flushes: Flushes,
}

impl Settings {
    /// The hierarchy of Fedorov 2016, table 2.1, for so many cores: private levels of 64 KB in 2
    /// ways and 256 KB in 8, a last level of 2 MB a core in 16, lines of 64 bytes.
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
            memories: Vec::new(),
            warmup: Warmup::Requests(0),
            epoch: None,
            seed: 1,
            traffic: false,
            placement: Placement::Virtual,
            flushes: Flushes::default(),
        }
    }

    /// Makes everything once, to see whether it can be.
    ///
    /// # Errors
    /// A usage error that says what cannot.
    pub fn check(&self) -> Result<()> {
        self.lines()?;
        self.levels()?;
        for llc in &self.llcs {
            let geometry = llc.size.geometry(self.line)?;
            let policy = llc.policy.policy(geometry, self.seed);
            policy.map(drop).map_err(Error::usage)?;
        }
        for memory in &self.memories {
            memory.behind(self.line, 1)?;
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

    /// How addresses are cut into lines.
    ///
    /// # Errors
    /// A usage error where there is no such line.
    pub fn lines(&self) -> Result<Lines> {
        Lines::new(self.line)
    }

    /// The shapes of the private levels.
    ///
    /// # Errors
    /// A usage error where one is no whole number of sets.
    pub fn levels(&self) -> Result<[Option<Geometry>; 2]> {
        let of = |size: Option<Size>| size.map(|size| size.geometry(self.line)).transpose();
        Ok([of(self.private[0])?, of(self.private[1])?])
    }
}
