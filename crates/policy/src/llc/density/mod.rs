//! `density`: evicts the line that saves the least traffic for the time that it occupies its place.
//! Terrace's own: a line that stays until it is read saves a read of memory, a dirty one that stays
//! until it is written saves a write, and both are weighed by the time that they take. It needs no
//! instructions.
//!
//! Each line has an age, the number of requests to its set since it was last touched, and a class:
//! whether that touch read or wrote it, and after how long, if the line was in the cache before
//! (`class`). A few sampled sets keep a history of touches, whether the lines stayed or not
//! (`history`), and count for each class at which ages its lines are read, written, or not seen
//! again (`reuse`). At the end of an epoch of touches a value is computed for each class and age,
//! for clean and for dirty lines: the expected saving of the next touch, if that comes before some
//! horizon, divided by the expected time until the touch or the horizon; the horizon with the
//! highest value counts. A miss counts as one, a write-back as `wwb`. A read of a dirty line saves,
//! besides the read, the write-back of a write that may follow; its probability is summed along the
//! chain of classes. The line with the lowest value is evicted, among equals the oldest. A read
//! line with a lower value than all others bypasses the cache, a written one never does. Counts
//! lose an eighth with each epoch.
//!
//! Sources: ranking lines by their gain for the place that they take, with probabilities by age and
//! class, is from EVA (Beckmann and Sanchez, "Maximizing cache performance under uncertainty", HPCA
//! 2017) and LHD (Beckmann, Chen and Cidon, NSDI 2018); classes by the age at the last hit are
//! LHD's too. Both count hits alone, and learn from lines in the cache, whose horizon is the age of
//! past evictions. The best of all horizons is the index of Gittins ("Bandit processes and dynamic
//! allocation indices", Journal of the Royal Statistical Society B 41(2), 1979). Counting
//! write-backs like misses is from ARI (Fedorov 2016, ch. 2). Histories of sampled sets longer than
//! the cache holds lines are from Hawkeye and Mockingjay (Jain and Lin, ISCA 2016; Shah, Jain and
//! Lin, HPCA 2022), bypassing from Mockingjay.
//!
//! A unit of age is a quarter of the ways in requests to the set, and there are 64 ages, so lines
//! are followed through 16 times as many requests as there are ways. At 2 MB and 16 ways hardware
//! would need 582,480 bits, 71 kB: 10 a line for age and class, 2 a set, 32 histories of 256
//! touches with tags of 16 bits, and counts and values of 12 classes. That is ten times the storage
//! of ARI. An epoch takes 130,000 requests and ends with about 50,000 steps of arithmetic.
//!
//! `sets` is the number of sampled sets, `epoch` is in touches of these, `bypass=off` forbids
//! bypassing, and a higher `wwb` trades write-backs for misses.
//!
//! The policy does badly if only instructions distinguish lines, because all lines of a class are
//! alike to it: bzip2 misses a seventh more often than under Hawkeye, gnugo a twelfth, and in 4 MB
//! minisat misses a fifth more often than under LRU. It does not follow changes within an epoch or
//! two either, or see reuse after more than 16 times as many requests as there are ways.

mod class;
mod history;
mod reuse;

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request, Sampled};
use crate::params::{ON_OFF, Params};
use crate::settings;
use class::{AGES, Class};
use history::History;
use reuse::Reuse;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "density",
    summary: "evicts the line that saves the least traffic for its time, write-backs counted; needs no instruction",
    paper: "Terrace's own, after EVA (Beckmann and Sanchez, HPCA 2017) and LHD (Beckmann et al., NSDI 2018)",
    when: "Traces without addresses of instructions, where a write-back costs as much as a miss; it takes ten times the storage of `ari`.",
    evidence: crate::registry::Evidence {
        open: "It is of no paper.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, params, seed| {
        Ok(Box::new(Density::new(geometry, params, seed)?))
    }),
};

settings! {
    /// Settings of `density`.
    pub struct DensitySettings(geometry: Geometry) {
        /// sampled sets
        sets: usize = geometry.sets.min(32), 1..=geometry.sets;
        /// touches of sampled sets between updates
        epoch: u64 = 2048, 1..=1 << 13;
        /// weight of a write-back, that of a miss being 1
        writeback_weight as "wwb": f64 = 1.0, 0.0..=4.0;
        /// whether lines that are worth less than all others pass by
        bypass: bool = true, ON_OFF;
    }
}

/// The `density` policy.
pub struct Density {
    geometry: Geometry,
    bypass: bool,
    /// Requests to a set that age its lines by one.
    unit: u8,
    /// Requests to each set, modulo the unit.
    requests: Vec<u8>,
    /// Age of each line: units since its last touch.
    ages: Vec<u8>,
    classes: Vec<Class>,
    sampled: Sampled,
    histories: Vec<History>,
    reuse: Reuse,
}

