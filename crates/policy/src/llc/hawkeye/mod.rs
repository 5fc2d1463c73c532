//! `hawkeye`: learns from the decisions of Belady's optimum.
//!
//! Hawkeye (Jain and Lin, ISCA 2016). On sampled sets `OPTgen` determines, each time that a line is
//! requested again, whether OPT would have kept it. The instruction of the previous request is
//! trained with the result: its counter says whether it is cache-friendly or averse. Lines have
//! ages from 0 to 7. A line touched by an averse instruction gets 7 and is evicted first; one
//! touched by a friendly instruction gets 0, and if it is new the other friendly lines grow older,
//! to 6 at most. If there is no averse line the oldest is evicted, the first of several, and the
//! instruction that touched it last was wrong: on sampled sets its counter goes down.
//!
//! From the paper: 64 sampled sets, a history of eight times the ways, ages of 3 bits, and counters
//! of 3 bits for 13 bits of a hashed instruction; the last two could not be checked. Counters start
//! as friendly, as in the authors' entry to the championship of 2017, though here
//! no two ways are withheld from OPT. The paper's sampler has fewer entries than its
//! history (all but the ages takes 16 kB); its organisation could not be checked. Here each sampled
//! set remembers its own lines, as many as its history is long, which takes more; fewer with
//! `lines`.
//!
//! Write-backs have no instruction: they train nothing and leave ages as they are, and a line that
//! they bring in is averse, as in that entry. Loads and stores are treated alike.
//!
//! Prefetches, which the paper does not have, are that entry's: the instruction that causes them
//! has other counters for them than for its loads. A line is kept for a load or store alone, so
//! that no verdict is passed where a prefetch requests it again; unless OPT had room for it and no
//! more than three requests lie between, which is a good sign. `storage_bits` leaves the counters
//! of prefetches out.

mod optgen;

use self::optgen::OptGen;
use super::signature::signature;
use super::{Choice, Entry, Geometry, Kind, LlcPolicy, Make, Place, Request, Sampled};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "hawkeye",
    summary: "learns by instruction what Belady's optimum would have kept (Jain and Lin 2016)",
    paper: "Jain and Lin, Hawkeye, ISCA 2016",
    when: "Programs in which each instruction uses its lines in one way.",
    evidence: crate::registry::Evidence {
        open: "Not checked: ages and counters, and how the sampler is organised; here it holds \
               all of its history.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByInstruction(&|geometry, params, _| Ok(Box::new(Hawkeye::new(geometry, params)?))),
};

/// Bits of an age.
const AGE_BITS: u32 = 3;
/// Age of lines that an averse instruction touched last.
const AVERSE: u8 = (1 << AGE_BITS) - 1;
/// Bits of a partial tag in the sampler, for the storage only: tags are whole here.
const TAG_BITS: u32 = 16;

settings! {
    /// Settings of `hawkeye`.
    pub struct HawkeyeSettings(geometry: Geometry) {
        /// sampled sets
        sampled: usize = 64, 1..=usize::MAX;
        /// requests that a sampled set looks back over, in times the ways
        history: usize = 8, 1..=64;
        /// lines that a sampled set remembers
        lines: usize = geometry.ways * history, 1..=4096;
        /// bits of a hashed instruction
        signature: u32 = 13, 1..=16;
        /// bits of its counter
        counter: u32 = 3, 1..=7;
    }
}

/// The `hawkeye` policy.
pub struct Hawkeye {
    geometry: Geometry,
    settings: HawkeyeSettings,
    sampled: Sampled,
    sets: Vec<OptGen>,
    /// Counters by instruction: whether it is cache-friendly; those of its loads and stores, and
    /// then those of its prefetches.
    counters: Vec<u8>,
    /// Age of each line.
    ages: Vec<u8>,
    /// Signature of the last touch of each line of the sampled sets; `None` if a write-back brought
    /// it in.
    touched: Vec<Option<u32>>,
}

