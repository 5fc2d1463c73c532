//! A walk over an array from end to end, again and again.
//!
//! `for (;;) for (i = 0; i < n; i++) sum += a[i];` or, now and then, `a[i] = sum`.
//!
//! Four instructions an access of 8 bytes: the access, an addition, and the loop's two.

use terrace_base::Result;

use super::kernel::{KernelSettings, MAX_FOOTPRINT, generated};
use super::log::{Heap, Log};
use super::random::Random;
use crate::source::Source;

const WORD: u64 = 8;

/// A walk over an array from end to end, again and again, 8 bytes at a time
///
/// Every prefetcher foresees it, and LRU keeps it worst: if the array is one byte larger than the
/// memory, every page is evicted before its next use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
pub struct Sequential {
    /// How many of a hundred accesses store, drawn at random
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = terrace_base::count::whole(0..=100_u8)))]
    pub writes: u8,
}

impl Sequential {
    /// Returns the trace.
    ///
    /// # Errors
    /// Returns a usage error if the footprint is smaller than an element or absurdly large.
    pub fn source(&self, settings: &KernelSettings) -> Result<Box<dyn Source>> {
        settings.check(WORD, MAX_FOOTPRINT)?;
        let words = settings.footprint.0 / WORD;
        let (array, writes) = (Heap::new().array(words * WORD), self.writes);
        let mut random = Random::new(settings.seed);
        let mut next = 0;
        let step = move |log: &mut Log| {
            log.access(random.percent(writes), array + next * WORD, WORD);
            log.work(3);
            next += 1;
            if next == words {
                next = 0;
            }
            true
        };
        let options = [("writes-percent", writes.to_string())];
        Ok(generated("sequential", settings, &options, step))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{HEAP, accesses, settings, touches};
    use super::*;

    #[test]
    fn from_end_to_end_and_again() {
        let trace = Sequential { writes: 0 }.source(&settings(5, 31, 0));
        let words = [0, 8, 16, 0, 8];
        let expected: Vec<_> = words.iter().map(|o| (HEAP + o, 8, false)).collect();
        assert_eq!(touches(trace.unwrap()), expected);
    }

    #[test]
    fn so_many_store() {
        let trace = Sequential { writes: 25 }.source(&settings(10_000, 4096, 0));
        let stores = accesses(trace.unwrap()).iter().filter(|a| a.write).count();
        // Five standard deviations of a binomial of 10 000 and 1/4 are 217.
        assert!((2283..2717).contains(&stores), "{stores}");
    }
}
