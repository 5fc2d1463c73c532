//! The endurance budget: how many bytes may be written to the flash.

use terrace_base::{Bytes, Nanos};

const DAY: f64 = 86_400e9;
/// Days of a year, as in the lifetimes of `terrace-device`.
const YEAR_DAYS: f64 = 365.25;

/// Share of a day's bytes that may be saved up, so that a day is kept within twice that.
const SAVED: f64 = 0.02;

/// Bytes that may be written to a flash, for as long as it is to live.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance {
    /// Bytes that the flash sustains over its life.
    pub bytes: f64,
    /// Years for which it is to live.
    pub years: f64,
}

impl Endurance {
    /// Returns the bytes that may be written a day.
    pub fn a_day(&self) -> f64 {
        self.bytes / (self.years * YEAR_DAYS)
    }

    /// Returns the years that the flash lives if `written` bytes are written in each span of this length; `None` if
    /// nothing is written.
    pub fn projected_years(&self, written: Bytes, span: Nanos) -> Option<f64> {
        let a_day = written.0 as f64 * DAY / span.0.max(1) as f64;
        (a_day > 0.0).then(|| self.bytes / a_day / YEAR_DAYS)
    }
}

/// What is left of the budget at a moment. It grows at an even pace, and little of it is saved up.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    a_day: f64,
    left: f64,
    at: Nanos,
}

impl Budget {
    /// Begins with nothing left at time zero.
    pub fn new(endurance: &Endurance) -> Self {
        Self {
            a_day: endurance.a_day(),
            left: 0.0,
            at: Nanos::ZERO,
        }
    }

    /// Whether anything is left at `now`.
    pub fn allows(&mut self, now: Nanos) -> bool {
        let passed = now.0.saturating_sub(self.at.0) as f64;
        self.at = self.at.max(now);
        self.left = (self.left + self.a_day * passed / DAY).min(self.a_day * SAVED);
        self.left > 0.0
    }

    /// Takes what was written, which may be more than is left: the rest is owed.
    pub fn spend(&mut self, written: Bytes) {
        self.left -= written.0 as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: u64 = 3_600_000_000_000;

    #[test]
    fn a_drive_of_600_terabytes_over_5_years() {
        let endurance = Endurance {
            bytes: 600e12,
            years: 5.0,
        };
        assert!((endurance.a_day() / 328.5e9 - 1.0).abs() < 1e-3);
        let years = endurance.projected_years(Bytes(328_542_094_456), Nanos(24 * HOUR));
        assert!((years.unwrap() - 5.0).abs() < 1e-3);
        assert_eq!(endurance.projected_years(Bytes(0), Nanos(1)), None);
    }

    /// Segments are written whenever anything is left, after quiet times as well; every day of the run, wherever it
    /// begins, has at most a day's bytes and 5 % of them, and a busy day all but 5 %.
    #[test]
    fn every_day_is_kept_within_5_percent() {
        let endurance = Endurance {
            bytes: 365.25e9,
            years: 1.0,
        };
        let mut budget = Budget::new(&endurance);
        let segment = Bytes(4 << 20);
        let step = HOUR / 60;
        let mut by_minute = Vec::new();
        for minute in 0..10 * 24 * 60_u64 {
            let is_quiet = (3000..4500).contains(&minute);
            let mut written = 0;
            while !is_quiet && budget.allows(Nanos(minute * step)) {
                budget.spend(segment);
                written += segment.0;
            }
            by_minute.push(written);
        }
        let days = by_minute
            .windows(24 * 60)
            .map(|day| day.iter().sum::<u64>());
        let days: Vec<u64> = days.collect();
        assert!(
            days.iter().all(|bytes| *bytes as f64 <= 1.05e9),
            "{:?}",
            days.iter().max()
        );
        assert!(*days.last().unwrap() as f64 >= 0.95e9);
        assert!(days[0] as f64 >= 0.95e9);
    }
}
