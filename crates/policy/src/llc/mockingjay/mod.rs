//! `mockingjay`: evicts the line whose predicted next use is farthest away.
//!
//! Mockingjay (Shah, Jain and Lin, HPCA 2022). A sampled cache of a few sets measures after how
//! many requests to its set a line is used again, and a table stores that by instruction. A touched
//! line gets the distance of its instruction as its estimated time remaining (ETR), in units of
//! eight requests; every eighth request to a set decrements the ETRs of its other lines, below 0
//! too. The line with the highest absolute ETR is evicted: the one farthest in the future, or
//! overdue the longest, which is preferred. A line bypasses the cache if its instruction's lines
//! are not used again, or later than all lines of the set.
//!
//! The constants are those of the authors' published code, read in ports of it: distances up to
//! eight times the ways less one (127), of which those over 105 count as never; a sampled cache of
//! 16 sets of 5 ways for each sampled set, with tags of 10 bits; one of 64 sets sampled at 2 MB, or
//! one line of 1024; signatures of 11 bits there, one more each time that the cache doubles; a
//! lesson changes a distance by one. Values for 16 ways are scaled to other caches. Instructions
//! that hit have another signature than those that miss, as in their configuration for one core;
//! the core is part of the signature, as in the one for many.
//!
//! Write-backs have no instruction. One that hits changes nothing, one that misses always fills,
//! with the ETR of a line that is overdue the longest; neither counts as a request. Loads and
//! stores are treated alike.
//!
//! Prefetches have signatures of their own. Where one uses a line again its distance counts twice,
//! as in the configuration for one core: such a line need not be kept, it comes again by itself.

mod distances;
mod sampler;

use self::distances::Distances;
use self::sampler::Sampler;
use super::signature::signature;
use super::{Choice, Entry, Geometry, Kind, LlcPolicy, Make, Place, Request, Sampled, Victim};
use crate::params::{ON_OFF, Params};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "mockingjay",
    summary: "evicts the line whose predicted next use is farthest away (Shah, Jain and Lin 2022)",
    paper: "Shah, Jain and Lin, Mockingjay, HPCA 2022",
    when: "Traces with addresses of instructions, which differ in how soon their lines are used again.",
    evidence: crate::registry::Evidence {
        open: "Constants are those of ports of the authors' code.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByInstruction(&|geometry, params, _| {
        Ok(Box::new(Mockingjay::new(geometry, params)?))
    }),
};

/// Requests to a set for one step of its lines' remaining time.
const GRANULARITY: u32 = 8;
/// How many times the distance counts of a line that a prefetch uses again.
const PREFETCHED: u32 = 2;
/// Longest measured distance, as a multiple of the ways.
const HISTORY: u32 = 8;

settings! {
    /// Settings of `mockingjay`.
    pub struct MockingjaySettings(lines: usize) {
        /// sampled sets
        sampled: usize = (lines / 1024).max(1), 1..=usize::MAX;
        /// bits of a hashed instruction
        signature: u32 = lines.ilog2().saturating_sub(4).clamp(11, 16), 1..=16;
        /// whether lines that are not used again soon pass by
        bypass: bool = true, ON_OFF;
    }
}

/// The `mockingjay` policy.
pub struct Mockingjay {
    geometry: Geometry,
    sampled: Sampled,
    sampler: Sampler,
    distances: Distances,
    settings: MockingjaySettings,
    /// Distances above this count as never.
    most: u32,
    /// ETR of a line that is not used again; its negative is the longest overdue.
    never: i8,
    /// ETR of each line.
    etrs: Vec<i8>,
    /// Requests to each set since its ETRs last went down.
    clocks: Vec<u8>,
    /// Whether the cache is exclusive: lines that come in are no requests.
    exclusive: bool,
}

