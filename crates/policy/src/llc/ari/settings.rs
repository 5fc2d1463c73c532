//! Settings of ARI, and their cost in hardware.

use crate::llc::Geometry;
use crate::llc::nhm::Insertion;
use crate::params::OFF_ON;
use crate::settings;

/// Insertions that are sampled (Fedorov 2016, 2.2.2 and 2.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertions {
    /// Both insertions with every partition.
    Both,
    /// MRU only.
    Mru,
    /// The top of the low-hit partition only, except for LRU.
    Low,
    /// MRU and LH with alternate partitions, and the best of them flipped: the `p + 1` scheme.
    Alternating,
}

/// Part of the partitioning in force that the main cache follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// Evictions as well as insertions.
    Partitioned,
    /// Insertions only: the least recent line is evicted (2.5.3).
    Lru,
}

/// Order in which the lines of the main cache leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// By their last use, as in the samples.
    Lru,
    /// By predicted re-reference intervals.
    Rrip,
}

settings! {
    /// Settings of `ari`: every choice that the chapter discusses, with the chapter's value as the
    /// default wherever it states or implies one.
    ///
    /// Other values do better on the 21 programs of `papers/fedorov-2016-ch2`, where they were
    /// found: epochs of 30,000 requests, tags of 12 bits, and lines that are written back low, too,
    /// save 33.4 % of LRU's write-backs and 11.2 % of its misses there, the defaults 26.7 and 6.1.
    /// Three of these programs (hmmer, network, glpsol) were resized with the goal in view: the
    /// shape of figure 2.1, and 25 % fewer write-backs. Without them the savings are 10.8 and 7.0
    /// %, with the defaults 7.6 and 4.0.
    pub struct AriSettings(geometry: Geometry) {
        // 2.5.4, item 6.
        /// partitions that are tried, from 0Hm to mHm
        partitions as "p": usize = (geometry.ways / 2 + 1).max(2), 2..=geometry.ways + 1;
        /// insertions that are tried with each partition
        insertions as "insert": Insertions = Insertions::Both, INSERTIONS;
        /// whether evictions follow the partitioning in force, or only insertions
        eviction as "evict": Eviction = Eviction::Partitioned, EVICTIONS;
        // 2.2.2, its end; how is ours, in `order.rs`.
        /// order in which lines leave that is partitioned; samples have LRU
        order: Order = Order::Lru, [("lru", Order::Lru), ("rrip", Order::Rrip)];
        // The paper inserts *clean* data of low locality low (2.2.2), and says of other lines only
        // that insertion is at MRU by convention.
        /// where lines go that are written back and were not there
        dirty: Insertion = Insertion::Mru, Insertion::NAMES;
        // Item 2.
        /// whether samples are sets of the cache itself, without shadow tags
        live: bool = false, OFF_ON;
        // Tags are folded by XOR. 12 bits are the paper's whole tag, 6 its hashed one, which all of
        // its results have (item 1). With 6 bits one absent line in four looks like one of the 16
        // in its set, once a program uses more than 64 tags: 8 MB where there are 2048 sets.
        /// bits of a shadow tag
        tag: u32 = 6, 1..=30;
        // The paper tries 10,000 to 40,000, finds little difference and takes 25,000 (2.3; 2.5.4,
        // item 4).
        /// requests between decisions
        epoch: u64 = 25_000, 2..=u64::MAX;
        // Item 5.
        /// whether every other partition is tried in each half of an epoch
        half: bool = false, OFF_ON;
        // Averages decay (2.3).
        /// share of the newest epoch in the averages
        recent: f64 = 0.0625, 0.0..=1.0;
        // 2.3.
        /// share by which misses may exceed those of LRU
        slack: f64 = 0.0625, 0.0..=f64::INFINITY;
        // 2.2.1, as the next.
        /// weight of a miss
        miss_weight as "wmiss": f64 = 1.0, 0.0..=1e9;
        /// weight of a write-back
        writeback_weight as "wwb": f64 = 1.0, 0.0..=1e9;
        /// sampled sets; if they are live, for each policy that is tried
        sets: usize = most_sets(geometry, live, partitions, insertions, half)?.min(32),
            1..=most_sets(geometry, live, partitions, insertions, half)?;
    }
}

/// Returns the number of static policies that are sampled at a time.
fn samples(partitions: usize, insertions: Insertions, half: bool) -> usize {
    let group = match half {
        true => partitions.div_ceil(2),
        false => partitions,
    };
    match insertions {
        Insertions::Both => 2 * group,
        Insertions::Mru | Insertions::Low => group,
        Insertions::Alternating => group + 1,
    }
}

