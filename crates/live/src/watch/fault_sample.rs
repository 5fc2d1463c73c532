//! A sample of the major faults of a run, for its picture: of bounded size, spread evenly over all
//! of them.
//!
//! Faults are counted in blocks of equal length, and one fault of each block is kept, at random: a
//! fixed one would follow programs whose faults repeat with the length of a block. When the sample
//! is full, one of every two neighbours is kept, at random again, and blocks become twice as long.
//! So each fault is in the sample with the same probability, and no stretch of the run is without
//! its share.

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

/// The times for which faults were watched: all together exactly, and when, with periods that are
/// close together as one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Periods {
    /// Beginnings and ends, since the faults were first watched.
    periods: Vec<(Duration, Duration)>,
    /// All of it.
    pub time: Duration,
    /// Time from the first beginning to the end.
    pub of: Duration,
}

impl Periods {
    /// Periods that are kept at most.
    const MOST: usize = 64;

    /// Adds a period behind all others.
    pub fn add(&mut self, from: Duration, to: Duration) {
        self.time += to.saturating_sub(from);
        self.of = to;
        self.periods.push((from, to));
        if self.periods.len() > Self::MOST {
            self.join();
        }
    }

    /// Joins the two periods with the least time between them.
    fn join(&mut self) {
        let between = |index: &usize| self.periods[index + 1].0 - self.periods[*index].1;
        if let Some(first) = (0..self.periods.len() - 1).min_by_key(between) {
            self.periods[first].1 = self.periods[first + 1].1;
            self.periods.remove(first + 1);
        }
    }

    /// Returns when faults were watched, in at most so many periods, and at least one.
    pub fn joined(mut self, most: usize) -> Vec<(Duration, Duration)> {
        while self.periods.len() > most.max(1) {
            self.join();
        }
        self.periods
    }

    /// Returns the share of the time for which faults were watched.
    pub fn share(&self) -> f64 {
        match self.of.is_zero() {
            true => 1.0,
            false => self.time.as_secs_f64() / self.of.as_secs_f64(),
        }
    }
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
    watched: Periods,
    /// When the present period of watching began; `None` while nothing is watched.
    since: Option<Duration>,
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
            watched: Periods::default(),
            since: Some(Duration::ZERO),
        }
    }

    /// Counts times from the start of the program, which was so long before faults were first
    /// watched.
    pub fn started_before(&mut self, by: Duration) {
        self.began = self.began.saturating_sub(by.as_nanos() as u64);
        self.since = self.since.map(|since| since + by);
        self.kept.iter_mut().for_each(|fault| fault.time += by);
    }

    /// Notes that faults are watched or not from `nanos` on.
    pub fn watch(&mut self, on: bool, nanos: u64) {
        let now = Duration::from_nanos(nanos.saturating_sub(self.began));
        match (self.since, on) {
            (Some(since), false) => {
                self.watched.add(since, now);
                self.since = None;
            }
            (None, true) => self.since = Some(now),
            _ => {}
        }
    }

    /// Returns when faults were watched until `nanos`.
    pub fn watched(&self, nanos: u64) -> Periods {
        let now = Duration::from_nanos(nanos.saturating_sub(self.began));
        let mut watched = self.watched.clone();
        if let Some(since) = self.since {
            watched.add(since, now);
        }
        watched.of = now;
        watched
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

    /// Returns the number of faults that the sample stands for.
    pub fn seen(&self) -> u64 {
        self.seen
    }
}

#[cfg(test)]
mod tests {
    use terrace_policy::{Page, Space};

    use super::*;

    /// Returns the sample of `count` faults; the page of a fault is its number.
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
    fn when_faults_were_watched_is_known() {
        let millis = |millis: u64| 5 + millis * 1_000_000;
        let ms = Duration::from_millis;
        let mut sample = FaultSample::new(5);
        sample.watch(true, millis(1));
        sample.watch(false, millis(100));
        sample.watch(false, millis(150));
        for at in [200, 220, 230, 250]
            .chunks(2)
            .flatten()
            .zip([true, false].iter().cycle())
        {
            sample.watch(*at.1, millis(*at.0));
        }
        sample.watch(true, millis(900));
        let watched = sample.watched(millis(1000));
        assert_eq!((watched.time, watched.of), (ms(240), ms(1000)));
        assert!((watched.share() - 0.24).abs() < 1e-9);
        assert_eq!(
            watched.joined(3),
            [(ms(0), ms(100)), (ms(200), ms(250)), (ms(900), ms(1000))],
            "the closest two are one"
        );
        assert_eq!(Periods::default().share().to_bits(), 1.0_f64.to_bits());

        let mut many = Periods::default();
        for period in 0..1000 {
            many.add(ms(10 * period), ms(10 * period + 1));
        }
        assert_eq!((many.time, many.periods.len()), (ms(1000), Periods::MOST));
    }

    #[test]
    fn times_are_those_since_the_start_of_the_program() {
        let mut sample = FaultSample::new(10_000_000_000);
        let at = |number| Location::new(Space(1), Page(number));
        sample.add(10_500_000_000, at(1));
        sample.started_before(Duration::from_secs(9));
        sample.add(11_000_000_000, at(2));
        let times: Vec<_> = sample
            .kept()
            .iter()
            .map(|fault| fault.time.as_millis())
            .collect();
        assert_eq!(times, [9500, 10_000]);
        let watched = sample.watched(19_000_000_000);
        assert_eq!((watched.time.as_secs(), watched.of.as_secs()), (9, 18));
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
