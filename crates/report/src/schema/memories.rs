//! What moved to and from the memory behind DRAM: a node, zswap, zram.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_live::machine::zswap::Served;
use terrace_live::nodes;
use terrace_live::tier::Compressed;

/// What moved between a node with DRAM and a slower one.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Nodes {
    /// The node with DRAM.
    pub fast: u32,
    /// The slower node.
    pub slow: u32,
    /// The most of the program on the fast node at any look (sampled), in bytes.
    pub peak_fast_bytes: u64,
    /// Pages that went to the fast node.
    pub promoted: u64,
    /// Pages that went to the slow node.
    pub demoted: u64,
    /// Pages that should have moved and did not, by the error of move_pages(2).
    pub failed: BTreeMap<String, u64>,
    /// Accesses that were seen, a hint fault each.
    pub seen: u64,
    /// Faults that were not seen, as too many came at once.
    pub unseen: u64,
    /// Looks at all page tables.
    pub looks: u64,
    /// Pages that were known at the last look.
    pub known: u64,
    /// Processor time of watching, deciding and moving in seconds; the program's hint faults are
    /// its own.
    pub cpu_s: f64,
    /// Time by which a load of the slow node took longer in a chase before the run, in nanoseconds.
    pub slower_ns: f64,
    /// Memory of the program by node over time, by the kernel's count.
    pub timeline: Vec<NodeMoment>,
}

/// Memory of a program by node, at a moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct NodeMoment {
    /// Time since the start in seconds.
    pub elapsed_s: f64,
    /// Anonymous and shared memory on the fast node, in bytes.
    pub fast_bytes: u64,
    /// The same on the slow node.
    pub slow_bytes: u64,
}

impl From<&nodes::Figures> for Nodes {
    fn from(figures: &nodes::Figures) -> Self {
        let moment = |moment: &nodes::Moment| NodeMoment {
            elapsed_s: moment.elapsed.as_secs_f64(),
            fast_bytes: moment.fast.0,
            slow_bytes: moment.slow.0,
        };
        Self {
            fast: figures.fast,
            slow: figures.slow,
            peak_fast_bytes: figures.peak_fast.0,
            promoted: figures.promoted,
            demoted: figures.demoted,
            failed: figures.failed.clone(),
            seen: figures.seen,
            unseen: figures.unseen,
            looks: figures.looks,
            known: figures.known,
            cpu_s: figures.cpu.as_secs_f64(),
            slower_ns: figures.slower_ps as f64 / 1000.0,
            timeline: figures.timeline.iter().map(moment).collect(),
        }
    }
}

/// Figures of zswap, of the whole machine during the run with the median wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Zswap {
    /// Pages stored in the pool.
    pub stores: u64,
    /// Faults and fetches that the pool served.
    pub loads: u64,
    /// Pages written from the pool to the tier.
    pub written_back: u64,
    /// DRAM of the pool at its peak (sampled), without what was in it before.
    pub pool_bytes: u64,
    /// Size of the pages in the pool at that moment before they were compressed.
    pub held_bytes: u64,
    /// `held_bytes` by `pool_bytes`; null if the pool stayed empty.
    pub ratio: Option<f64>,
    /// DRAM that the pool took beyond the program's budget, at most (sampled). Otherwise it is part
    /// of the budget: version 2 of cgroups charges it, and under version 1 terrace lowers the
    /// program's limit by it.
    pub beyond_bytes: u64,
}

impl From<Served> for Zswap {
    fn from(served: Served) -> Self {
        Self {
            stores: served.stores,
            loads: served.loads,
            written_back: served.written_back,
            pool_bytes: served.peak.taken.0,
            held_bytes: served.peak.held.0,
            ratio: served.peak.ratio(),
            beyond_bytes: served.beyond.0,
        }
    }
}

/// Figures of a tier of zram, of the whole machine during the run with the median wall time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Zram {
    /// DRAM of the pool at its peak (sampled), without what was in it before. None of it is part of
    /// the program's budget: the kernel charges it to nobody.
    pub pool_bytes: u64,
    /// Size of the pages in the pool at that moment before they were compressed.
    pub held_bytes: u64,
    /// `held_bytes` by `pool_bytes`; null if the pool stayed empty.
    pub ratio: Option<f64>,
    /// Pages written to the disk below, because they were idle or could not be compressed; missing
    /// if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub demoted: Option<u64>,
    /// Pages read from the disk below; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_back: Option<u64>,
}

impl From<Compressed> for Zram {
    fn from(compressed: Compressed) -> Self {
        Self {
            pool_bytes: compressed.peak.taken.0,
            held_bytes: compressed.peak.held.0,
            ratio: compressed.peak.ratio(),
            demoted: compressed.moved.map(|moved| moved.demoted),
            read_back: compressed.moved.map(|moved| moved.read_back),
        }
    }
}
