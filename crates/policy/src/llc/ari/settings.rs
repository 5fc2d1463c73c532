//! What can be set, and what it costs in hardware.

use crate::llc::Geometry;
use crate::llc::nhm::Insertion;
use crate::params::Params;

/// Which insertions are sampled (Fedorov 2016, 2.2.2 and 2.5.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insertions {
    /// Both with every partition.
    Both,
    /// MRU only.
    Mru,
    /// The top of the low-hit partition only, but for LRU.
    Low,
    /// MRU and LH with every other partition, and the best of them flipped: the `p + 1` scheme.
    Alternating,
}

/// What the main cache takes over of the partitioning in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// Evictions as well as insertions.
    Partitioned,
    /// Insertions only: the least recent line is evicted (2.5.3).
    Lru,
}

/// Every choice that the chapter discusses.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The cache.
    pub geometry: Geometry,
    /// `p`: partitions from 0Hm to mHm (2.5.4, item 6).
    pub partitions: usize,
    /// `insert`: insertions that are sampled.
    pub insertions: Insertions,
    /// `evict`: whom the main cache evicts.
    pub eviction: Eviction,
    /// `dirty`: where lines are put that the level above writes back and that are not there: at
    /// MRU, or where those that are read go. The paper does not say. Over 21 programs MRU has
    /// 7 % more write-backs and 5 % more misses than the second (geometric means): what a program
    /// streams through, changing it, is of low locality both times.
    pub dirty: Insertion,
    /// `sets`: sampled sets; if they are live, for each static policy.
    pub sets: usize,
    /// `live`: sampled sets are some of the cache itself, and have no shadow tags (item 2).
    pub live: bool,
    /// `tag`: bits of a shadow tag, to which the tag is folded by XOR: 12 are the paper's whole
    /// tag, 6 its hashed one (item 1). With 6 bits one absent line in four looks like one of the
    /// 16 in its set, once a program uses more than 64 tags: 8 MB where there are 2048 sets. So
    /// dirty lines that are kept seem to be written again. Of recorded programs perl then caused
    /// 1.2 % more traffic and sort 2.5 %, and misses of cc1 rose by 5 %, where the paper has less
    /// than 1 %; bzip2, which uses 8 MB, was the same. 8 bits are as good as 12.
    pub tag: u32,
    /// `epoch`: requests between decisions. The paper tries 10,000 to 40,000, finds little difference
    /// and takes 25,000 (item 4). Of recorded programs that had gnugo, whose phases are about as long,
    /// read 5.1 % more lines than LRU; with 30,000 none reads 3 % more.
    pub epoch: u64,
    /// `half`: every other partition is sampled in each half of an epoch (item 5).
    pub half: bool,
    /// `recent`: the share of the newest epoch in the decaying averages (2.3).
    pub recent: f64,
    /// `slack`: by which share a policy's misses may exceed those of LRU (2.3).
    pub slack: f64,
    /// `wmiss`: the weight of a miss (2.2.1).
    pub miss_weight: f64,
    /// `wwb`: the weight of a write-back.
    pub writeback_weight: f64,
}

const SWITCH: &[(&str, bool)] = &[("off", false), ("on", true)];

impl Settings {
    /// As they are written, with the defaults of the paper's single core but for whole tags.
    pub const KEYS: &str = "p=WAYS/2+1, insert=both|mru|lh|p+1, evict=adaptive|lru, dirty=lh|mru, \
        sets=32, live=off|on, tag=12, epoch=30000, half=off|on, recent=0.0625, slack=0.0625, \
        wmiss=1, wwb=1";