impl Hawkeye {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let settings = HawkeyeSettings::take(params, geometry)?;
        let sampled = Sampled::spread(geometry.sets, settings.sampled);
        let history = geometry.ways * settings.history;
        let set = |_| OptGen::new(geometry.ways, history, settings.lines);
        Ok(Self {
            geometry,
            settings,
            sets: (0..sampled.len()).map(set).collect(),
            counters: vec![1 << (settings.counter - 1); 2 << settings.signature],
            ages: vec![AVERSE; geometry.lines()],
            touched: vec![None; sampled.len() * geometry.ways],
            sampled,
        })
    }

    /// Returns the place of the request's counter.
    fn signature(&self, request: &Request) -> u32 {
        let bits = self.settings.signature;
        let prefetch = u32::from(request.kind == Kind::Prefetch);
        prefetch << bits | signature(request, bits) as u32
    }

    /// Whether the highest bit of the instruction's counter is set.
    fn is_friendly(&self, signature: u32) -> bool {
        self.counters[signature as usize] >> (self.settings.counter - 1) != 0
    }

    fn learn(&mut self, signature: u32, friendly: bool) {
        let most = (1 << self.settings.counter) - 1;
        let counter = &mut self.counters[signature as usize];
        *counter = match friendly {
            true => most.min(*counter + 1),
            false => counter.saturating_sub(1),
        };
    }

    fn touched(&mut self, place: Place) -> Option<&mut Option<u32>> {
        let sample = self.sampled.number(place.set)?;
        self.touched
            .get_mut(sample * self.geometry.ways + place.way)
    }

    /// Touches a line; if it is new and friendly, the other friendly lines of its set grow older.
    fn touch(&mut self, place: Place, request: &Request, new: bool) {
        let signature = self.signature(request);
        let friendly = self.is_friendly(signature);
        if friendly && new {
            let ways = self.geometry.ways;
            for age in &mut self.ages[place.set * ways..][..ways] {
                *age += u8::from(*age < AVERSE - 1);
            }
        }
        self.ages[place.index(self.geometry)] = if friendly { 0 } else { AVERSE };
        if let Some(touched) = self.touched(place) {
            *touched = Some(signature);
        }
    }
}

impl LlcPolicy for Hawkeye {
    fn request(&mut self, set: usize, request: &Request) {
        if let Some(sample) = self.sampled.number(set)
            && request.kind.reads()
        {
            let signature = self.signature(request);
            let set = &mut self.sets[sample];
            let verdict = match request.kind {
                Kind::Prefetch => set.prefetch(request.line, signature),
                _ => set.access(request.line, signature),
            };
            if let Some(verdict) = verdict {
                self.learn(verdict.signature, verdict.kept);
            }
        }
    }

    fn hit(&mut self, place: Place, request: &Request) {
        if !request.kind.writes() {
            self.touch(place, request, false);
        }
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let ways = self.geometry.ways;
        let ages = &self.ages[set * ways..][..ways];
        let ways = (0..ways).rev();
        let way = ways.max_by_key(|&way| ages[way]).unwrap_or_default();
        if ages[way] < AVERSE
            && let Some(Some(signature)) = self.touched(Place { set, way }).copied()
        {
            self.learn(signature, false);
        }
        Choice::Evict(way)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        if !request.kind.writes() {
            return self.touch(place, request, true);
        }
        self.ages[place.index(self.geometry)] = AVERSE;
        if let Some(touched) = self.touched(place) {
            *touched = None;
        }
    }

