//! Options of the command line.

use std::path::PathBuf;

use terrace_heap::AllocatorKind;

use crate::Outcome;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Program {
    /// The persistent hash table of figures 3 and 17.
    Table,
    /// The crate's B-tree map, with words as keys and values.
    Tree,
    /// Objects without a container.
    Objects,
}

/// The log for a change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Every change word by word.
    Word,
    /// Every change as the object in which it lies.
    Object,
    /// Words and objects, as large as the change is.
    Hybrid,
}

pub enum Pool {
    /// A file on a tmpfs; lines are flushed.
    File(PathBuf),
    /// Anonymous memory; flushes are marked.
    Marked,
    /// No pool: the program without persistence.
    Volatile,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Put,
    Get,
    Update,
    Delete,
    Mixed,
    Allocate,
    Free,
}

const PROGRAMS: &[(&str, Program)] = &[
    ("table", Program::Table),
    ("tree", Program::Tree),
    ("objects", Program::Objects),
];
const ALLOCATORS: &[(&str, AllocatorKind)] = &[
    ("nvwa", AllocatorKind::Nvwa),
    ("naive", AllocatorKind::Naive),
];
const LOGS: &[(&str, Log)] = &[
    ("word", Log::Word),
    ("object", Log::Object),
    ("hybrid", Log::Hybrid),
];
const PHASES: &[(&str, Phase)] = &[
    ("put", Phase::Put),
    ("get", Phase::Get),
    ("update", Phase::Update),
    ("delete", Phase::Delete),
    ("mixed", Phase::Mixed),
    ("allocate", Phase::Allocate),
    ("free", Phase::Free),
];

pub struct Options {
    pub program: Program,
    pub allocator: AllocatorKind,
    pub log: Log,
    pub pool: Pool,
    /// Number of keys or of objects.
    pub elements: u64,
    /// Whether the allocator's data are not flushed: the baseline of figure 13. Only for the hash
    /// table of a marked pool.
    pub ideal: bool,
    pub phases: Vec<Phase>,
}

impl Options {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Self {
            program: Program::Table,
            allocator: AllocatorKind::Nvwa,
            log: Log::Hybrid,
            pool: Pool::Volatile,
            elements: 0,
            ideal: false,
            phases: Vec::new(),
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{name} needs a value"));
            match name.as_str() {
                "--program" => options.program = one_of(PROGRAMS, &value()?)?,
                "--allocator" => options.allocator = one_of(ALLOCATORS, &value()?)?,
                "--log" => options.log = one_of(LOGS, &value()?)?,
                "--pool" => options.pool = Pool::File(value()?.into()),
                "--marked" => options.pool = Pool::Marked,
                "--ideal" => options.ideal = true,
                "--elements" => options.elements = value()?.parse()?,
                phase => options.phases.push(one_of(PHASES, phase)?),
            }
        }
        if options.elements == 0 || options.phases.is_empty() {
            return Err("--elements N and a phase are needed".into());
        }
        Ok(options)
    }

    /// Returns the bytes of a pool with room for all elements, with any allocator.
    pub fn pool_bytes(&self) -> u64 {
        (64 << 20) + 400 * self.elements
    }

    /// Returns the index at a turn of another order than that of putting.
    pub fn scattered(&self, turn: u64) -> u64 {
        turn.wrapping_mul(2_654_435_761) % self.elements
    }
}

impl Phase {
    pub fn name(self) -> &'static str {
        let found = PHASES.iter().find(|(_, phase)| *phase == self);
        found.map_or("", |(name, _)| name)
    }
}

fn one_of<T: Copy>(known: &[(&str, T)], text: &str) -> Outcome<T> {
    let found = known.iter().find(|(name, _)| *name == text);
    let names: Vec<_> = known.iter().map(|(name, _)| *name).collect();
    Ok(found
        .ok_or_else(|| format!("{text} is none of {}", names.join(", ")))?
        .1)
}
