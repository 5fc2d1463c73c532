//! The curve of a service: how it fared at each size that it had.

use std::time::Duration;

use terrace_base::Bytes;

/// Sizes between most and least.
const LEVELS: u64 = 10;
/// Part of its most memory that a service has to have, so that a look says how much of that it
/// needs in DRAM.
const PART: (u64, u64) = (9, 10);
/// Part of the time for which a level has to be held, so that it can be the answer.
const HELD: u32 = 20;
/// Looks at a level before it says something.
const ENOUGH: usize = 8;

/// A look at a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Time since the look before.
    pub passed: Duration,
    /// Bytes in DRAM.
    pub resident: Bytes,
    /// Bytes in the tier.
    pub swapped: Bytes,
    /// Time in which it stood still, since the look before.
    pub stalled: Duration,
    /// Major faults since the look before.
    pub faults: u64,
    /// Bytes written for it since the look before.
    pub written: Bytes,
}

impl Look {
    /// Share of the time in which it stood still.
    fn slowdown(&self) -> f64 {
        share(self.stalled, self.passed)
    }
}

/// How a figure is spread over the looks of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// A quarter of the looks had no more.
    pub lower: f64,
    /// Half of the looks had no more.
    pub median: f64,
    /// Three quarters of the looks had no more.
    pub upper: f64,
    /// The most of all.
    pub most: f64,
}

/// How a service fared at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    /// DRAM, the mean over time.
    pub dram: Bytes,
    /// Looks.
    pub looks: usize,
    /// Time at that size.
    pub time: Duration,
    /// Share of that time in which it stood still.
    pub slowdown: f64,
    /// That share over its looks.
    pub spread: Spread,
    /// Major faults a second.
    pub faults_per_s: f64,
    /// Bytes written in that time.
    pub written: Bytes,
}

impl Level {
    /// Whether it was there for long enough.
    pub fn is_known(&self) -> bool {
        self.looks >= ENOUGH
    }
}

/// The looks at a service.
#[derive(Clone, Debug, Default)]
pub struct Curve(Vec<Look>);

impl Curve {
    /// Adds a look. One after no time is none.
    pub fn add(&mut self, look: Look) {
        if !look.passed.is_zero() {
            self.0.push(look);
        }
    }

    /// Most memory that it had, in DRAM and tier together.
    pub fn footprint(&self) -> Bytes {
        let both = |look: &Look| Bytes(look.resident.0 + look.swapped.0);
        self.0.iter().map(both).max().unwrap_or_default()
    }

    /// All of it as one level.
    pub fn all(&self) -> Level {
        level(&self.0.iter().collect::<Vec<_>>())
    }

    /// Time in which it was smaller: while it started, as a rule. No level has that in it.
    pub fn smaller(&self) -> Duration {
        let full = self.full().iter().map(|look| look.passed).sum();
        self.all().time.saturating_sub(full)
    }

    /// Returns the looks at which it had nearly all of its memory.
    fn full(&self) -> Vec<&Look> {
        let least = self.footprint().0 / PART.1 * PART.0;
        let looks = self.0.iter();
        looks
            .filter(|look| look.resident.0 + look.swapped.0 >= least)
            .collect()
    }

    /// Returns the levels that were held, from the most DRAM to the least: even steps between both.
    pub fn levels(&self) -> Vec<Level> {
        let looks = self.full();
        let sizes = looks.iter().map(|look| look.resident.0);
        let (Some(most), Some(least)) = (sizes.clone().max(), sizes.min()) else {
            return Vec::new();
        };
        let step = (most - least) / LEVELS + 1;
        let at = |number: u64| {
            let here = looks.iter().copied();
            let here = here.filter(|look| (most - look.resident.0) / step == number);
            level(&here.collect::<Vec<_>>())
        };
        let levels = (0..LEVELS).map(at);
        levels.filter(|level| level.looks > 0).collect()
    }

    /// Returns the level with the least DRAM at which the service stood still for at most `goal` of
    /// the time; `None` if there is none. One through which it only passed, as in a burst, says
    /// nothing: it has to be known, and held for some part of the time of all.
    pub fn least(&self, goal: f64) -> Option<Level> {
        let levels = self.levels();
        let all: Duration = levels.iter().map(|level| level.time).sum();
        let is_held = |level: &Level| level.is_known() && level.time * HELD >= all;
        let mut held = levels.into_iter().filter(is_held).rev();
        held.find(|level| level.slowdown <= goal)
    }
}

