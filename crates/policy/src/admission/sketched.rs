//! Estimates of how often pages were read of late, in a fixed memory.
//!
//! A count-min sketch with conservative update (Estan and Varghese, SIGCOMM 2002, section 3.2.3),
//! whose counters are halved after a number of reads (Einziger, Friedman and Manes, "TinyLFU: a
//! highly efficient cache admission policy", ACM Transactions on Storage 2017, section 3.3). An
//! estimate is never below the number of reads, halved likewise, and above it only where other
//! pages share all counters of a page.

/// The largest estimate: counters have four bits.
pub const MOST: u8 = 15;

/// Counters of a page.
const ROWS: u64 = 4;
/// Counters for each read of a sample: of pages that all differ, less than one of a thousand is
/// then taken for one that was read twice, so that a pass over ten times the flash writes less than
/// a hundredth of it.
const COUNTERS_A_READ: u64 = 16;
/// Counters at least, so that small tables are exact.
const LEAST_COUNTERS: u64 = 1 << 12;
/// Reads of a sample at most: 256 MiB of counters.
const LONGEST_SAMPLE: u64 = 1 << 25;
/// Counters in a word.
const IN_A_WORD: u64 = 16;

/// The estimates.
pub(super) struct Sketch {
    words: Vec<u64>,
    /// Reads after which counters are halved.
    sample: u64,
    /// Reads since they were.
    reads: u64,
}

impl Sketch {
    /// Makes one that halves its counters after so many reads.
    pub(super) fn new(sample: u64) -> Self {
        let sample = sample.clamp(1, LONGEST_SAMPLE);
        let counters = (sample * COUNTERS_A_READ).max(LEAST_COUNTERS);
        let words = counters.next_power_of_two() / IN_A_WORD;
        Self {
            words: vec![0; words as usize],
            sample,
            reads: 0,
        }
    }

    /// Counts a read of a page.
    pub(super) fn count(&mut self, page: u64) {
        let counters = self.counters(page);
        let least = self.least(counters);
        if least < MOST {
            for counter in counters {
                if self.value(counter) == least {
                    self.words[(counter / IN_A_WORD) as usize] += 1 << shift(counter);
                }
            }
        }
        self.reads += 1;
        if self.reads == self.sample {
            self.reads = 0;
            self.words.iter_mut().for_each(|word| *word = halved(*word));
        }
    }

    /// Returns the estimate of a page's reads.
    pub(super) fn estimate(&self, page: u64) -> u8 {
        self.least(self.counters(page))
    }

    fn least(&self, counters: [u64; ROWS as usize]) -> u8 {
        let values = counters.map(|counter| self.value(counter));
        values.into_iter().min().unwrap_or(0)
    }

    fn value(&self, counter: u64) -> u8 {
        let word = self.words[(counter / IN_A_WORD) as usize];
        (word >> shift(counter)) as u8 & MOST
    }

    /// Returns the counters of a page. Two of them may be the same one, if the table is small.
    fn counters(&self, page: u64) -> [u64; ROWS as usize] {
        let mask = self.words.len() as u64 * IN_A_WORD - 1;
        let hash = mixed(page);
        let step = mixed(hash) | 1;
        std::array::from_fn(|row| hash.wrapping_add(step.wrapping_mul(row as u64)) & mask)
    }
}

fn shift(counter: u64) -> u32 {
    4 * (counter % IN_A_WORD) as u32
}

/// Halves all counters of a word: what is shifted into the highest bit of each is not its own.
fn halved(word: u64) -> u64 {
    (word >> 1) & 0x7777_7777_7777_7777
}

/// Mixes all bits (the finalizer of SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Counts by page, halved one by one, are the twin: the table is large enough for thirty
        /// pages.
        #[test]
        fn few_pages_are_counted_exactly(
            sample in 1..60_u64, pages in prop::collection::vec(0..30_u64, 0..400),
        ) {
            let mut sketch = Sketch::new(sample);
            let mut slow: HashMap<u64, u8> = HashMap::new();
            for (at, page) in pages.iter().enumerate() {
                sketch.count(*page);
                let count = slow.entry(*page).or_default();
                *count = (*count + 1).min(MOST);
                if (at as u64 + 1).is_multiple_of(sample) {
                    slow.values_mut().for_each(|count| *count /= 2);
                }
                for page in 0..30 {
                    let count = slow.get(&page).copied().unwrap_or(0);
                    prop_assert_eq!(sketch.estimate(page), count);
                }
            }
        }
    }

    #[test]
    fn pages_that_all_differ_are_seldom_taken_for_others() {
        let sample = 1 << 17;
        let mut sketch = Sketch::new(sample);
        let mut wrong = 0;
        for page in 0..10 * sample {
            sketch.count(page);
            wrong += u64::from(sketch.estimate(page) > 1);
        }
        let share = wrong as f64 / (10 * sample) as f64;
        assert!(share < 0.001, "{share}");
    }

    #[test]
    fn an_estimate_is_never_too_low() {
        let mut sketch = Sketch::new(1 << 20);
        for page in 0..1 << 12 {
            for _ in 0..=page % 20 {
                sketch.count(page);
            }
        }
        for page in 0..1 << 12 {
            let reads = (page % 20 + 1) as u8;
            assert!(sketch.estimate(page) >= reads.min(MOST), "{page}");
        }
    }
}
