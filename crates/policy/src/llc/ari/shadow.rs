//! Shadow tags of sampled sets under each static policy (Fedorov 2016, 2.2.1 and 2.3).

use super::partitioning::Partitioning;
use super::settings::AriSettings;
use crate::llc::recency::put;

/// No tag: a tag has 30 bits at most.
const EMPTY: u32 = u32::MAX;

/// One set of tags for each sampled set and each sample.
pub struct Shadow {
    settings: AriSettings,
    /// Tags of each set, most recently used first: a tag doubled, plus 1 if it is dirty.
    tags: Vec<u32>,
}

impl Shadow {
    /// Makes empty shadow tags of these settings.
    pub fn new(settings: &AriSettings) -> Self {
        let tags = settings.tag_sets() as usize * settings.geometry.ways;
        Self {
            settings: *settings,
            tags: vec![EMPTY; tags],
        }
    }

    /// Folds a tag of any length by XOR of its groups of bits. Of the paper's 12 bits the upper six
    /// are folded onto the lower six (2.5.4, item 1).
    pub fn fold(&self, mut tag: u64) -> u32 {
        let bits = self.settings.tag;
        let mut folded = 0;
        while tag != 0 {
            folded ^= tag as u32 & ((1 << bits) - 1);
            tag >>= bits;
        }
        folded
    }

    /// Serves a request for a folded tag under a partitioning. Returns `None` on a hit; on a miss,
    /// whether a dirty tag was evicted.
    pub fn access(
        &mut self,
        tag_set: usize,
        partitioning: Partitioning,
        tag: u32,
        writes: bool,
    ) -> Option<bool> {
        let AriSettings {
            geometry, dirty, ..
        } = self.settings;
        let set = &mut self.tags[tag_set * geometry.ways..][..geometry.ways];
        let entry = tag << 1 | u32::from(writes);
        if let Some(found) = set.iter().position(|&other| other >> 1 == tag) {
            let entry = entry | set[found];
            put(set, found, 0, entry);
            return None;
        }
        let free = set.iter().position(|&other| other == EMPTY);
        let gone = free.unwrap_or_else(|| victim(set, partitioning.high));
        let evicts_dirty = free.is_none() && set[gone] & 1 == 1;
        let to = partitioning.position(dirty, writes).min(set.len() - 1);
        put(set, gone, to, entry);
        Some(evicts_dirty)
    }

    /// Serves a request for a folded tag in an exclusive cache, where a hit takes the tag out;
    /// returns whether it hits.
    pub fn take(&mut self, tag_set: usize, tag: u32) -> bool {
        let ways = self.settings.geometry.ways;
        let set = &mut self.tags[tag_set * ways..][..ways];
        let found = set.iter().position(|&other| other >> 1 == tag);
        if let Some(found) = found {
            put(set, found, ways - 1, EMPTY);
        }
        found.is_some()
    }
}

/// Returns the least recent clean tag behind the high-hit partition, or the least recent if none is
/// clean.
fn victim(set: &[u32], high: usize) -> usize {
    let clean = (high..set.len()).rev().find(|&at| set[at] & 1 == 0);
    clean.unwrap_or(set.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Geometry;
    use crate::llc::nhm::Insertion;
    use crate::params::Params;

    fn shadow(text: &str) -> Shadow {
        let geometry = Geometry { sets: 1, ways: 16 };
        Shadow::new(&AriSettings::take(&mut Params::parse(text).unwrap(), geometry).unwrap())
    }

    fn tags(shadow: &Shadow) -> Vec<u32> {
        shadow.tags[..16].iter().map(|entry| entry >> 1).collect()
    }

    fn of(high: usize, insertion: Insertion) -> Partitioning {
        Partitioning { high, insertion }
    }

    /// A set whose most recently used tag is 0 and whose least is 15; those at LRU, below it and
    /// at position 5 are dirty.
    fn full() -> Shadow {
        let mut shadow = shadow("dirty=mru");
        for tag in (0..16).rev() {
            shadow.access(0, of(16, Insertion::Mru), tag, [5, 14, 15].contains(&tag));
        }
        shadow
    }

    /// Fedorov 2016, figure 2.2: the least recent clean block of the low-hit partition, the dirty
    /// one at LRU if there is none, and that at LRU if there is no low-hit block.
    #[test]
    fn eviction_candidates_of_static_policies() {
        for (high, candidate) in [(0, 13), (8, 13), (13, 13), (14, 15), (15, 15), (16, 15)] {
            let mut shadow = full();
            let dirty = shadow.access(0, of(high, Insertion::Mru), 20, false);
            assert_eq!(dirty, Some(candidate == 15), "{high}H16");
            assert!(!tags(&shadow).contains(&candidate), "{high}H16");
        }
    }

    /// Fedorov 2016, figure 2.3: 8H16 inserts behind the eight most recent ones, which stay as
    /// they are.
    #[test]
    fn insertion_at_the_top_of_the_low_hit_partition() {
        let mut shadow = full();
        shadow.access(0, of(8, Insertion::Low), 20, false);
        let expected = [0, 1, 2, 3, 4, 5, 6, 7, 20, 8, 9, 10, 11, 12, 14, 15];
        assert_eq!(tags(&shadow), expected);
        shadow.access(0, of(8, Insertion::Low), 21, true);
        assert_eq!(tags(&shadow)[..2], [21, 0], "what is written back: at MRU");
        assert_eq!(shadow.access(0, of(8, Insertion::Low), 20, false), None);
        assert_eq!(tags(&shadow)[..2], [20, 21], "a hit");
        shadow.access(0, of(16, Insertion::Low), 22, false);
        assert_eq!(tags(&shadow)[15], 22, "16H16 with LH: at LRU");
    }

    /// In an exclusive cache a hit leaves a free place behind the others.
    #[test]
    fn what_is_taken_leaves_room() {
        let mut shadow = full();
        assert!(shadow.take(0, 5) && !shadow.take(0, 5));
        let left: Vec<u32> = (0..16).filter(|tag| *tag != 5).collect();
        assert_eq!(tags(&shadow)[..15], left);
        let lru = of(16, Insertion::Mru);
        assert_eq!(shadow.access(0, lru, 20, false), Some(false), "it is free");
        assert_eq!(tags(&shadow)[0], 20);
        assert_eq!(shadow.access(0, lru, 21, false), Some(true), "15 goes");
    }

    #[test]
    fn a_tag_stays_dirty_when_it_is_read() {
        let mut shadow = full();
        let lru = of(16, Insertion::Mru);
        assert_eq!(shadow.access(0, lru, 15, false), None);
        for tag in 20..35 {
            shadow.access(0, lru, tag, false);
        }
        assert_eq!(shadow.access(0, lru, 35, false), Some(true));
    }

    /// Fedorov 2016, 2.5.4, item 1: the top six of 12 bits on the bottom six.
    #[test]
    fn tags_are_folded() {
        assert_eq!(shadow("tag=6").fold(0b110011_000001), 0b110010);
        assert_eq!(shadow("tag=12").fold(0b110011_000001), 0b110011_000001);
        assert_eq!(shadow("tag=6").fold(0b1_000000_110011_000001), 0b110011);
        let all = shadow("tag=30").fold(u64::MAX);
        assert_eq!(all, 0b1111, "30 and 30 bits cancel, 4 are left");
    }
}
