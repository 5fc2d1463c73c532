//! `ship`: predicts by the instruction whether a line will be used again.
//!
//! SHiP-PC (Wu et al., MICRO 2011). Each line stores the signature of the instruction that brought
//! it in, and whether it was used since. A table of saturating counters, the SHCT, counts up when a
//! line of its signature is used again, and down when one is evicted unused. The replacement below
//! is SRRIP (Jaleel et al., ISCA 2010): a hit sets a line's re-reference prediction value (RRPV) to
//! 0, the first line with the highest value is evicted, and while there is none all values rise. A
//! new line gets the highest value if its counter is 0, and one less otherwise.
//!
//! Signatures of 14 bits, 16 K counters of 3 bits and RRPVs of 2 bits are the paper's (`ChampSim`
//! has the same). With `sampled` fewer sets teach the table (the paper's SHiP-S), with `counter=2`
//! counters are smaller (SHiP-R2). The initial value of the counters could not be checked: here it
//! is 1, so that an instruction is trusted until it is proven wrong once.
//!
//! Write-backs have no instruction. One that hits leaves the line's RRPV and its outcome as they
//! are; one that misses fills with the highest value less one and teaches nothing, as in
//! `ChampSim`. Loads, stores and prefetches are treated alike, as there; the paper has no
//! prefetches.

use super::signature::signature;
use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Request, Sampled, Victim};
use crate::params::Params;
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "ship",
    summary: "SHiP-PC: predicts by instruction whether a line will be used again (Wu et al. 2011)",
    paper: "Wu et al., SHiP, MICRO 2011",
    when: "Programs in which some instructions stream and others reuse their lines.",
    evidence: crate::registry::Evidence {
        open: "Not checked: the first value of counters, here 1.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByInstruction(&|geometry, params, _| Ok(Box::new(Ship::new(geometry, params)?))),
};

settings! {
    /// Settings of `ship`.
    pub struct ShipSettings(geometry: Geometry) {
        /// sets that teach
        sampled: usize = geometry.sets, 1..=usize::MAX;
        /// bits of a hashed instruction
        signature: u32 = 14, 1..=16;
        /// bits of a line's predicted interval
        rrpv: u32 = 2, 1..=7;
        /// bits of an instruction's counter
        counter: u32 = 3, 1..=7;
    }
}

/// The `ship` policy.
pub struct Ship {
    geometry: Geometry,
    sampled: Sampled,
    settings: ShipSettings,
    /// Signature history counters, by signature.
    shct: Vec<u8>,
    /// Re-reference prediction value of each line.
    rrpvs: Vec<u8>,
    /// Fill of each line of the sampled sets; `None` if it was by a write-back.
    fills: Vec<Option<Fill>>,
}

/// Fill of a line, and its outcome.
#[derive(Clone, Copy)]
struct Fill {
    signature: u16,
    used: bool,
}

impl Ship {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let settings = ShipSettings::take(params, geometry)?;
        let sampled = Sampled::spread(geometry.sets, settings.sampled);
        Ok(Self {
            geometry,
            settings,
            shct: vec![1; 1 << settings.signature],
            rrpvs: vec![0; geometry.lines()],
            fills: vec![None; sampled.len() * geometry.ways],
            sampled,
        })
    }

    /// Returns the highest RRPV, of a line that is not expected to be used again.
    fn distant(&self) -> u8 {
        (1 << self.settings.rrpv) - 1
    }

    #[inline]
    fn fill_of(&mut self, place: Place) -> Option<&mut Option<Fill>> {
        let sample = self.sampled.number(place.set)?;
        self.fills.get_mut(sample * self.geometry.ways + place.way)
    }

    /// Replaces the fill of a place: the table learns from the outcome of the old line.
    fn replace(&mut self, place: Place, new: Option<Fill>) {
        let Some(fill) = self.fill_of(place) else {
            return;
        };
        if let Some(old) = std::mem::replace(fill, new)
            && !old.used
        {
            let counter = &mut self.shct[usize::from(old.signature)];
            *counter = counter.saturating_sub(1);
        }
    }
}

