//! The endurance budget: how many bytes may be written to the flash.

use terrace_base::{Bytes, Error, Nanos, Result};

const DAY: f64 = 86_400e9;
/// Days of a year, as in the lifetimes of `terrace-device`.
const YEAR_DAYS: f64 = 365.25;

/// Reads how long a flash is to live, in years: `5years`, `30days`.
///
/// # Errors
/// Returns a message if the text is no such time.
pub fn years(text: &str) -> std::result::Result<f64, String> {
    let units = [
        ("years", 1.0),
        ("year", 1.0),
        ("y", 1.0),
        ("days", 1.0 / YEAR_DAYS),
        ("d", 1.0 / YEAR_DAYS),
    ];
    let text = text.trim();
    let read = units.into_iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * factor)
    });
    read.filter(|years| (1e-3..=1000.0).contains(years))
        .ok_or_else(|| {
            format!("`{text}` is no time from a day to 1000 years; write it as 5years or 90days")
        })
}

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
    /// Reads what vendors state: bytes over its life (`600TBW`, powers of 1000), or drive writes a
    /// day (`0.5DWPD`) of a flash of this size.
    ///
    /// # Errors
    /// Returns a usage error if the text is neither, or drive writes are given without a size.
    pub fn parse(text: &str, years: f64, size: Option<Bytes>) -> Result<Self> {
        let upper = text.trim().to_ascii_uppercase();
        let units = [("GBW", 1e9), ("TBW", 1e12), ("PBW", 1e15)];
        let (digits, factor) = match upper.strip_suffix("DWPD") {
            Some(digits) => {
                let size = size.ok_or_else(|| {
                    Error::usage(format!(
                        "`{text}` is of a size; give that of the flash with ‘size’"
                    ))
                })?;
                (digits, size.0 as f64 * years * YEAR_DAYS)
            }
            None => units
                .into_iter()
                .find_map(|(unit, factor)| Some((upper.strip_suffix(unit)?, factor)))
                .unwrap_or(("", 0.0)),
        };
        match digits.trim().parse::<f64>() {
            Ok(number) if number > 0.0 && number.is_finite() => Ok(Self {
                bytes: number * factor,
                years,
            }),
            _ => Err(Error::usage(format!(
                "`{text}` is no endurance; write it as 600TBW, or as drive writes a day: 0.5DWPD"
            ))),
        }
    }

    /// Returns the bytes that may be written a day.
    pub fn a_day(&self) -> f64 {
        self.bytes / (self.years * YEAR_DAYS)
    }

    /// Returns the years that the flash lives if `written` bytes are written in each span of this
    /// length; `None` if nothing is written.
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

    #[test]
    fn endurances_as_vendors_state_them() {
        let day = years("1days").unwrap();
        for (text, years, a_day) in [
            ("600TBW", 5.0, 600e12 / (5.0 * YEAR_DAYS)),
            ("0.5 dwpd", day, 500.0),
        ] {
            let endurance = Endurance::parse(text, years, Some(Bytes(1000))).unwrap();
            assert!((endurance.a_day() / a_day - 1.0).abs() < 1e-9, "{text}");
        }
        for text in ["600", "TBW", "-1TBW", "infTBW", "0DWPD", ""] {
            assert!(
                Endurance::parse(text, 1.0, Some(Bytes(1))).is_err(),
                "{text}"
            );
        }
        assert!(Endurance::parse("1DWPD", 1.0, None).is_err());
        for text in ["", "5", "0years", "-1y", "nany", "1e9years"] {
            assert!(super::years(text).is_err(), "{text}");
        }
    }

    /// Segments are written whenever anything is left, after quiet times as well; every day of the
    /// run, wherever it begins, has at most a day's bytes and 5 % of them, and a busy day all but 5
    /// %.
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
