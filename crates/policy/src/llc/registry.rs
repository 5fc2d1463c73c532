//! Every policy, by the name that people write.

use super::{Geometry, LlcPolicy, ari, dip, drrip, lru, nhm, nru, random};
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
        name: "ari",
        summary: "the static partitioning that sampled sets show to cause the least traffic (Fedorov 2016, ch. 2)",
        keys: ari::Settings::KEYS,
        needs_ip: false,
        make: |geometry, params, seed| Ok(Box::new(ari::Ari::new(geometry, params, seed)?)),
    },
    Entry {
        name: "dip",
        summary: "LRU, or nearly all new lines at LRU: sets duel (Qureshi et al., ISCA 2007)",
        keys: "leaders=32, psel=10, every=32",
        needs_ip: false,
        make: |geometry, params, seed| Ok(Box::new(dip::Dip::new(geometry, params, seed)?)),
    },
    Entry {
        name: "drrip",
        summary: "evicts what is foreseen to be used last, in 2 bits: sets duel (Jaleel et al., ISCA 2010)",
        keys: "bits=2, leaders=32, psel=10, every=32",
        needs_ip: false,
        make: |geometry, params, seed| Ok(Box::new(drrip::Drrip::new(geometry, params, seed)?)),
    },
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
