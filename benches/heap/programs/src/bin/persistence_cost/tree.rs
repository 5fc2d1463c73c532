//! The B-tree: words as keys and values.

use terrace_heap::containers::BTreeMap;
use terrace_heap::{Heap, Medium};

use crate::Outcome;
use crate::options::{Options, Phase};

pub struct Tree<M: Medium> {
    map: BTreeMap<u64, u64, M>,
}

impl<M: Medium> Tree<M> {
    pub fn create(heap: &Heap<M>) -> Outcome<Self> {
        let map = BTreeMap::open(heap, "tree")?;
        Ok(Self { map })
    }

    /// Runs a phase; returns 0 lines, because lines of data are not counted apart.
    pub fn run(&self, phase: Phase, options: &Options) -> Outcome<u64> {
        for turn in 0..options.elements {
            let (new, old) = (key_of(turn), key_of(options.scattered(turn)));
            match phase {
                Phase::Put => drop(self.map.insert(&new, &turn)?),
                Phase::Get => self.get(old)?,
                Phase::Update => drop(self.map.insert(&old, &turn)?),
                Phase::Delete => drop(self.map.remove(&old)?),
                Phase::Mixed => {
                    self.map.insert(&new, &turn)?;
                    self.get(key_of(options.scattered(turn) % (turn + 1)))?;
                }
                Phase::Allocate | Phase::Free => return Err("a tree allocates by itself".into()),
            }
        }
        Ok(0)
    }

    fn get(&self, key: u64) -> Outcome {
        let found = self.map.get(&key)?;
        found.map(drop).ok_or_else(|| "a key is missing".into())
    }
}

/// Scattered over all words, none of them twice (the finalizer of SplitMix64).
fn key_of(index: u64) -> u64 {
    let mut key = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ key >> 31
}