/// Puts looks together.
fn level(looks: &[&Look]) -> Level {
    let time: Duration = looks.iter().map(|look| look.passed).sum();
    let weighted = looks
        .iter()
        .map(|look| look.resident.0 as f64 * look.passed.as_secs_f64());
    let seconds = time.as_secs_f64();
    let per_s = |sum: f64| if seconds > 0.0 { sum / seconds } else { 0.0 };
    let mut shares: Vec<f64> = looks.iter().map(|look| look.slowdown()).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let part = |quarters: usize| {
        let last = shares.len().saturating_sub(1);
        shares.get(last * quarters / 4).copied().unwrap_or_default()
    };
    Level {
        dram: Bytes(per_s(weighted.sum()) as u64),
        looks: looks.len(),
        time,
        slowdown: share(looks.iter().map(|look| look.stalled).sum(), time),
        spread: Spread {
            lower: part(1),
            median: part(2),
            upper: part(3),
            most: part(4),
        },
        faults_per_s: per_s(looks.iter().map(|look| look.faults as f64).sum()),
        written: Bytes(looks.iter().map(|look| look.written.0).sum()),
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    match whole.is_zero() {
        true => 0.0,
        false => part.as_secs_f64() / whole.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(mib: u64, stalled_ms: u64) -> Look {
        Look {
            passed: Duration::from_millis(500),
            resident: Bytes(mib << 20),
            swapped: Bytes((100 - mib) << 20),
            stalled: Duration::from_millis(stalled_ms),
            faults: stalled_ms * 10,
            written: Bytes(stalled_ms),
        }
    }

    fn curve(looks: &[(u64, u64, usize)]) -> Curve {
        let mut curve = Curve::default();
        for (mib, stalled, count) in looks {
            (0..*count).for_each(|_| curve.add(look(*mib, *stalled)));
        }
        curve
    }

    #[test]
    fn levels_are_even_steps_and_each_look_is_in_one() {
        let curve = curve(&[(100, 0, 9), (52, 5, 10), (51, 10, 10), (10, 100, 8)]);
        let levels = curve.levels();
        let drams: Vec<_> = levels.iter().map(|it| it.dram.0 >> 20).collect();
        assert_eq!(drams, [100, 51, 10]);
        assert_eq!(levels.iter().map(|it| it.looks).sum::<usize>(), 37);
        let middle = levels[1];
        assert_eq!(middle.time, Duration::from_secs(10));
        assert!((middle.slowdown - 0.015).abs() < 1e-9);
        assert_eq!(middle.spread.lower, 0.01);
        assert_eq!(middle.spread.most, 0.02);
        assert_eq!(middle.written, Bytes(150));
        assert!((middle.faults_per_s - 150.0).abs() < 1e-9);
        assert_eq!(curve.footprint(), Bytes(100 << 20));
        assert_eq!(curve.all().looks, 37);
    }

    #[test]
    fn the_least_is_one_that_was_held() {
        let hurts = [(100, 0, 9), (60, 5, 9), (40, 100, 9), (20, 100, 9)];
        let least = |looks: &[_], goal| curve(looks).least(goal).map(|it| it.dram.0 >> 20);
        assert_eq!(least(&hurts, 0.05), Some(60));
        assert_eq!(least(&hurts, 0.5), Some(20));
        let burst = [(100, 0, 200), (80, 400, 9), (60, 5, 200), (20, 5, 9)];
        assert_eq!(
            least(&burst, 0.05),
            Some(60),
            "neither the burst nor what it passed through"
        );
        assert_eq!(least(&[(100, 400, 9)], 0.05), None);
        assert_eq!(
            least(&[(100, 0, 9), (60, 0, 3)], 0.05),
            Some(100),
            "too short"
        );
        assert_eq!(least(&[], 0.05), None);
    }

    #[test]
    fn a_program_that_starts_says_nothing_of_small_sizes() {
        let mut curve = Curve::default();
        for mib in 1..=100 {
            let swapped = Bytes(0);
            curve.add(Look {
                swapped,
                ..look(mib, 0)
            });
        }
        (0..9).for_each(|_| curve.add(look(70, 5)));
        assert_eq!(curve.smaller(), Duration::from_millis(500) * 89);
        let least = curve.least(0.05).unwrap();
        assert_eq!(least.dram, Bytes(70 << 20));
        assert_eq!(curve.all().looks, 109);
    }

    #[test]
    fn one_size_is_one_level() {
        assert_eq!(curve(&[(7, 1, 5)]).levels().len(), 1);
        assert_eq!(Curve::default().levels(), []);
        let mut none = Curve::default();
        none.add(Look::default());
        assert_eq!(none.all().looks, 0, "a look after no time");
    }
}