    /// Takes them.
    ///
    /// # Errors
    /// A sentence where one is out of range, or where two exclude each other.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let ways = geometry.ways;
        let mut settings = Self {
            geometry,
            partitions: params.number("p", (ways / 2 + 1).max(2), 2..=ways + 1)?,
            insertions: params.choice("insert", Insertions::Both, INSERTIONS)?,
            eviction: params.choice("evict", Eviction::Partitioned, EVICTIONS)?,
            dirty: params.choice("dirty", Insertion::Low, Insertion::CHOICES)?,
            sets: 0,
            live: params.choice("live", false, SWITCH)?,
            tag: params.number("tag", 12, 1..=30)?,
            epoch: params.number("epoch", 30_000, 2..=u64::MAX)?,
            half: params.choice("half", false, SWITCH)?,
            recent: params.number("recent", 0.0625, 0.0..=1.0)?,
            slack: params.number("slack", 0.0625, 0.0..=f64::INFINITY)?,
            miss_weight: params.number("wmiss", 1.0, 0.0..=1e9)?,
            writeback_weight: params.number("wwb", 1.0, 0.0..=1e9)?,
        };
        if settings.half && settings.insertions == Insertions::Alternating {
            return Err("half=on goes with any insert but p+1".to_owned());
        }
        let most = settings.most_sets()?;
        settings.sets = params.number("sets", most.min(32), 1..=most)?;
        Ok(settings)
    }

    fn most_sets(&self) -> Result<usize, String> {
        let (sets, samples) = (self.geometry.sets, self.samples());
        match if self.live { sets / samples } else { sets } {
            0 => Err(format!(
                "live=on needs at least {samples} sets, one a sample"
            )),
            most => Ok(most),
        }
    }

    /// Static policies that are sampled at a time.
    pub fn samples(&self) -> usize {
        let group = match self.half {
            true => self.partitions.div_ceil(2),
            false => self.partitions,
        };
        match self.insertions {
            Insertions::Both => 2 * group,
            Insertions::Mru | Insertions::Low => group,
            Insertions::Alternating => group + 1,
        }
    }

    /// Sets of shadow tags (2.3).
    pub fn tag_sets(&self) -> u64 {
        match self.live {
            true => 0,
            false => (self.samples() * self.sets) as u64,
        }
    }

    /// Bits of the shadow tags. As in the paper, their order, their dirty bits and the counters
    /// are not counted.
    pub fn tag_bits(&self) -> u64 {
        self.tag_sets() * self.geometry.ways as u64 * u64::from(self.tag)
    }
}

const INSERTIONS: &[(&str, Insertions)] = &[
    ("both", Insertions::Both),
    ("mru", Insertions::Mru),
    ("lh", Insertions::Low),
    ("p+1", Insertions::Alternating),
];

const EVICTIONS: &[(&str, Eviction)] =
    &[("adaptive", Eviction::Partitioned), ("lru", Eviction::Lru)];

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(bytes: u64, text: &str) -> Result<Settings, String> {
        let geometry = Geometry::of(bytes, 16, 64)?;
        Settings::new(geometry, &mut Params::parse(text)?)
    }

    /// Fedorov 2016, 2.3: 8 banks with 8 sampled sets each, of 16 MB in all; then one core.
    #[test]
    fn storage_is_the_paper_s() {
        for (bytes, text, tag_sets, kilobytes) in [
            (16 << 20, "tag=6,sets=64,p=9", 1152, "13.8"),
            (16 << 20, "tag=6,sets=64,p=5", 640, "7.7"),
            (16 << 20, "tag=6,sets=64,p=3", 384, "4.6"),
            (2 << 20, "tag=6", 576, "6.9"),
            (2 << 20, "", 576, "13.8"),
            (2 << 20, "tag=6,insert=p+1", 320, "3.8"),
            (2 << 20, "tag=6,insert=lh", 288, "3.5"),
            (2 << 20, "tag=6,half=on", 320, "3.8"),
            (2 << 20, "tag=6,live=on", 0, "0.0"),
        ] {
            let settings = settings(bytes, text).unwrap();
            assert_eq!(settings.tag_sets(), tag_sets, "{text}");
            let bytes = settings.tag_bits() as f64 / 8.0;
            assert_eq!(format!("{:.1}", bytes / 1e3), kilobytes, "{text}");
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
