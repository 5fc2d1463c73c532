//! `drrip`: dynamic re-reference interval prediction (Jaleel et al., "High performance cache
//! replacement using re-reference interval prediction (RRIP)", ISCA 2010).
//!
//! Each line has a predicted re-reference interval of 2 bits. A hit makes it 0 (hit priority); the
//! first way with the longest interval is evicted, and if there is none, all intervals grow until
//! there is. Static RRIP, which inserts with the longest interval but one, duels with bimodal RRIP,
//! which inserts with the longest, and every 32nd line with the longest but one. A line that the
//! level above writes back is treated like one that is read: it is inserted and promoted alike, and
//! its miss counts. So is one that it prefetches; the paper has none.

use super::{Choice, Duel, Entry, Geometry, LlcPolicy, Make, Place, Request, Victim};
use crate::params::Params;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "drrip",
    summary: "evicts the line predicted to be reused last, in 2 bits: sets duel (Jaleel et al., ISCA 2010)",
    paper: "Jaleel et al., RRIP, ISCA 2010",
    when: "Scans mixed with lines that are used again, without addresses of instructions.",
    evidence: crate::registry::Evidence {
        open: "How lines that the level above writes back are treated: here as those that are \
               read.",
        compared: "the averages of Fedorov 2016, 2.4 (papers/fedorov-2016-ch2): misses saved \
                   within two points",
    },
    make: Make::ByLine(&|geometry, params, seed| Ok(Box::new(Drrip::new(geometry, params, seed)?))),
};

/// The `drrip` policy.
pub struct Drrip {
    geometry: Geometry,
    longest: u8,
    /// Predicted interval of the line in each place.
    intervals: Vec<u8>,
    duel: Duel,
}

impl Drrip {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params, seed: u64) -> Result<Self, String> {
        let longest = u8::MAX
            >> (8 - params.take("bits", "bits of a line's predicted interval", 2, 1..=8)?);
        Ok(Self {
            geometry,
            longest,
            intervals: vec![longest; geometry.lines()],
            duel: Duel::new(geometry, params, seed)?,
        })
    }
}

impl LlcPolicy for Drrip {
    fn hit(&mut self, place: Place, _: &Request) {
        self.intervals[place.index(self.geometry)] = 0;
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let ways = self.geometry.ways;
        let intervals = &mut self.intervals[set * ways..][..ways];
        let oldest = intervals.iter().copied().max().unwrap_or_default();
        let way = intervals.iter().position(|&interval| interval == oldest);
        let growth = self.longest - oldest;
        intervals
            .iter_mut()
            .for_each(|interval| *interval += growth);
        Choice::Evict(way.unwrap_or_default())
    }

    fn fill(&mut self, place: Place, _: &Request) {
        let distant = self.duel.missed(place.set);
        self.intervals[place.index(self.geometry)] = self.longest - u8::from(!distant);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn pass(&mut self, set: usize, _: &Request) {
        self.duel.passed(set);
    }

    /// A line that was hit here comes back as its hit left it.
    fn insert(&mut self, place: Place, _: &Request, victim: Victim) {
        let distant = self.duel.came(place.set);
        self.intervals[place.index(self.geometry)] = match victim.reused {
            true => 0,
            false => self.longest - u8::from(!distant),
        };
    }

    /// Only the duel counts: the intervals take the place of the LRU order.
    fn storage_bits(&self) -> u64 {
        self.duel.storage_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::request;
    use crate::llc::{Cache, Kind, Outcome};

    /// The mixed access pattern of the paper: on a1 a2 a2 a1 b1 b2 b3 b4 a1 a2, SRRIP with 2 bits
    /// in 4 ways keeps the reused a1 and a2 over the scan of b1 to b4, where LRU has lost them.
    #[test]
    fn what_was_reused_survives_a_scan() {
        let geometry = Geometry { sets: 1, ways: 4 };
        let drrip = Drrip::new(geometry, &mut Params::default(), 1).unwrap();
        let mut cache = Cache::new(geometry, Box::new(drrip));
        let (a1, a2) = (1, 2);
        let mut hits = |line| {
            let outcome = cache.access(&request(line, Kind::Load));
            matches!(outcome, Outcome::Hit { .. })
        };
        let outcomes = [a1, a2, a2, a1, 11, 12, 13, 14, a1, a2].map(&mut hits);
        let (t, f) = (true, false);
        assert_eq!(outcomes, [f, f, t, t, f, f, f, f, t, t]);
    }
}
