//! `dblk`: evicts lines that are dead after the last instruction that touched them.
//!
//! Sampling dead block prediction (Khan, Tian and Jimenez, MICRO 2010). A sampler keeps partial
//! tags of a few sets. When one of its entries is touched again, the instruction that touched it
//! before did not leave it dead; when one is evicted, it did. Three skewed tables of counters learn
//! from that, and an instruction whose counters reach the threshold leaves lines dead. The cache
//! itself is LRU: of a set's dead lines the least recent is evicted, and the least recent of all if
//! none is dead. A line that would be dead on arrival bypasses a full set.
//!
//! From the paper: 32 sampled sets with 12 entries, tags and instructions of 15 bits each, three
//! tables of 4096 counters of 2 bits, a threshold of 8. Its sets lie at equal distances, these
//! nearly so (`sampled.rs`). The following could not be checked: the hash, which of several dead
//! lines is evicted, and whether counters go down by one, as here; the authors' entry to the
//! championship of 2010 evicts the first dead line and halves the counters of every other table.
//!
//! Write-backs have no instruction: they do not touch the sampler, always fill, as lines that are
//! not dead, and move a line to the front of the LRU order like any hit, but a dead line stays
//! dead. Loads and stores are treated alike.

mod sampler;

use self::sampler::Sampler;
use super::signature::signature;
use super::skewed::Skewed;
use super::{Choice, Entry, Geometry, LlcPolicy, Make, Place, Recency, Request, Sampled};
use crate::params::{ON_OFF, Params};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "dblk",
    summary: "sampling dead block prediction: evicts and bypasses what an instruction leaves dead (Khan et al. 2010)",
    paper: "Khan, Tian and Jimenez, Sampling Dead Block Prediction, MICRO 2010",
    when: "Programs whose instructions distinguish dead lines from live ones; as a peer of ARI in Fedorov 2016, ch. 2.",
    evidence: crate::registry::Evidence {
        open: "Not checked: the hash, which dead line goes first, and the step of counters.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make::ByInstruction(&|geometry, params, _| Ok(Box::new(Dblk::new(geometry, params)?))),
};

/// Bits of an instruction's signature.
const SIGNATURE_BITS: u32 = 15;

settings! {
    /// Settings of `dblk`.
    pub struct DblkSettings {
        /// sampled sets
        sampled: usize = 32, 1..=usize::MAX;
        /// entries of a sampled set
        entries: usize = 12, 1..=64;
        /// sum of counters from which a line is taken for dead
        threshold: u8 = 8, 1..=Skewed::MOST;
        /// whether lines that would be dead on arrival pass by
        bypass: bool = true, ON_OFF;
    }
}

/// The `dblk` policy.
pub struct Dblk {
    geometry: Geometry,
    recency: Recency,
    /// Dead ways of each set, as bits.
    dead: Vec<u64>,
    sampled: Sampled,
    sampler: Sampler,
    predictor: Skewed,
    bypass: bool,
}

impl Dblk {
    /// Makes the policy for a cache of this shape.
    ///
    /// # Errors
    /// Returns a message if a setting has a wrong value.
    pub fn new(geometry: Geometry, params: &mut Params) -> Result<Self, String> {
        let settings = DblkSettings::take(params)?;
        let sampled = Sampled::spread(geometry.sets, settings.sampled);
        Ok(Self {
            geometry,
            recency: Recency::new(geometry),
            dead: vec![0; geometry.sets],
            sampler: Sampler::new(sampled.len(), settings.entries),
            predictor: Skewed::new(settings.threshold),
            bypass: settings.bypass,
            sampled,
        })
    }

    /// Touches a line, which is dead or alive from now on.
    fn touch(&mut self, place: Place, dead: bool) {
        self.recency.promote(place);
        let bit = 1 << place.way;
        match dead {
            true => self.dead[place.set] |= bit,
            false => self.dead[place.set] &= !bit,
        }
    }

    /// Whether the requested line is dead after the request.
    fn leaves_dead(&self, request: &Request) -> bool {
        !request.kind.writes() && self.predictor.predicts(instruction(request))
    }
}

fn instruction(request: &Request) -> u16 {
    signature(request, SIGNATURE_BITS) as u16
}

impl LlcPolicy for Dblk {
    fn request(&mut self, set: usize, request: &Request) {
        if let Some(sample) = self.sampled.number(set)
            && request.kind.reads()
        {
            let tag = request.line / self.geometry.sets as u64;
            let instruction = instruction(request);
            self.sampler
                .touch(sample, tag, instruction, &mut self.predictor);
        }
    }

