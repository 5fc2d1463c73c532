//! A hash join: a table is built of one relation and probed with another.
//!
//! R joined with S without partitioning (Blanas, Li and Patel, Design and evaluation of main memory
//! hash join algorithms for multi-core CPUs, SIGMOD 2011), the table with open addressing and
//! linear probing, half full when built. Tuples have a key and a payload of 8 bytes each. R's keys
//! are all different and in random order; each tuple of S has one partner in R, all equally likely.
//! Both payloads of every pair are written out.
//!
//! Building takes 10 instructions a tuple and 4 a slot looked at; probing 12 and 4. It ends with
//! the join.

use terrace_base::{Error, Result};

use super::kernel::{KernelSettings, MAX_BUILT, generated, zeroed};
use super::log::{Heap, Log};
use super::permutation::Permutation;
use super::random::Random;
use crate::source::Source;

const FIELD: u64 = 8;
/// A key and a payload.
const TUPLE: u64 = 2 * FIELD;
/// The table is half full.
const SLOTS_A_TUPLE: u64 = 2;

/// A hash join: a table is built of one relation and probed with another
///
/// The relations are read and the result is written from end to end, the hash table at random. The
/// trace ends with the join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Join {
    /// Probing tuples for each in the table
    #[cfg_attr(feature = "clap", arg(long, value_name = "N", default_value_t = 4, value_parser = terrace_base::count::whole(0..=u64::MAX)))]
    pub probes: u64,
}

impl Join {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if S is empty or the footprint is too small or too large, and a
    /// failure if there is no memory for the table.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        if !(1..=1 << 20).contains(&self.probes) {
            return Err(Error::usage(format!(
                "{} probing tuples for each in the table are no join to try; give 1 to 1048576",
                self.probes
            )));
        }
        let bytes = (1 + SLOTS_A_TUPLE + 2 * self.probes) * TUPLE;
        settings.check(bytes, MAX_BUILT)?;
        let tuples = settings.footprint.0 / bytes;
        let mut heap = Heap::new();
        let mut random = Random::new(settings.seed);
        let mut relations = Relations {
            r: heap.array(tuples * TUPLE),
            table: heap.array(tuples * SLOTS_A_TUPLE * TUPLE),
            s: heap.array(tuples * self.probes * TUPLE),
            out: heap.array(tuples * self.probes * TUPLE),
            tuples,
            probes: tuples * self.probes,
            order: Permutation::new(tuples, &mut random),
            random,
            slots: zeroed(tuples * SLOTS_A_TUPLE)?,
            built: 0,
            probed: 0,
        };
        let options = [
            ("build-tuples", tuples.to_string()),
            ("probe-tuples", relations.probes.to_string()),
        ];
        let step = move |log: &mut Log| relations.step(log);
        Ok(generated("join", settings, &options, step))
    }
}

struct Relations {
    r: u64,
    table: u64,
    s: u64,
    out: u64,
    tuples: u64,
    probes: u64,
    order: Permutation,
    random: Random,
    /// The key in each slot, 0 where it is empty.
    slots: Vec<u32>,
    built: u64,
    probed: u64,
}

impl Relations {
    fn step(&mut self, log: &mut Log) -> bool {
        if self.built < self.tuples {
            self.build(log);
        } else if self.probed < self.probes {
            self.probe(log);
        } else {
            return false;
        }
        true
    }
}

impl Relations {
    fn build(&mut self, log: &mut Log) {
        let tuple = self.r + self.built * TUPLE;
        let key = self.order.at(self.built) as u32 + 1;
        log.load(0, tuple, FIELD);
        log.load(1, tuple + FIELD, FIELD);
        log.work(4);
        let slot = self.find(key, 0, 2, log);
        self.slots[slot as usize] = key;
        let slot = self.table + slot * TUPLE;
        log.store(3, slot, FIELD);
        log.store(4, slot + FIELD, FIELD);
        log.work(2);
        self.built += 1;
    }

    fn probe(&mut self, log: &mut Log) {
        let tuple = self.s + self.probed * TUPLE;
        let key = self.random.below(self.tuples) as u32 + 1;
        log.load(5, tuple, FIELD);
        log.load(6, tuple + FIELD, FIELD);
        log.work(4);
        let slot = self.find(key, key, 7, log);
        let out = self.out + self.probed * TUPLE;
        log.load(8, self.table + slot * TUPLE + FIELD, FIELD);
        log.store(9, out, FIELD);
        log.store(10, out + FIELD, FIELD);
        log.work(3);
        self.probed += 1;
    }

