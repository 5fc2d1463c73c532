//! A walk over an array from end to end, again and again.
//!
//! `for (;;) for (i = 0; i < n; i++) sum += a[i];` or, now and then, `a[i] = sum`.
//!
//! Four instructions an access of 8 bytes: the access, an addition, and the loop's two.

use terrace_base::Result;
#[cfg(feature = "clap")]
use terrace_base::count::whole;

use super::kernel::{Kernel, KernelSettings, MAX_FOOTPRINT, generated};
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
    #[cfg_attr(feature = "clap", arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = whole(0..=100_u8)))]
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
        let walk = Walk {
            array: Heap::new().array(words * WORD),
            words,
            next: 0,
            writes: self.writes,
            random: Random::new(settings.seed),
        };
        let options = [("writes-percent", self.writes.to_string())];
        Ok(generated("sequential", settings, &options, walk))
    }
}

struct Walk {
    array: u64,
    words: u64,
    next: u64,
    writes: u8,
    random: Random,
}

impl Kernel for Walk {
    fn step(&mut self, log: &mut Log) -> bool {
        let address = self.array + self.next * WORD;
        log.access(self.random.percent(self.writes), address, WORD);
        log.work(3);
        self.next += 1;
        if self.next == self.words {
            self.next = 0;
        }
        true
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