impl Mockingjay {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let lines = geometry.lines();
        let settings = MockingjaySettings::take(params, lines)?;
        let sampled = Sampled::spread(geometry.sets, settings.sampled);
        let ways = geometry.ways as u32;
        let furthest = ways * HISTORY - 1;
        Ok(Self {
            geometry,
            sampler: Sampler::new(sampled.len(), furthest),
            sampled,
            distances: Distances::new(settings.signature, furthest),
            settings,
            most: furthest - 22 * ways / 16,
            never: (furthest / GRANULARITY) as i8,
            etrs: vec![0; lines],
            clocks: vec![0; geometry.sets],
            exclusive: false,
        })
    }

    fn signature(&self, request: &Request, hit: bool) -> u16 {
        // The highest bits of an address are free: they are alike.
        let prefetch = u64::from(request.kind == Kind::Prefetch);
        let ip = request.ip ^ u64::from(hit) << 63 ^ prefetch << 62;
        signature(&Request { ip, ..*request }, self.settings.signature) as u16
    }

    /// Handles a load or store: teaches the sampled cache, and ages the set's lines except this
    /// way.
    fn hear(&mut self, set: usize, way: Option<usize>, signature: u16, request: &Request) {
        if let Some(sample) = self.sampled.number(set) {
            let tag = request.line / self.geometry.sets as u64;
            let weight = match request.kind {
                Kind::Prefetch => PREFETCHED,
                _ => 1,
            };
            self.sampler
                .touch(sample, tag, (signature, weight), &mut self.distances);
        }
        self.clocks[set] += 1;
        if u32::from(self.clocks[set]) == GRANULARITY {
            self.clocks[set] = 0;
            let ways = self.geometry.ways;
            let etrs = self.etrs[set * ways..][..ways].iter_mut().enumerate();
            for (_, etr) in etrs.filter(|(other, _)| Some(*other) != way) {
                *etr -= i8::from(etr.abs() < self.never);
            }
        }
    }

    /// Sets the ETR of a line that is, or will be, in this place.
    fn touch(&mut self, place: Place, hit: bool, request: &Request) {
        let signature = self.signature(request, hit);
        self.hear(place.set, Some(place.way), signature, request);
        self.estimate(place, signature);
    }

    /// Sets the ETR of a line to what is known of its instruction.
    fn estimate(&mut self, place: Place, signature: u16) {
        self.etrs[place.index(self.geometry)] = match self.distances.of(signature) {
            None => 0,
            Some(distance) if distance > self.most => self.never,
            Some(distance) => (distance / GRANULARITY) as i8,
        };
    }

    /// Returns the way with the highest absolute ETR, overdue ones first, and that ETR.
    fn furthest(&self, set: usize) -> (usize, u8) {
        let ways = self.geometry.ways;
        let etrs = &self.etrs[set * ways..][..ways];
        // Doubled, so that adding one ranks overdue lines first.
        let rank = |etr: i8| 2 * u16::from(etr.unsigned_abs()) + u16::from(etr < 0);
        let ways = (0..ways).rev();
        let way = ways.max_by_key(|&way| rank(etrs[way])).unwrap_or_default();
        (way, etrs[way].unsigned_abs())
    }
}

impl LlcPolicy for Mockingjay {
    fn hit(&mut self, place: Place, request: &Request) {
        if !request.kind.writes() {
            self.touch(place, true, request);
        }
    }

    fn choose(&mut self, set: usize, _: u64, request: &Request) -> Choice {
        let (way, furthest) = self.furthest(set);
        if self.settings.bypass && !request.kind.writes() {
            let signature = self.signature(request, false);
            let passes = |distance: u32| {
                distance > self.most || distance / GRANULARITY > u32::from(furthest)
            };
            if self.distances.of(signature).is_some_and(passes) {
                if !self.exclusive {
                    self.hear(set, None, signature, request);
                }
                return Choice::Bypass;
            }
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        match request.kind.writes() {
            true => self.etrs[place.index(self.geometry)] = -self.never,
            false => self.touch(place, false, request),
        }
    }

    fn go_exclusive(&mut self) -> bool {
        self.exclusive = true;
        true
    }

    fn pass(&mut self, set: usize, request: &Request) {
        let signature = self.signature(request, false);
        self.hear(set, None, signature, request);
    }

    /// The distance is that between requests, of which the first was before the line came.
    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        if request.kind.writes() {
            return self.fill(place, request);
        }
        let signature = self.signature(request, victim.reused);
        self.estimate(place, signature);
    }