    /// Looks at slots from where `key` belongs until one holds `wanted`, and says which.
    fn find(&self, key: u32, wanted: u32, ip: u64, log: &mut Log) -> u64 {
        let slots = self.slots.len() as u64;
        let mut slot = home(key, slots);
        loop {
            log.load(ip, self.table + slot * TUPLE, FIELD);
            log.work(3);
            if self.slots[slot as usize] == wanted {
                return slot;
            }
            slot = (slot + 1) % slots;
        }
    }
}

/// The slot where the search for `key` begins: the mixing function of SplitMix64, spread over all.
fn home(key: u32, slots: u64) -> u64 {
    let mut hash = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^= hash >> 31;
    ((u128::from(hash) * u128::from(slots)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, Touch, Twin, behind, settings, touches};
    use super::*;

    /// A join with real tables, told only R's and S's keys.
    fn twin(r_keys: &[u64], s_keys: &[u64]) -> Vec<Touch> {
        let slots = 2 * r_keys.len() as u64;
        let r = HEAP;
        let table = behind(r, r_keys.len() as u64 * 16);
        let s = behind(table, slots * 16);
        let out = behind(s, s_keys.len() as u64 * 16);
        let mut filled: Vec<Option<u64>> = vec![None; slots as usize];
        let mut log = Twin::default();
        for (tuple, key) in (0..).zip(r_keys) {
            log.load(r + tuple * 16, 8);
            log.load(r + tuple * 16 + 8, 8);
            let mut slot = home(*key as u32, slots);
            log.load(table + slot * 16, 8);
            while filled[slot as usize].is_some() {
                slot = (slot + 1) % slots;
                log.load(table + slot * 16, 8);
            }
            filled[slot as usize] = Some(*key);
            log.store(table + slot * 16, 8);
            log.store(table + slot * 16 + 8, 8);
        }
        for (tuple, key) in (0..).zip(s_keys) {
            log.load(s + tuple * 16, 8);
            log.load(s + tuple * 16 + 8, 8);
            let mut slot = home(*key as u32, slots);
            log.load(table + slot * 16, 8);
            while filled[slot as usize] != Some(*key) {
                slot = (slot + 1) % slots;
                log.load(table + slot * 16, 8);
            }
            log.load(table + slot * 16 + 8, 8);
            log.store(out + tuple * 16, 8);
            log.store(out + tuple * 16 + 8, 8);
        }
        log.0
    }

    #[test]
    fn as_a_real_join_does_it() {
        for (tuples, probes) in [(1, 1), (2, 3), (1000, 2)] {
            let footprint = tuples * (3 + 2 * probes) * 16;
            let settings = settings(u64::MAX, footprint, 9);
            let mut random = Random::new(9);
            let order = Permutation::new(tuples, &mut random);
            let r: Vec<u64> = (0..tuples).map(|i| order.at(i) + 1).collect();
            let s: Vec<u64> = (0..tuples * probes)
                .map(|_| random.below(tuples) + 1)
                .collect();
            assert_eq!(
                touches(Join { probes }.source(&settings).unwrap()),
                twin(&r, &s)
            );
        }
    }

    /// Knuth's linear probing at a load of 1/2: 1.5 slots a hit on the average.
    #[test]
    fn chains_are_as_long_as_theory_has_them() {
        let (tuples, probes) = (100_000, 4);
        let settings = settings(u64::MAX, tuples * (3 + 2 * probes) * 16, 2);
        let trace = touches(Join { probes }.source(&settings).unwrap());
        let table = behind(HEAP, tuples * 16);
        let keys = table..table + tuples * 2 * 16;
        let probing = &trace[trace.len() - (5.5 * 400_000.0) as usize..];
        let looked = probing
            .iter()
            .filter(|t| keys.contains(&t.0) && t.0 % 16 == 0)
            .count();
        let hits = probing.iter().filter(|t| t.2).count() / 2;
        let slots = looked as f64 / hits as f64;
        assert!((1.45..1.55).contains(&slots), "{slots}");
    }

    #[test]
    fn numbers_of_probes_that_are_none() {
        for probes in [0, u64::MAX] {
            let error = Join { probes }.source(&settings(1, 1 << 20, 0)).err();
            assert!(error.unwrap().to_string().contains("no join to try"));
        }
    }
}
