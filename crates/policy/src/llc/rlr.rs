//! `rlr`: keeps lines until they are older than lines usually are at their next use.
//!
//! Reinforcement learned replacement (Sethumurugan, Yin and Sartori, HPCA 2021): rules that the
//! authors derived from a trained network, without instructions. A line has an age since its last
//! touch, and bits for the kind of that touch and for whether it was ever hit. The reuse distance
//! RD is twice the average age at which the last 32 demand hits found their lines. A line's
//! priority is 8 P_age + P_type + P_hit: P_age is 1 until the line is older than RD, P_type is 0
//! after a prefetch, P_hit is 1 after a hit. The line of lowest priority is evicted, the most
//! recent of several (older ones may be used again), and the first way of these.
//!
//! This is the paper's cheaper variant: ages of 2 bits that count 8 misses of the set and saturate;
//! recency is known by age alone. Four bits a line and three a set are the 16.75 kB for 2 MB that
//! its abstract names. The following could not be checked against the paper: whether there is one
//! RD for the cache (as that sum suggests) or one for each set (as in public reproductions),
//! whether a line at RD itself is older, and what write-backs do.
//!
//! A write-back is a touch and resets the age. It is no demand hit: neither RD nor the hit bit
//! learn from it. Its kind counts as demand, or as prefetch with `wb=prefetch`, so that lines that
//! were only written are evicted first. Loads and stores are treated alike. A prefetch resets the
//! age, too, and is no demand hit.

use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request, Victim};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "rlr",
    summary: "keeps lines until they are older than lines at their next use; needs no instruction (Sethumurugan 2021)",
    paper: "Sethumurugan, Yin and Sartori, HPCA 2021: the cheaper variant",
    when: "Lines whose ages at reuse are alike, without addresses of instructions.",
    evidence: crate::registry::Evidence {
        open: "Not checked: one reuse distance a cache or a set, a line at that distance, and \
               write-backs.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByLine(&|geometry, params, _| Ok(Box::new(Rlr::new(geometry, params)?))),
};

/// Number of demand hits averaged.
const HITS: u32 = 32;

/// The `rlr` policy.
pub struct Rlr {
    geometry: Geometry,
    settings: RlrSettings,
    lines: Vec<Line>,
    /// Misses of each set since its lines aged.
    misses: Vec<u8>,
    reuse: Reuse,
}

/// State of a line.
#[derive(Clone, Copy, Default)]
struct Line {
    age: u8,
    /// P_type.
    demand: bool,
    /// P_hit.
    hit: bool,
}

/// The reuse distance, and the demand hits since it was set.
#[derive(Default)]
struct Reuse {
    distance: u32,
    hits: u32,
    ages: u32,
}

impl Reuse {
    fn hit(&mut self, age: u8) {
        self.ages += u32::from(age);
        self.hits += 1;
        if self.hits == HITS {
            self.distance = 2 * self.ages / HITS;
            (self.hits, self.ages) = (0, 0);
        }
    }
}

settings! {
    /// Settings of `rlr`.
    pub struct RlrSettings {
        /// bits of a line's age
        age: u32 = 2, 1..=8;
        /// misses of a set that make a unit of age
        misses: u8 = 8, 1..=128;
        /// whether a write-back counts as a demand or as a prefetch
        write_is_prefetch as "wb": bool = false, [("demand", false), ("prefetch", true)];
    }
}

impl Rlr {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let settings = RlrSettings::take(params)?;
        Ok(Self {
            geometry,
            settings,
            lines: vec![Line::default(); geometry.lines()],
            misses: vec![0; geometry.sets],
            reuse: Reuse::default(),
        })
    }

    fn set(&mut self, set: usize) -> &mut [Line] {
        &mut self.lines[set * self.geometry.ways..][..self.geometry.ways]
    }

    fn demand(&self, request: &Request) -> bool {
        request.kind.is_demand() || request.kind.writes() && !self.settings.write_is_prefetch
    }

    /// Counts a miss of a set, and ages its lines each `misses` misses.
    fn miss(&mut self, set: usize) {
        self.misses[set] += 1;
        if self.misses[set] == self.settings.misses {
            self.misses[set] = 0;
            let oldest = u8::MAX >> (8 - self.settings.age);
            for line in self.set(set) {
                line.age = oldest.min(line.age.saturating_add(1));
            }
        }
    }
}