/// Returns the largest number of sampled sets.
fn most_sets(
    geometry: Geometry,
    live: bool,
    partitions: usize,
    insertions: Insertions,
    half: bool,
) -> Result<usize, String> {
    if half && insertions == Insertions::Alternating {
        return Err("half=on goes with any insert but p+1".to_owned());
    }
    let samples = samples(partitions, insertions, half);
    match if live {
        geometry.sets / samples
    } else {
        geometry.sets
    } {
        0 => Err(format!(
            "live=on needs at least {samples} sets, one a sample"
        )),
        most => Ok(most),
    }
}

impl AriSettings {
    /// Number of sets of shadow tags (2.3).
    pub fn tag_sets(&self) -> u64 {
        match self.live {
            true => 0,
            false => (samples(self.partitions, self.insertions, self.half) * self.sets) as u64,
        }
    }

    /// Bits of the shadow tags. As in the paper, their order, their dirty bits and the counters are
    /// not counted.
    pub fn tag_bits(&self) -> u64 {
        self.tag_sets() * self.geometry.ways as u64 * u64::from(self.tag)
    }
}

const INSERTIONS: [(&str, Insertions); 4] = [
    ("both", Insertions::Both),
    ("mru", Insertions::Mru),
    ("lh", Insertions::Low),
    ("p+1", Insertions::Alternating),
];

const EVICTIONS: [(&str, Eviction); 2] =
    [("adaptive", Eviction::Partitioned), ("lru", Eviction::Lru)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params;

    fn settings(bytes: u64, text: &str) -> Result<AriSettings, String> {
        let geometry = Geometry::of(bytes, 16, 64)?;
        AriSettings::take(&mut Params::parse(text)?, geometry)
    }

    /// Fedorov 2016, 2.3: 8 banks with 8 sampled sets each, of 16 MB in all; then one core.
    #[test]
    fn storage_is_the_paper_s() {
        for (bytes, text, tag_sets, kilobytes) in [
            (16 << 20, "sets=64,p=9", 1152, "13.8"),
            (16 << 20, "sets=64,p=5", 640, "7.7"),
            (16 << 20, "sets=64,p=3", 384, "4.6"),
            (2 << 20, "", 576, "6.9"),
            (2 << 20, "tag=12", 576, "13.8"),
            (2 << 20, "insert=p+1", 320, "3.8"),
            (2 << 20, "insert=lh", 288, "3.5"),
            (2 << 20, "half=on", 320, "3.8"),
            (2 << 20, "live=on", 0, "0.0"),
        ] {
            let settings = settings(bytes, text).unwrap();
            assert_eq!(settings.tag_sets(), tag_sets, "{text}");
            let bytes = settings.tag_bits() as f64 / 8.0;
            assert_eq!(format!("{:.1}", bytes / 1e3), kilobytes, "{text}");
        }
    }

    /// Figures that the chapter states or implies for its single core.
    #[test]
    fn defaults_are_the_paper_s() {
        let settings = settings(2 << 20, "").unwrap();
        assert_eq!(settings.epoch, 25_000, "2.3; 2.5.4, item 4");
        assert_eq!(settings.tag, 6, "2.5.4, item 1");
        assert_eq!(settings.dirty, Insertion::Mru, "2.2.2: clean data goes low");
        assert_eq!(settings.insertions, Insertions::Both, "2.2.2");
        assert_eq!(settings.eviction, Eviction::Partitioned, "2.2.1");
        assert_eq!((settings.sets, settings.live), (32, false), "2.4.2; 2.2.1");
        assert!(!settings.half, "2.5.4, item 5, which it finds inferior");
        assert_eq!([settings.recent, settings.slack], [1.0 / 16.0; 2], "2.3");
        let weights = [settings.miss_weight, settings.writeback_weight];
        assert_eq!(weights, [1.0; 2], "2.2.1: equal");
        // 2.5.2: of caches of 4 to 32 ways.
        for (ways, partitions) in [(4, 3), (8, 5), (16, 9), (32, 17)] {
            let geometry = Geometry::of(2 << 20, ways, 64).unwrap();
            let settings = AriSettings::take(&mut Params::default(), geometry).unwrap();
            assert_eq!(settings.partitions, partitions, "{ways} ways");
        }
    }

    #[test]
    fn what_does_not_go_together_is_said() {
        for (text, why) in [
            ("p=18", "from 2 to 17"),
            ("p=1", "from 2 to 17"),
            ("sets=4096", "from 1 to 2048"),
            ("live=on,sets=114", "from 1 to 113"),
            ("half=on,insert=p+1", "any insert but p+1"),
            ("slack=NaN", "from 0 to inf"),
        ] {
            let error = settings(2 << 20, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
        let error = settings(16 << 10, "live=on").unwrap_err();
        assert!(error.contains("at least 18 sets"), "{error}");
    }
}