    fn bypasses(&self) -> bool {
        self.settings.bypass
    }

    /// An ETR with its sign for each line, a clock for each set, the sampled cache and the table.
    fn storage_bits(&self) -> u64 {
        let etr = u64::from(self.never.checked_ilog2().unwrap_or(0) + 2);
        let etrs = self.etrs.len() as u64 * etr;
        let clocks = self.clocks.len() as u64 * u64::from(GRANULARITY.ilog2());
        let sampler = self.sampler.storage_bits(self.settings.signature);
        etrs + clocks + sampler + self.distances.storage_bits()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::{Step, run};

    const GEOMETRY: Geometry = Geometry { sets: 1, ways: 2 };

    fn mockingjay(geometry: Geometry, text: &str) -> Mockingjay {
        Mockingjay::new(geometry, &mut Params::parse(text).unwrap()).unwrap()
    }

    /// Lines 16 apart share a small set of the sampled cache, which holds five.
    fn line(number: u64) -> u64 {
        16 * number
    }

    #[test]
    fn what_is_not_used_again_passes_by() {
        let steps = [
            // Nothing is known: ETRs are 0, and the first way goes.
            Step::load(line(1), 0xB).fills(),
            Step::load(line(2), 0xB).fills(),
            Step::load(line(3), 0xB).evicts(line(1)),
            Step::load(line(4), 0xB).evicts(line(3)),
            Step::load(line(5), 0xB).evicts(line(4)),
            // The sampled cache has to drop line 1, and 0xB learns that it is not used again. That
            // comes after the choice, and before the new line's ETR, which is the highest now.
            Step::load(line(6), 0xB).evicts(line(5)),
            Step::load(line(7), 0xB).bypasses(),
            // A write-back does not pass by, and goes where the highest was. It is overdue, 2 is
            // not.
            Step::write_back(line(8)).evicts(line(6)),
            Step::load(line(9), 0xA).evicts_dirty(line(8)),
            Step::load(line(2), 0xA).hits(),
        ];
        let policy = mockingjay(GEOMETRY, "");
        run(GEOMETRY, Box::new(policy), &steps);
    }

    /// Four ways: distances go up to 31, and those over 26 are never. Time goes down by one in
    /// eight requests.
    #[test]
    fn the_longest_overdue_goes() {
        let geometry = Geometry { sets: 1, ways: 4 };
        let mut steps = vec![
            Step::load(1, 0xA).fills(),
            Step::load(2, 0xA).fills(),
            Step::load(3, 0xA).fills(),
            Step::load(4, 0xA).fills(),
        ];
        // All came with 0. Requests 5 to 8 are hits of 1 and 2, which learn a distance below 8, and
        // with the eighth 1, 3 and 4 are overdue by one.
        steps.extend([2, 1, 1, 2].map(|line| Step::load(line, 0xB).hits()));
        steps.push(Step::load(1, 0xB).hits());
        // 1 has 0 again; of 3 and 4 the first goes, and then the other.
        steps.push(Step::load(5, 0xC).evicts(3));
        steps.push(Step::load(6, 0xC).evicts(4));
        run(geometry, Box::new(mockingjay(geometry, "")), &steps);
    }

    /// 31.91 kB.
    #[test]
    fn storage_at_two_megabytes() {
        let geometry = Geometry {
            sets: 2048,
            ways: 16,
        };
        let bits = mockingjay(geometry, "").storage_bits();
        let sampled = 32 * 16 * 5 * (10 + 11 + 8 + 1) + 32 * 8;
        assert_eq!(bits, 32_768 * 5 + 2048 * 3 + sampled + 2048 * 7);
    }
}
