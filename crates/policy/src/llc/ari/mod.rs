//! `ari`: adaptive replacement and insertion (Fedorov 2016, ch. 2; Fedorov et al., "ARI: Adaptive
//! LLC-memory traffic management", ACM TACO 10(4), 2013).
//!
//! A line that misses costs a read, a line that leaves the cache dirty a write. ARI tries static
//! partitionings (those of `nhm`) from 0Hm to mHm, which is LRU, each with both insertions, on a
//! few sampled sets (`samples`), and counts the misses and write-backs of each. After every epoch
//! the partitioning with the lowest sum comes into force for the whole cache, for evictions and
//! insertions alike, unless it misses too often (`decision`).
//!
//! The chapter leaves open what follows. All requests count towards an epoch. A line that is
//! written back and is not in the cache is no miss, because nothing is read from memory, and goes
//! to MRU, because the chapter inserts only clean data low (`dirty`). ARI starts as LRU. Among
//! equals the partitioning in force stays, or else the first of the `plan` is taken, with LRU
//! before all. Empty ways are part of the LRU order, and the first is filled. With `order=rrip` the
//! cache has another order than the samples (`order`).

mod decision;
mod order;
mod partitioning;
mod plan;
mod samples;
mod settings;
mod shadow;

pub use settings::{AriSettings, Eviction, Insertions, Order};

use super::{Choice, Entry, Geometry, InForce, LlcPolicy, Make, Place, Request, Victim};
use crate::params::Params;
use decision::Decision;
use order::Lines;
use partitioning::Partitioning;
use plan::{Counts, Plan};
use samples::Samples;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "ari",
    summary: "the static partitioning that sampled sets show to cause the least traffic (Fedorov 2016, ch. 2)",
    paper: "Fedorov 2016, ch. 2; Fedorov et al., ACM TACO 10(4), 2013",
    when: "Memories whose writes are slow: it counts write-backs beside misses, and follows phases.",
    evidence: crate::registry::Evidence {
        open: "What requests count, where written-back lines go, and which of equals comes into \
               force: see the file.",
        compared: "the averages of Fedorov 2016, 2.4 (papers/fedorov-2016-ch2): misses saved, \
                   bandwidth and two of three energies within two points; write-backs, lifetime \
                   and speed less",
    },
    make: Make::ByLine(&|geometry, params, seed| Ok(Box::new(Ari::new(geometry, params, seed)?))),
};

/// The `ari` policy.
pub struct Ari {
    settings: AriSettings,
    lines: Lines,
    samples: Samples,
    plan: Plan,
    decision: Decision,
    /// Partitioning in force in all sets but live samples.
    chosen: Partitioning,
    phase: usize,
    /// Requests left in this phase.
    left: u64,
    /// Counts of each candidate in the past phases of this epoch.
    epoch: Vec<Counts>,
}

impl Ari {
    /// Makes the policy for a cache of this shape; the same seed samples the same sets.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let settings = AriSettings::take(params, geometry)?;
        if settings.live && settings.order == Order::Rrip {
            return Err("live=on goes with order=lru: samples have LRU".to_owned());
        }
        let plan = Plan::new(&settings);
        let candidates = plan.candidates.len();
        Ok(Self {
            lines: Lines::new(geometry, settings.order),
            samples: Samples::new(&settings, seed, plan.followed(0).collect()),
            decision: Decision::new(candidates, &settings),
            chosen: Partitioning::lru(geometry.ways),
            phase: 0,
            left: plan.length(0),
            epoch: vec![Counts::default(); candidates],
            plan,
            settings,
        })
    }

    #[cold]
    fn next_phase(&mut self) {
        let counted = self.samples.take();
        self.plan.spread(self.phase, &counted, &mut self.epoch);
        self.phase = (self.phase + 1) % self.plan.phases();
        if self.phase == 0 {
            self.decide();
        }
        self.left = self.plan.length(self.phase);
        self.samples.follow(self.plan.followed(self.phase));
    }

    fn decide(&mut self) {
        self.decision.learn(&self.epoch);
        self.epoch.fill(Counts::default());
        let candidates = &mut self.plan.candidates;
        let current = candidates.iter().position(|&other| other == self.chosen);
        self.chosen = candidates[self.decision.best(candidates.len(), current)];
        if self.settings.insertions == Insertions::Alternating {
            self.flip();
        }
    }

    /// The `p + 1` scheme (2.5.3): the last candidate becomes the best of the others with the other
    /// insertion. It has no past of its own, and inherits that of the candidate it is flipped from.
    fn flip(&mut self) {
        let last = self.settings.partitions;
        let best = self.decision.best(last, None);
        let flipped = self.plan.candidates[best].flipped();
        if flipped != self.plan.candidates[last] {
            self.plan.candidates[last] = flipped;
            self.decision.inherit(last, best);
        }
    }

    /// Returns the partitioning of a set.
    #[inline]
    fn of(&self, set: usize) -> Partitioning {
        self.samples.followed_live(set).unwrap_or(self.chosen)
    }

    /// Puts a new line into the order.
    #[inline]
    fn put(&mut self, place: Place, dirty: bool) {
        let position = self.of(place.set).position(self.settings.dirty, dirty);
        self.lines.put(place, position);
    }

    /// Returns the ways of a set that are in its high-hit partition when a line is evicted.
    #[inline]
    fn high(&self, set: usize) -> usize {
        match (self.samples.followed_live(set), self.settings.eviction) {
            (Some(followed), _) => followed.high,
            (None, Eviction::Partitioned) => self.chosen.high,
            (None, Eviction::Lru) => self.settings.geometry.ways,
        }
    }
}