    fn hit(&mut self, place: Place, request: &Request) {
        let dead = match request.kind.writes() {
            true => self.dead[place.set] >> place.way & 1 == 1,
            false => self.leaves_dead(request),
        };
        self.touch(place, dead);
    }

    fn choose(&mut self, set: usize, _: u64, request: &Request) -> Choice {
        if self.bypass && self.leaves_dead(request) {
            return Choice::Bypass;
        }
        let dead = self.dead[set];
        let mut ways = self.recency.of(set).rev();
        let first = ways.find(|way| dead >> way & 1 == 1);
        Choice::Evict(first.unwrap_or_else(|| self.recency.last(set)))
    }

    fn fill(&mut self, place: Place, request: &Request) {
        self.touch(place, self.leaves_dead(request));
    }

    fn go_exclusive(&mut self) -> bool {
        true
    }

    fn take(&mut self, place: Place, _: &Request) {
        self.recency.retire(place);
    }

    fn position(&self, place: Place) -> Option<usize> {
        Some(self.recency.position(place))
    }

    /// Dead lines leave first, and then those at the end of the order.
    fn low_hit(&self, place: Place) -> Option<bool> {
        let dead = self.dead[place.set] >> place.way & 1 == 1;
        Some(dead || self.recency.in_last_quarter(place))
    }

    fn bypasses(&self) -> bool {
        self.bypass
    }

    /// The tables, the sampler, and one bit for each line.
    fn storage_bits(&self) -> u64 {
        let sampler = self.sampler.storage_bits(SIGNATURE_BITS);
        self.predictor.storage_bits() + sampler + self.geometry.lines() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::testing::{Step, run};

    fn dblk(geometry: Geometry, text: &str) -> Dblk {
        Dblk::new(geometry, &mut Params::parse(text).unwrap()).unwrap()
    }

    /// A sampler of two entries sees a scan by 0xB evict three of its own lines unused. Then lines
    /// of 0xB pass by, or are the first to go.
    fn steps() -> Vec<Step> {
        vec![
            Step::load(1, 0xB).fills(),
            Step::load(2, 0xB).fills(),
            // The sampler evicts 1, 2 and 3: the counters of 0xB are 1, 2 and 3.
            Step::load(3, 0xB).evicts(1),
            Step::load(4, 0xB).evicts(2),
            Step::load(5, 0xB).bypasses(),
        ]
    }

    #[test]
    fn what_is_dead_on_arrival_passes_by() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let mut steps = steps();
        steps.extend([
            // 0xA is not known, and nothing is dead: lines 3 and 4 came before 0xB was.
            Step::load(6, 0xA).evicts(3),
            // Write-backs never pass by.
            Step::write_back(7).evicts(4),
            // 0xB touches 6, which is dead then and goes before 7.
            Step::load(6, 0xB).hits(),
            Step::load(8, 0xA).evicts(6),
        ]);
        run(geometry, Box::new(dblk(geometry, "entries=2")), &steps);
    }

    #[test]
    fn without_bypassing_dead_lines_go_first() {
        let geometry = Geometry { sets: 1, ways: 2 };
        let mut steps = steps();
        steps.pop();
        steps.extend([
            Step::load(5, 0xB).evicts(3),
            // 4 is less recent, 5 is dead.
            Step::load(6, 0xA).evicts(5),
        ]);
        let policy = dblk(geometry, "entries=2,bypass=off");
        run(geometry, Box::new(policy), &steps);
    }

    #[test]
    fn what_is_dead_or_in_the_last_quarter_is_low_hit() {
        let geometry = Geometry { sets: 1, ways: 4 };
        let mut policy = dblk(geometry, "");
        let place = |way| Place { set: 0, way };
        (0..4).for_each(|way| policy.touch(place(way), way == 2));
        let low = (0..4).filter(|way| policy.low_hit(place(*way)) == Some(true));
        assert!(low.eq([0, 2]));
    }

    #[test]
    fn storage_is_the_tables_the_sampler_and_a_bit_a_line() {
        let geometry = Geometry {
            sets: 2048,
            ways: 16,
        };
        let sampler = 32 * 12 * (15 + 15 + 1 + 1 + 4);
        let bits = dblk(geometry, "").storage_bits();
        assert_eq!(bits, 3 * 8192 + sampler + 32_768);
    }
}
