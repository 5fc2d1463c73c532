//! Tags of sampled sets as they would lie under each static policy (Fedorov 2016, 2.2.1 and 2.3).

use super::partitioning::Partitioning;
use super::settings::Settings;
use crate::llc::nhm::Insertion;

/// No tag: one has 30 bits at most.
const EMPTY: u32 = u32::MAX;

/// For each sampled set and each sample one set of tags.
pub struct Shadow {
    ways: usize,
    /// Bits of a tag.
    bits: u32,
    /// Where lines are put that are written back.
    dirty: Insertion,
    /// Each set with its most recently used tag first: a tag doubled, plus 1 where it is dirty.
    tags: Vec<u32>,
}

impl Shadow {
    /// Empty ones, as the settings say.
    pub fn new(settings: &Settings) -> Self {
        let (ways, tag_sets) = (settings.geometry.ways, settings.tag_sets() as usize);
        Self {
            ways,
            bits: settings.tag,
            dirty: settings.dirty,
            tags: vec![EMPTY; tag_sets * ways],
        }
    }

    /// Folds a tag of any length: its groups of bits are XORed. Of the paper's 12 bits the upper
    /// six fall on the lower six (2.5.4, item 1).
    pub fn fold(&self, mut tag: u64) -> u32 {
        let mut folded = 0;
        while tag != 0 {
            folded ^= tag as u32 & ((1 << self.bits) - 1);
            tag >>= self.bits;
        }
        folded
    }

    /// Serves a request for a folded tag under a partitioning. Nothing if it hits; if it misses,
    /// whether a dirty tag had to go.
    pub fn access(
        &mut self,
        tag_set: usize,
        partitioning: Partitioning,
        tag: u32,
        writes: bool,
    ) -> Option<bool> {
        let set = &mut self.tags[tag_set * self.ways..][..self.ways];
        let entry = tag << 1 | u32::from(writes);
        if let Some(found) = set.iter().position(|&other| other >> 1 == tag) {
            let entry = entry | set[found];
            replace(set, found, 0, entry);
            return None;
        }
        let (gone, dirty) = match set.iter().position(|&other| other == EMPTY) {
            Some(free) => (free, false),
            None => {
                let victim = victim(set, partitioning.high);
                (victim, set[victim] & 1 == 1)
            }
        };
        replace(set, gone, partitioning.position(self.dirty, writes), entry);
        Some(dirty)
    }
}

/// Behind the high-hit partition the least recent clean tag, or the least recent if none is clean.
fn victim(set: &[u32], high: usize) -> usize {
    let clean = (high..set.len()).rev().find(|&at| set[at] & 1 == 0);
    clean.unwrap_or(set.len() - 1)
}

/// Takes out what is at `from`, and puts `entry` behind `to` others, at most behind all.
fn replace(set: &mut [u32], from: usize, to: usize, entry: u32) {
    let to = to.min(set.len() - 1);
    if to <= from {
        set.copy_within(to..from, to + 1);
    } else {
        set.copy_within(from + 1..=to, from);
    }
    set[to] = entry;
}
