//! What was found in a pass.

use terrace_policy::llc::{Counts, Geometry};

use super::behind::Found;
use super::frames::Faults;
use super::private::LevelCounts;
use super::settings::Llc;
use super::shared::{Point, Shared};

/// What was found of one last-level cache. Figures leave the warm-up out, unless they say
/// otherwise.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cache as it was asked for.
    pub llc: Llc,
    /// Its shape.
    pub geometry: Geometry,
    /// Bits that its policy stores.
    pub storage_bits: u64,
    /// Everything counted.
    pub counts: Counts,
    /// The requests of each core; none where there is one core.
    pub by_core: Vec<Counts>,
    /// Everything counted in the warm-up; none: the trace ended before, and the figures are of
    /// the whole.
    pub warmup: Option<Counts>,
    /// Lines that were dirty when figures were first taken.
    pub dirty_at_begin: u64,
    /// Lines that are dirty at the end.
    pub dirty_at_end: u64,
    /// Hits by how many lines of the set were used more recently; none where the policy keeps no
    /// such order.
    pub positions: Option<Vec<u64>>,
    /// What there was at the ends of epochs, warm-up included.
    pub points: Vec<Point>,
    /// Requests, warm-up included, after which no place was free any more; none if some was.
    pub full_at: Option<u64>,
    /// Lines that were filled at the end.
    pub filled: usize,
    /// What was found of the memories behind it.
    pub memories: Vec<Found>,
}

impl Outcome {
    /// What a cache has come to.
    pub(super) fn of(llc: Llc, shared: &Shared) -> Self {
        let counts = shared.counts();
        let begin = shared.begin();
        let cache = shared.cache();
        Self {
            llc,
            geometry: cache.geometry(),
            storage_bits: cache.policy().storage_bits(),
            counts: begin.map_or(counts, |begin| counts - begin.counts),
            by_core: by_core(shared),
            warmup: begin.map(|begin| begin.counts),
            dirty_at_begin: begin.map_or(0, |begin| begin.dirty),
            dirty_at_end: cache.dirty_lines(),
            positions: shared.positions(),
            points: shared.points().to_vec(),
            full_at: shared.full_at(),
            filled: cache.tags().filled(),
            memories: shared
                .behind()
                .iter()
                .map(|behind| behind.found())
                .collect(),
        }
    }
}

/// Since figures are taken.
fn by_core(shared: &Shared) -> Vec<Counts> {
    let now = shared.by_core().iter().copied();
    match shared.begin() {
        Some(begin) => now
            .zip(&begin.by_core)
            .map(|(now, then)| now - *then)
            .collect(),
        None => now.collect(),
    }
}

/// What was found in a pass.
#[derive(Clone, Debug)]
pub struct Pass {
    /// Accesses of all programs, warm-up included.
    pub accesses: u64,
    /// Instructions of each core, warm-up included.
    pub instructions: Vec<u64>,
    /// Whether the traces count instructions; where one does not, they are estimated.
    pub counts_instructions: bool,
    /// What the private levels of all cores did together, the first before the second, warm-up
    /// included; none for one that is missing.
    pub private: [Option<LevelCounts>; 2],
    /// The pages of each program; none where addresses stay virtual.
    pub pages: Vec<Faults>,
    /// What was found of each last-level cache.
    pub outcomes: Vec<Outcome>,
}
