//! Spans of time as values of settings: `turn=30ms`.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::params::Values;

/// Units and their nanoseconds, the longest first.
const UNITS: [(&str, u64); 4] = [
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A range of spans of time, written with a unit: `250us`, `30ms`, `1.5s`.
pub struct Times(pub RangeInclusive<Duration>);

impl Times {
    /// Returns the range from so many microseconds to so many.
    pub fn micros(range: RangeInclusive<u64>) -> Self {
        let [least, most] =
            [range.start(), range.end()].map(|micros| Duration::from_micros(*micros));
        Self(least..=most)
    }
}

impl Values<Duration> for Times {
    fn read(&self, text: &str) -> Option<Duration> {
        read(text).filter(|time| self.0.contains(time))
    }

    fn write(&self, value: &Duration) -> String {
        write(*value)
    }

    fn describe(&self) -> String {
        format!("{} to {}", write(*self.0.start()), write(*self.0.end()))
    }

    fn expected(&self) -> String {
        format!("a time from {}, as 30ms", self.describe())
    }
}

/// Reads a number with a unit.
fn read(text: &str) -> Option<Duration> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let named = |(unit, _): &&(&str, u64)| *unit == &text[number.len()..];
    let (_, nanos) = UNITS.iter().find(named)?;
    let nanos = number.parse::<f64>().ok()? * *nanos as f64;
    (nanos >= 0.0).then(|| Duration::from_nanos(nanos.round() as u64))
}

/// Writes a span in the longest unit that leaves whole numbers.
fn write(time: Duration) -> String {
    let nanos = time.as_nanos();
    let whole = |(_, unit): &&(&str, u64)| nanos.is_multiple_of(u128::from(*unit));
    let (name, unit) = UNITS.iter().find(whole).unwrap_or(&("ns", 1));
    format!("{}{name}", nanos / u128::from(*unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let times = Times::micros(1..=10_000_000);
        for (text, micros) in [("30ms", 30_000), ("250us", 250), ("10s", 10_000_000)] {
            let time = Duration::from_micros(micros);
            assert_eq!(times.read(text), Some(time), "{text}");
            assert_eq!(times.write(&time), text);
        }
        assert_eq!(times.read("1.5ms"), Some(Duration::from_micros(1500)));
        for text in [
            "", "30", "ms", "-1ms", "NaNms", "1e400s", "11s", "0ms", "30 ms", "30m",
        ] {
            assert_eq!(times.read(text), None, "{text}");
        }
        assert_eq!(times.expected(), "a time from 1us to 10s, as 30ms");
    }
}
