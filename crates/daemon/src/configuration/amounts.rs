//! Shares of time, lives and endurances as people write them.

use std::time::Duration;

const DAY: u64 = 86_400;
/// A year has 365 days and a quarter.
const YEAR: u64 = 31_557_600;

/// Reads `2%` as 0.02.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%');
    let percent: Option<f64> = number.and_then(|number| number.trim_end().parse().ok());
    percent
        .filter(|percent| (0.0..=100.0).contains(percent) && *percent > 0.0)
        .map(|percent| percent / 100.0)
        .ok_or_else(|| {
            format!("`{text}` is no share of time; write it as 2%, more than 0% and at most 100%")
        })
}

/// Reads `5years`, `1 year`, `90days`.
pub(super) fn life(text: &str) -> Result<Duration, String> {
    let written = text.trim();
    let digits = written.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &written[digits.len()..] {
        "year" | "years" | "y" => Some(YEAR),
        "day" | "days" | "d" => Some(DAY),
        _ => None,
    };
    let number: Option<f64> = digits.trim_end().parse().ok();
    let seconds = unit.zip(number).map(|(unit, number)| unit as f64 * number);
    seconds
        .filter(|seconds| (DAY as f64..=1000.0 * YEAR as f64).contains(seconds))
        .map(Duration::from_secs_f64)
        .ok_or_else(|| {
            format!("`{text}` is no life of a drive; write it as 5years or 90days, a day at least")
        })
}

/// Reads `600TB` or `600TBW`: bytes that may be written in all, in powers of 1000, as makers of
/// drives count.
pub(super) fn endurance(text: &str) -> Result<u64, String> {
    let written = text.trim();
    let digits = written.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &written[digits.len()..];
    let factor = match unit.strip_suffix('W').unwrap_or(unit) {
        "GB" => Some(1e9),
        "TB" => Some(1e12),
        "PB" => Some(1e15),
        _ => None,
    };
    let number: Option<f64> = digits.trim_end().parse().ok();
    let bytes = factor.zip(number).map(|(factor, number)| factor * number);
    bytes
        .filter(|bytes| (1e9..=1e18).contains(bytes))
        .map(|bytes| bytes as u64)
        .ok_or_else(|| {
            format!(
                "`{text}` is no endurance; write what the maker says as 600TB (TBW), 1 GB to 1000 PB"
            )
        })
}
