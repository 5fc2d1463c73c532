//! A sample of the major faults of a run, for its picture: of bounded size, spread evenly over all of
//! them.
//!
//! Faults are counted in blocks of equal length, and one fault of each block is kept, at random: a fixed
//! one would follow programs whose faults repeat with the length of a block. When the sample is full,
//! one of every two neighbours is kept, at random again, and blocks become twice as long. So each fault
//! is in the sample with the same probability, and no stretch of the run is without its share.

use std::time::Duration;

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::Location;

/// Faults that are kept at most: an even number.
pub const MOST: usize = 4096;

/// A fault of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampledFault {
    /// Time since the faults were first watched.
    pub time: Duration,
    /// Process and page.
    pub at: Location,
}

/// The sample so far.
#[derive(Debug)]
pub struct FaultSample {
    /// When the faults were first watched, by the clock of their times, in nanoseconds.
    began: u64,
    kept: Vec<SampledFault>,
    /// Faults in a block, a power of two.
    block: u64,
    /// Faults so far.
    seen: u64,
    /// Number of the fault that is kept next.
    next: u64,
    random: SplitMix64,
}

impl FaultSample {
    /// Makes an empty sample of faults from `began` on, in nanoseconds of any clock.
    pub fn new(began: u64) -> Self {
        Self {
            began,
            kept: Vec::new(),
            block: 1,
            seen: 0,
            next: 0,
            random: SplitMix64::seed_from_u64(4),
        }
    }

    /// Adds the next fault of the run, at `nanos` of the same clock.
    pub fn add(&mut self, nanos: u64, at: Location) {
        let number = self.seen;
        self.seen += 1;
        if number == self.next {
            let time = Duration::from_nanos(nanos.saturating_sub(self.began));
            self.keep(SampledFault { time, at });
        }
    }

    fn keep(&mut self, fault: SampledFault) {
        self.kept.push(fault);
        let blocks = match self.kept.len() {
            MOST => self.thin(),
            blocks => blocks,
        };
        self.next = blocks as u64 * self.block + self.random.next_u64() % self.block;
    }

    /// Keeps one of every two faults; returns the number of those that are left.
    fn thin(&mut self) -> usize {
        for index in 0..MOST / 2 {
            let one = (self.random.next_u64() & 1) as usize;
            self.kept[index] = self.kept[2 * index + one];
        }
        self.kept.truncate(MOST / 2);
        self.block *= 2;
        MOST / 2
    }

    /// Returns the faults of the sample, in their order.
    pub fn kept(&self) -> &[SampledFault] {
        &self.kept
    }

    /// Returns the number of faults of which this is a sample.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use terrace_policy::{Page, Space};

    use super::*;

    /// Returns the sample of `count` faults, the page of each of which is its number.
    fn sample(count: u64) -> FaultSample {
        let mut sample = FaultSample::new(5);
        for number in 0..count {
            sample.add(5 + number, Location::new(Space(1), Page(number)));
        }
        sample
    }

    fn pages(sample: &FaultSample) -> Vec<u64> {
        sample.kept().iter().map(|fault| fault.at.page.0).collect()
    }

    #[test]
    fn of_few_faults_none_is_left_out() {
        let few = MOST as u64 - 1;
        let sample = sample(few);
        assert_eq!(pages(&sample), (0..few).collect::<Vec<_>>());
        assert_eq!(sample.kept()[7].time, Duration::from_nanos(7));
    }

    #[test]
    fn of_many_faults_each_block_has_one() {
        for count in [MOST as u64, 100_000, 1 << 20, 3_000_001] {
            let sample = sample(count);
            let block = sample.block;
            let kept = pages(&sample);
            assert!((MOST / 2..MOST).contains(&kept.len()), "{}", kept.len());
            let blocks: Vec<_> = kept.iter().map(|page| page / block).collect();
            assert_eq!(blocks, (0..kept.len() as u64).collect::<Vec<_>>());
            assert!(count / block <= kept.len() as u64 + 1, "the end is missing");
            assert_eq!(sample.seen(), count);
        }
    }

    #[test]
    fn what_repeats_with_a_block_is_seen_as_a_whole() {
        let mut odd = 0;
        let sample = sample(1 << 20);
        pages(&sample).iter().for_each(|page| odd += page % 2);
        let share = odd as f64 / sample.kept().len() as f64;
        assert!((0.45..0.55).contains(&share), "{share} of them are odd");
    }
}