impl Density {
    /// Makes the policy for a cache of this shape; the same seed samples the same sets.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let settings = DensitySettings::take(params, geometry)?;
        let unit = (geometry.ways / 4).max(1);
        Ok(Self {
            geometry,
            bypass: settings.bypass,
            unit: unit as u8,
            requests: vec![0; geometry.sets],
            ages: vec![0; geometry.lines()],
            classes: vec![Class::default(); geometry.lines()],
            sampled: Sampled::new(geometry.sets, settings.sets, seed),
            histories: vec![History::new(geometry, unit); settings.sets],
            reuse: Reuse::new(settings.epoch, settings.writeback_weight),
        })
    }

    fn lines(&self, set: usize) -> std::ops::Range<usize> {
        let first = set * self.geometry.ways;
        first..first + self.geometry.ways
    }

    #[cold]
    fn grow_older(&mut self, set: usize) {
        let lines = self.lines(set);
        for age in &mut self.ages[lines] {
            *age = (*age + 1).min(AGES as u8 - 1);
        }
    }

    /// Records the request in the history of a sampled set.
    #[inline]
    fn learn(&mut self, set: usize, request: &Request, class: Class) {
        if let Some(number) = self.sampled.number(set) {
            self.histories[number].touch(request, class, &mut self.reuse);
            self.reuse.count();
        }
    }

    #[inline]
    fn put(&mut self, place: Place, request: &Request, class: Class) {
        self.learn(place.set, request, class);
        let line = place.index(self.geometry);
        self.ages[line] = 0;
        self.classes[line] = class;
    }
}

impl LlcPolicy for Density {
    #[inline]
    fn request(&mut self, set: usize, _: &Request) {
        if let Some(number) = self.sampled.number(set) {
            self.histories[number].tick();
        }
        self.requests[set] += 1;
        if self.requests[set] == self.unit {
            self.requests[set] = 0;
            self.grow_older(set);
        }
    }

    fn hit(&mut self, place: Place, request: &Request) {
        let age = self.ages[place.index(self.geometry)];
        let class = Class::hit(age.into(), request.kind.writes());
        self.put(place, request, class);
    }

    fn choose(&mut self, set: usize, dirty: u64, request: &Request) -> Choice {
        let (mut way, mut least, mut oldest) = (0, u32::MAX, 0);
        for (other, line) in self.lines(set).enumerate() {
            let (class, age) = (self.classes[line], self.ages[line]);
            let value = self.reuse.value(class, age.into(), dirty >> other & 1 == 1);
            if value < least || value == least && age > oldest {
                (way, least, oldest) = (other, value, age);
            }
        }
        let new = Class::new(request);
        if self.bypass && !request.kind.writes() && self.reuse.value(new, 0, false) < least {
            self.learn(set, request, new);
            return Choice::Bypass;
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        self.put(place, request, Class::new(request));
    }

    fn bypasses(&self) -> bool {
        self.bypass
    }

    /// Age and class of each line, the requests of each set, and the learned state.
    fn storage_bits(&self) -> u64 {
        let bits = |values: usize| u64::from(values.next_power_of_two().ilog2());
        let lines = self.ages.len() as u64 * (bits(AGES) + bits(Class::COUNT));
        let sets = self.requests.len() as u64 * bits(self.unit.into());
        let histories: u64 = self.histories.iter().map(History::storage_bits).sum();
        lines + sets + histories + self.reuse.storage_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Kind, Outcome};

    const GEOMETRY: Geometry = Geometry { sets: 1, ways: 4 };

    fn cache(text: &str) -> Cache {
        let mut params = Params::parse(text).unwrap();
        let policy = Density::new(GEOMETRY, &mut params, 1).unwrap();
        Cache::new(GEOMETRY, Box::new(policy))
    }

    /// Lines that are one too many go round: LRU misses always. Here those that have been there for
    /// longer are closer to their next use, and most new ones pass by.
    #[test]
    fn a_loop_that_does_not_fit_is_kept_in_part() {
        let mut cache = cache("epoch=64");
        let mut hits = |rounds| {
            let lines = (0..rounds).flat_map(|_| 0..6);
            let is_hit = |line| {
                matches!(
                    cache.access(&request(line, Kind::Load)),
                    Outcome::Hit { .. }
                )
            };
            lines.map(is_hit).filter(|&hit| hit).count()
        };
        hits(50);
        assert_eq!(
            hits(100),
            400,
            "four of six, as the optimum has it with bypassing"
        );
    }

    /// Two lines are written every 12 requests, and two read as often; in between others pass. All
    /// four are as old and would be read or written as soon: those that are written stay where
    /// their loss costs more.
    #[test]
    fn lines_that_are_written_again_stay_dirty() {
        let run = |text| {
            let mut cache = cache(text);
            let mut written_back = 0;
            for round in 0..400 {
                let again = [(0, Kind::WriteBack), (1, Kind::WriteBack)];
                let read = [(2, Kind::Load), (3, Kind::Load)];
                let others = (0..8).map(|nth| (100 + 8 * round + nth, Kind::Load));
                for (line, kind) in again.into_iter().chain(read).chain(others) {
                    if let Outcome::Miss {
                        evicted: Some(evicted),
                    } = cache.access(&request(line, kind))
                    {
                        written_back += u32::from(round >= 200 && evicted.dirty);
                    }
                }
            }
            written_back
        };
        assert_eq!(run("epoch=64,wwb=1.5,bypass=off"), 0);
        assert_eq!(
            run("epoch=64,wwb=0,bypass=off"),
            400,
            "where they cost nothing"
        );
    }

    #[test]
    fn storage_is_the_sum_of_its_parts() {
        let geometry = Geometry::of(2 << 20, 16, 64).unwrap();
        let policy = Density::new(geometry, &mut Params::default(), 1).unwrap();
        let lines = 32_768 * (6 + 4);
        let sets = 2048 * 2;
        let histories = 32 * 256 * (16 + 4 + 1);
        let reuse = 12 * (129 * 19 + 128 * 32 + 9);
        assert_eq!(policy.storage_bits(), lines + sets + histories + reuse);
    }
}
