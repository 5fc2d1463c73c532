//! Results of a pass.

use terrace_policy::llc::{Bounds, Counts, Geometry, InForce};

use super::ahead::PrefetchCounts;
use super::early::EarlyWrites;
use super::frames::Faults;
use super::memory_side::Found;
use super::private::LevelCounts;
use super::settings::Llc;

/// Results of one last-level cache. Figures exclude the warm-up unless stated otherwise.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Settings of the cache.
    pub llc: Llc,
    /// Shape of the cache.
    pub geometry: Geometry,
    /// Bits that the policy stores.
    pub storage_bits: u64,
    /// Counts after the warm-up.
    pub counts: Counts,
    /// Counts of the requests of each core; empty where there is one core.
    pub by_core: Vec<Counts>,
    /// Counts of the warm-up; `None` if the trace ended before it did, and the figures cover the
    /// whole trace.
    pub warmup: Option<Counts>,
    /// What was written before it was evicted; `None` where dirty lines are written on demand.
    pub early: Option<EarlyWrites>,
    /// Lines that were dirty at the end of the warm-up.
    pub dirty_at_begin: u64,
    /// Lines that are dirty at the end.
    pub dirty_at_end: u64,
    /// Hits by the number of lines of the set that were used more recently; `None` where the policy
    /// keeps no such order.
    pub positions: Option<Vec<u64>>,
    /// Counts at the ends of epochs, warm-up included.
    pub points: Vec<Point>,
    /// Requests, warm-up included, until every place had been filled; `None` if some never were.
    pub full_at: Option<u64>,
    /// Lines that were filled at the end.
    pub filled: usize,
    /// Bounds of misses and write-backs together, of all policies; `None` unless this one knows the
    /// future, where lines are flushed, or where the cache is exclusive.
    pub bounds: Option<Bounds>,
    /// Results of the memories behind the cache.
    pub memories: Vec<Found>,
}

/// The counts at the end of an epoch, since the beginning of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Everything counted.
    pub counts: Counts,
    /// The policy's setting at that time, if it adapts.
    pub in_force: Option<InForce>,
}

/// Results of a pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Accesses of all programs, warm-up included.
    pub accesses: u64,
    /// Instructions of each core, warm-up included.
    pub instructions: Vec<u64>,
    /// Whether all traces count instructions; where one does not, they are estimated.
    pub counts_instructions: bool,
    /// Counts of the private levels, summed over all cores, first and second, warm-up included;
    /// `None` for a level that is absent.
    pub private: [Option<LevelCounts>; 2],
    /// Counts of what the second levels of all cores read ahead; `None` where they read nothing.
    pub prefetches: Option<PrefetchCounts>,
    /// Lines that left private levels since the last level evicted them, warm-up included; `None`
    /// where it does not include them.
    pub invalidated: Option<u64>,
    /// First touches of pages by each program; empty where addresses stay virtual.
    pub pages: Vec<Faults>,
    /// Results of each last-level cache.
    pub outcomes: Vec<Outcome>,
}