impl LlcPolicy for Ari {
    #[inline]
    fn request(&mut self, set: usize, request: &Request) {
        if self.left == 0 {
            self.next_phase();
        }
        self.left -= 1;
        self.samples.request(set, request);
    }

    #[inline]
    fn hit(&mut self, place: Place, _: &Request) {
        self.lines.promote(place);
    }

    #[inline]
    fn choose(&mut self, set: usize, dirty: u64, _: &Request) -> Choice {
        let way = self.lines.victim(set, self.high(set), dirty);
        self.samples.evicted(set, dirty >> way & 1 == 1);
        Choice::Evict(way)
    }

    #[inline]
    fn fill(&mut self, place: Place, request: &Request) {
        let writes = request.kind.writes();
        if !writes {
            self.samples.missed(place.set);
        }
        self.put(place, writes);
    }

    fn go_exclusive(&mut self) -> bool {
        self.samples.go_exclusive();
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.lines.retire(place);
    }

    fn pass(&mut self, set: usize, _: &Request) {
        self.samples.missed(set);
    }

    fn insert(&mut self, place: Place, _: &Request, victim: Victim) {
        self.put(place, victim.dirty);
    }

    #[inline]
    fn position(&self, place: Place) -> Option<usize> {
        self.lines.position(place)
    }

    /// Not told with live samples, which count dirty evictions, and would miss those of lines that
    /// were written early; nor of intervals, which are no stack.
    fn low_hit(&self, place: Place) -> Option<bool> {
        let position = self.lines.position(place)?;
        (!self.settings.live).then(|| position >= self.high(place.set))
    }

    fn in_force(&self) -> Option<InForce> {
        Some(self.chosen.into())
    }

    /// The shadow tags, as the paper counts them. Intervals take the place of the LRU order.
    fn storage_bits(&self) -> u64 {
        self.settings.tag_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Evicted, Kind, Outcome};

    /// Loads the lines of a text in turn; `*` is one that is written back, line 0.
    fn outcomes(cache: &mut Cache, lines: &str) -> Vec<Outcome> {
        let request = |letter| match letter {
            '*' => request(0, Kind::WriteBack),
            letter => request(letter.into(), Kind::Load),
        };
        let lines = lines.chars().map(request);
        lines.map(|request| cache.access(&request)).collect()
    }

    fn evicts(line: char) -> Outcome {
        let (line, dirty) = match line {
            '*' => (0, true),
            line => (u64::from(line), false),
        };
        let evicted = Some(Evicted { line, dirty });
        Outcome::Miss { evicted }
    }

    /// Two ways, LRU against 0H2, epochs of eight requests.
    #[test]
    fn two_decisions_by_hand() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let mut params = Params::parse("p=2,insert=mru,epoch=8").unwrap();
        let ari = Ari::new(geometry, &mut params, 1).unwrap();
        let mut cache = Cache::new(geometry, Box::new(ari));
        let in_force = |cache: &Cache| cache.policy().in_force().map(|force| force.high);

        // LRU loses line 0 to c and to e: 8 misses and 2 write-backs. 0H2 keeps it: 6 and none.
        let first = outcomes(&mut cache, "*bc*de*f");
        let lru = ['*', 'b', 'c', '*', 'd', 'e'].map(evicts);
        assert_eq!(first[2..], lru);
        assert_eq!(in_force(&cache), Some(2));

        // Now 0H2 holds a line that is not needed: 8 misses where LRU has 3 and a write-back. By
        // the averages 15/16 * 10 + 4 = 13.375 sixteenths for LRU, 15/16 * 6 + 8 = 13.625 for 0H2.
        let second = outcomes(&mut cache, "gxyxyxyx");
        let kept = ['f', 'g', 'x', 'y', 'x', 'y', 'x', 'y'].map(evicts);
        assert_eq!(second, kept);
        assert_eq!(in_force(&cache), Some(0));

        assert_eq!(outcomes(&mut cache, "y"), [evicts('*')]);
        assert_eq!(in_force(&cache), Some(2));
    }
}