impl LlcPolicy for Ship {
    fn hit(&mut self, place: Place, request: &Request) {
        if request.kind.writes() {
            return;
        }
        self.rrpvs[place.index(self.geometry)] = 0;
        if let Some(Some(fill)) = self.fill_of(place) {
            fill.used = true;
            let signature = usize::from(fill.signature);
            let most = (1 << self.settings.counter) - 1;
            self.shct[signature] = most.min(self.shct[signature] + 1);
        }
    }

    fn choose(&mut self, set: usize, _: u64, _: &Request) -> Choice {
        let distant = self.distant();
        let ways = self.geometry.ways;
        let rrpvs = &mut self.rrpvs[set * ways..][..ways];
        let ways = (0..ways).rev();
        let victim = ways.max_by_key(|&way| rrpvs[way]).unwrap_or_default();
        // All values rise until the highest one is distant.
        let rise = distant - rrpvs[victim];
        for rrpv in rrpvs {
            *rrpv += rise;
        }
        Choice::Evict(victim)
    }

    fn fill(&mut self, place: Place, request: &Request) {
        let by_write_back = request.kind.writes();
        let signature = signature(request, self.settings.signature);
        let fill = Fill {
            signature: signature as u16,
            used: false,
        };
        self.replace(place, (!by_write_back).then_some(fill));
        let unused = !by_write_back && self.shct[signature] == 0;
        self.rrpvs[place.index(self.geometry)] = self.distant() - u8::from(!unused);
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    /// A line that was hit here comes back as its hit left it, but for its signature, which is that
    /// of the hit.
    fn insert(&mut self, place: Place, request: &Request, victim: Victim) {
        self.fill(place, request);
        if victim.reused {
            self.rrpvs[place.index(self.geometry)] = 0;
        }
    }

    /// The table, an RRPV for each line, and the signature and outcome of the lines of sampled
    /// sets.
    fn storage_bits(&self) -> u64 {
        let table = self.shct.len() as u64 * u64::from(self.settings.counter);
        let rrpvs = self.rrpvs.len() as u64 * u64::from(self.settings.rrpv);
        table + rrpvs + self.fills.len() as u64 * u64::from(self.settings.signature + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::{Step, run};

    const GEOMETRY: Geometry = Geometry { sets: 1, ways: 2 };

    fn ship(geometry: Geometry, text: &str) -> Ship {
        Ship::new(geometry, &mut Params::parse(text).unwrap()).unwrap()
    }

    /// One instruction brings in lines that are used again, another scans. From its second line on
    /// the scan only evicts itself; SRRIP alone would lose the others.
    #[test]
    fn a_scan_evicts_itself() {
        let steps = [
            // Both have RRPV 2, and then 1 has 0.
            Step::load(1, 0xA).fills(),
            Step::load(1, 0xA).hits(),
            Step::load(2, 0xB).fills(),
            // 2 rises to 3 and is evicted unused: the counter of 0xB is 0. Line 1 has 1 now.
            Step::load(3, 0xB).evicts(2),
            // 3 came in with RRPV 3: no value has to rise.
            Step::load(4, 0xB).evicts(3),
            Step::load(5, 0xB).evicts(4),
            Step::load(1, 0xA).hits(),
        ];
        run(GEOMETRY, Box::new(ship(GEOMETRY, "")), &steps);
    }

    #[test]
    fn write_backs_teach_nothing_and_keep_nothing_alive() {
        let steps = [
            Step::write_back(1).fills(),
            Step::load(2, 0xA).fills(),
            Step::write_back(1).hits(),
            // Both still have RRPV 2: the first goes.
            Step::load(3, 0xA).evicts_dirty(1),
            // 2 has 3 by now, and is unused: the counter of 0xA falls to 0.
            Step::load(4, 0xB).evicts(2),
        ];
        run(GEOMETRY, Box::new(ship(GEOMETRY, "")), &steps);
    }

    #[test]
    fn storage_is_the_table_and_what_lines_remember() {
        let geometry = Geometry {
            sets: 2048,
            ways: 16,
        };
        let kb = |text| ship(geometry, text).storage_bits() as f64 / 8192.0;
        assert_eq!(kb(""), 6.0 + 8.0 + 60.0);
        assert_eq!(kb("sampled=64,counter=2"), 4.0 + 8.0 + 1.875);
    }
}
