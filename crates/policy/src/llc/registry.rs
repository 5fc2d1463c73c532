//! Every policy, by the name that people write.

use super::{Geometry, LlcPolicy, lru, nhm, nru, random};
use crate::params::Params;

/// A policy, or a sentence that says which of its settings is wrong.
pub type Made = Result<Box<dyn LlcPolicy>, String>;

/// A policy's name on the command line, what it is, and how to make one.
#[derive(Debug)]
pub struct Entry {
    /// The name after `--policy`.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Its settings with their defaults, for `--help`: `n=4, insert=mru`.
    pub keys: &'static str,
    /// Whether it learns by the instructions that ask: of no use on a trace without them.
    pub needs_ip: bool,
    /// Makes one for a cache of this shape, with a seed for what it leaves to chance.
    pub make: fn(Geometry, &mut Params, seed: u64) -> Made,
}

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "lru",
        summary: "least recently used",
        keys: "",
        needs_ip: false,
        make: |geometry, _, _| Ok(Box::new(lru::Lru::new(geometry))),
    },
    Entry {
        name: "nhm",
        summary: "a static partitioning nHm: of all but the n most recent the least recent clean line (Fedorov 2016, 2.2)",
        keys: "n=WAYS/4, insert=mru|lh, dirty=mru|lh",
        needs_ip: false,
        make: |geometry, params, _| Ok(Box::new(nhm::Nhm::new(geometry, params)?)),
    },
    Entry {
        name: "nru",
        summary: "not recently used: a bit a line in place of an order",
        keys: "",
        needs_ip: false,
        make: |geometry, _, _| Ok(Box::new(nru::Nru::new(geometry))),
    },
    Entry {
        name: "random",
        summary: "any line, by chance",
        keys: "",
        needs_ip: false,
        make: |geometry, _, seed| Ok(Box::new(random::Random::new(geometry, seed))),
    },
];

/// The policy called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
