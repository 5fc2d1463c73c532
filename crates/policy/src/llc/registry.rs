//! Every policy, by the name that people write.

use super::{
    Geometry, LlcPolicy, ari, dblk, density, dip, drrip, hawkeye, lru, mockingjay, nhm, nru,
    random, rlr, ship,
};
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
        name: "dblk",
        summary: "sampling dead block prediction: evicts and bypasses what an instruction leaves dead (Khan, Tian and Jimenez 2010)",
        keys: "sampled=32, entries=12, threshold=8, bypass=on|off",
        needs_ip: true,
        make: |geometry, params, _| Ok(Box::new(dblk::Dblk::new(geometry, params)?)),
    },
    Entry {
        name: "density",
        summary: "evicts the line that saves the least traffic for the time that it lies there, write-backs counted; needs no instruction",
        keys: "sets=32, epoch=2048, wwb=1, bypass=on|off",
        needs_ip: false,
        make: |geometry, params, seed| Ok(Box::new(density::Density::new(geometry, params, seed)?)),
    },
    Entry {
        name: "hawkeye",
        summary: "learns by instruction what Belady's optimum would have kept (Jain and Lin 2016)",
        keys: "sampled=64, history=8, lines=8*WAYS, signature=13, counter=3",
        needs_ip: true,
        make: |geometry, params, _| Ok(Box::new(hawkeye::Hawkeye::new(geometry, params)?)),
    },
    Entry {
        name: "lru",
        summary: "least recently used",
        keys: "",
        needs_ip: false,
        make: |geometry, _, _| Ok(Box::new(lru::Lru::new(geometry))),
    },
    Entry {
        name: "mockingjay",
        summary: "evicts the line whose next use is foreseen the furthest away (Shah, Jain and Lin 2022)",
        keys: "sampled=LINES/1024, signature=11, bypass=on|off",
        needs_ip: true,
        make: |geometry, params, _| Ok(Box::new(mockingjay::Mockingjay::new(geometry, params)?)),
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
    Entry {
        name: "rlr",
        summary: "keeps lines until they are older than lines are when used again; needs no instruction (Sethumurugan, Yin and Sartori 2021)",
        keys: "age=2, misses=8, wb=demand|prefetch",
        needs_ip: false,
        make: |geometry, params, _| Ok(Box::new(rlr::Rlr::new(geometry, params)?)),
    },
    Entry {
        name: "ship",
        summary: "SHiP-PC: foresees by instruction whether a line will be used again (Wu et al. 2011)",
        keys: "sampled=SETS, signature=14, counter=3, rrpv=2",
        needs_ip: true,
        make: |geometry, params, _| Ok(Box::new(ship::Ship::new(geometry, params)?)),
    },
];

/// The policy called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