    /// Ages, counters, and for each sampled set its occupancies, its remembered lines with tag,
    /// time and instruction, and the instruction of each line that it holds.
    fn storage_bits(&self) -> u64 {
        let HawkeyeSettings {
            lines,
            signature,
            counter,
            ..
        } = self.settings;
        let ages = self.ages.len() as u64 * u64::from(AGE_BITS);
        let counters = u64::from(counter) << signature;
        let occupancy = u64::from(self.geometry.ways.ilog2() + 1);
        // Times up to twice the history suffice to tell what is within it.
        let history = self.geometry.ways * self.settings.history;
        let time = (2 * history).next_power_of_two().ilog2();
        let seen = u64::from(TAG_BITS + time + signature);
        let set = history as u64 * occupancy + lines as u64 * seen;
        let touched = self.touched.len() as u64 * u64::from(signature);
        ages + counters + self.sets.len() as u64 * set + touched
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::{Step, run};

    fn hawkeye(geometry: Geometry, text: &str) -> Hawkeye {
        Hawkeye::new(geometry, &mut Params::parse(text).unwrap()).unwrap()
    }

    /// Counters of one bit: an instruction is friendly or averse at once. 0xA asks for lines 1 and
    /// 2 again and again, 0xB scans. The first line of 0xB evicts one of 0xA, which makes 0xA
    /// averse until OPT tells that its lines should have been kept; evictions of its own do the
    /// same to 0xB, and OPT does not save it.
    #[test]
    fn scans_turn_averse_and_loops_friendly() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let steps = [
            Step::load(1, 0xA).fills(),
            Step::load(2, 0xA).fills(),
            // Ages are 1 and 0: line 1 goes, 0xA is averse. Ages are 0 and 1 now.
            Step::load(3, 0xB).evicts(1),
            // OPT held line 1: 0xA is friendly. Line 2 is the oldest and goes: averse again, so
            // line 1 comes in with 7.
            Step::load(1, 0xA).evicts(2),
            // OPT held line 2 as well: friendly. Line 1 goes first, with its 7: no instruction was
            // wrong.
            Step::load(2, 0xA).evicts(1),
            // 3 has 1, 2 has 0: 3 goes, and 0xB is averse. Line 4 comes in with 7.
            Step::load(4, 0xB).evicts(3),
            Step::load(5, 0xB).evicts(4),
            Step::load(6, 0xB).evicts(5),
            Step::load(2, 0xA).hits(),
            Step::load(1, 0xA).evicts(6),
            Step::load(2, 0xA).hits(),
        ];
        let policy = hawkeye(geometry, "counter=1");
        run(geometry, Box::new(policy), &steps);
    }

    #[test]
    fn lines_that_write_backs_bring_in_go_first() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let steps = [
            Step::load(1, 0xA).fills(),
            Step::write_back(2).fills(),
            Step::write_back(1).hits(),
            Step::load(3, 0xA).evicts_dirty(2),
        ];
        run(geometry, Box::new(hawkeye(geometry, "")), &steps);
    }

    /// Counters of one bit. Prefetches of 0xB evict each other, which makes the prefetches of 0xB
    /// averse and leaves its loads friendly.
    #[test]
    fn prefetches_have_counters_of_their_own() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let steps = [
            Step::prefetch(1, 0xB).fills(),
            Step::prefetch(2, 0xB).fills(),
            // Ages are 1 and 0: line 1 goes, and prefetches of 0xB are averse.
            Step::prefetch(3, 0xB).evicts(1),
            Step::prefetch(4, 0xB).evicts(3),
            // Line 5 comes with 0, and 2 has 2 by then: 4 went first, with its 7.
            Step::load(5, 0xB).evicts(4),
            Step::load(6, 0xB).evicts(2),
            // A load of 5 finds it: it was not averse.
            Step::load(5, 0xB).hits(),
        ];
        run(geometry, Box::new(hawkeye(geometry, "counter=1")), &steps);
    }

    #[test]
    fn storage_at_two_megabytes() {
        let geometry = Geometry {
            sets: 2048,
            ways: 16,
        };
        let kb = |text| hawkeye(geometry, text).storage_bits() as f64 / 8192.0;
        // Ages, counters, occupancies, the sampler, and instructions of lines.
        assert_eq!(kb(""), 12.0 + 3.0 + 5.0 + 37.0 + 1.625);
        assert_eq!(kb("lines=32"), 12.0 + 3.0 + 5.0 + 37.0 / 4.0 + 1.625);
    }
}