impl LlcPolicy for Rlr {
    fn hit(&mut self, place: Place, request: &Request) {
        let demand = self.demand(request);
        let line = &mut self.lines[place.index(self.geometry)];
        if request.kind.is_demand() {
            self.reuse.hit(line.age);
            line.hit = true;
        }
        line.age = 0;
        line.demand = demand;
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let distance = self.reuse.distance;
        let rank = |line: &Line| {
            let young = u32::from(line.age) <= distance;
            let priority = 8 * u8::from(young) + u8::from(line.demand) + u8::from(line.hit);
            (priority, line.age)
        };
        let lines = self.set(set).iter().enumerate();
        let victim = lines.min_by_key(|(_, line)| rank(line));
        Choice::Evict(victim.map_or(0, |(way, _)| way))
    }

    fn fill(&mut self, place: Place, request: &Request) {
        self.miss(place.set);
        self.lines[place.index(self.geometry)] = Line {
            age: 0,
            demand: self.demand(request),
            hit: false,
        };
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn pass(&mut self, set: usize, _: &Request) {
        self.miss(set);
    }

    /// A line that a demand hit here has its hit bit when it comes back.
    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        self.lines[place.index(self.geometry)] = Line {
            age: 0,
            demand: self.demand(request),
            hit: victim.reused && request.kind.is_demand(),
        };
    }

    /// Age, kind and hit bits of each line, and the misses of each set; the few counters of the
    /// reuse distance are left out, as in the paper's sum.
    fn storage_bits(&self) -> u64 {
        let age = u64::from(self.settings.age);
        let misses = u64::from(self.settings.misses.next_power_of_two().ilog2());
        self.lines.len() as u64 * (age + 2) + self.misses.len() as u64 * misses
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::{Step, run};

    const GEOMETRY: Geometry = Geometry { sets: 1, ways: 3 };

    fn rlr(geometry: Geometry, text: &str) -> Rlr {
        Rlr::new(geometry, &mut Params::parse(text).unwrap()).unwrap()
    }

    /// Ages count single misses here. No hit has been found old: RD is 0, and what was touched
    /// since the last miss is protected.
    #[test]
    fn the_most_recent_of_the_unused_goes() {
        let steps = [
            Step::load(1, 0).fills(),
            Step::load(1, 0).hits(),
            Step::load(2, 0).fills(),
            Step::load(3, 0).fills(),
            // Ages are 2, 1 and 0. Line 3 is young; 1 was hit; 2 is left.
            Step::load(4, 0).evicts(2),
            // Ages are 3, 0 and 1; 4 is young now.
            Step::load(5, 0).evicts(3),
            // A write-back makes 4 young, and 5 still is: 1 goes, although it was hit.
            Step::write_back(4).hits(),
            Step::load(6, 0).evicts(1),
        ];
        let policy = rlr(GEOMETRY, "age=8,misses=1");
        run(GEOMETRY, Box::new(policy), &steps);
    }

    #[test]
    fn what_was_written_last_may_go_first() {
        let steps = |victim| {
            [
                Step::load(1, 0).fills(),
                Step::write_back(2).fills(),
                Step::load(3, 0).fills(),
                match victim {
                    2 => Step::load(4, 0).evicts_dirty(2),
                    _ => Step::load(4, 0).evicts(victim),
                },
            ]
        };
        run(GEOMETRY, Box::new(rlr(GEOMETRY, "")), &steps(1));
        run(GEOMETRY, Box::new(rlr(GEOMETRY, "wb=prefetch")), &steps(2));
    }

    #[test]
    fn the_reuse_distance_is_twice_the_average_of_32() {
        let mut reuse = Reuse::default();
        for hit in 0..HITS {
            assert_eq!(reuse.distance, 0);
            reuse.hit(if hit < 24 { 1 } else { 3 });
        }
        assert_eq!(reuse.distance, 3);
    }

    #[test]
    fn storage_is_the_paper_s() {
        let geometry = Geometry {
            sets: 2048,
            ways: 16,
        };
        let kb = rlr(geometry, "").storage_bits() as f64 / 8192.0;
        assert_eq!(kb, 16.75);
    }
}
