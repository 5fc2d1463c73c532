//! Random updates of a table: HPC Challenge's RandomAccess, in giga-updates per second.
//!
//! `for (;;) table[random()] ^= random();`
//!
//! Ten instructions an update: the load, the store, the exclusive or, and seven for the next random
//! number and the loop. Unlike the benchmark's, the numbers are independent of each other.

use terrace_base::Result;

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use super::random::Random;
use crate::source::Source;

const WORD: u64 = 8;

/// Random updates of a table, as in HPC Challenge's RandomAccess
///
/// Each update loads a random word and stores it. Nothing can be foreseen, and every page gets
/// dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Gups;

impl Gups {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the footprint is smaller than a word or absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(WORD, MAX_FOOTPRINT)?;
        let words = settings.footprint.0 / WORD;
        let table = Heap::new().array(words * WORD);
        let mut random = Random::new(settings.seed);
        let step = move |log: &mut Log| {
            let address = table + random.below(words) * WORD;
            log.work(7);
            log.load(0, address, WORD);
            log.work(1);
            log.store(1, address, WORD);
            true
        };
        Ok(generated("gups", settings, &[], step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, settings, touches};
    use super::*;

    #[test]
    fn each_word_is_loaded_and_stored() {
        let trace = touches(Gups.source(&settings(16_000, 64, 1)).unwrap());
        let mut counts = [0; 8];
        for update in trace.chunks(2) {
            let address = update[0].0;
            assert_eq!(update, [(address, 8, false), (address, 8, true)]);
            counts[((address - HEAP) / 8) as usize] += 1;
        }
        // Five standard deviations of a binomial of 8000 and 1/8 are 148.
        assert!(counts.iter().all(|n| (852..1148).contains(n)), "{counts:?}");
    }
}
