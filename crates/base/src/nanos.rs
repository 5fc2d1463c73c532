//! Time in nanoseconds, for devices and simulations.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Mul, Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::bytes::three_digits;
use crate::error::{Error, Result};

/// A span of time, or a moment on a virtual clock that began at zero, in nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(extend("unit" = "ns"))]
pub struct Nanos(pub u64);

/// Units and their nanoseconds, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// Longer units that are read and not written: in seconds people compare what they measure.
const LONGER: [(&str, u64); 3] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
];

impl Nanos {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Reads `150ns`, `25us`, `1.5ms`, `2s`, `10m`, `2h`, `1d`; a number alone is nanoseconds.
    ///
    /// # Errors
    /// Returns a usage error if the text is no span of time, or the span is too long.
    pub fn parse(text: &str) -> Result<Self> {
        let no_time = || {
            Error::usage(format!(
                "`{text}` is not a time; write it as 150ns, 25us, 1.5ms or 2s"
            ))
        };
        let text = text.trim();
        let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &text[digits.len()..] {
            "" => 1,
            name => UNITS
                .iter()
                .chain(&LONGER)
                .find(|(unit, _)| *unit == name)
                .map(|(_, nanos)| *nanos)
                .ok_or_else(no_time)?,
        };
        let number: f64 = digits.trim_end().parse().map_err(|_| no_time())?;
        let nanos = (number * unit as f64).round();
        if !(0.0..u64::MAX as f64).contains(&nanos) {
            return Err(no_time());
        }
        Ok(Self(nanos as u64))
    }

    /// Returns `self` less `other`, or zero if `other` is longer.
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Nanos {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Nanos {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

impl Sum for Nanos {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Nanos {
    /// Three significant digits in the longest unit that leaves one before the point: `1.50 us`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, nanos) = UNITS
            .into_iter()
            .find(|(_, nanos)| self.0 >= *nanos)
            .unwrap_or(("ns", 1));
        if nanos == 1 {
            return write!(f, "{} ns", self.0);
        }
        let value = three_digits(self.0 as f64 / nanos as f64);
        write!(f, "{value} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_as_people_write_them() {
        for (text, nanos) in [
            ("150ns", 150),
            ("25us", 25_000),
            ("1.5ms", 1_500_000),
            ("2 s", 2_000_000_000),
            ("7", 7),
            ("0", 0),
        ] {
            assert_eq!(Nanos::parse(text), Ok(Nanos(nanos)), "{text}");
        }
        for text in ["", "us", "-1us", "1 day", "1e300s", "nan", "inf"] {
            assert!(Nanos::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn three_digits_are_shown() {
        for (nanos, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1500, "1.50 us"),
            (25_000, "25.0 us"),
            (3_210_000_000, "3.21 s"),
        ] {
            assert_eq!(Nanos(nanos).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_parse_panic(text in ".{0,20}") {
            let _ = Nanos::parse(&text);
        }
    }
}
