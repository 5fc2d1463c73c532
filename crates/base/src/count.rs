//! Large numbers as users write them.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::error::{Error, Result};

/// Reads `1000000`, `500k`, `20M` or `1G`; units are powers of 1000.
///
/// # Errors
/// Returns a usage error if the text is no such number, or is 0.
pub fn parse_count(text: &str) -> Result<u64> {
    match number(text) {
        Some(0) => Err(Error::usage("0 is none; ask for more")),
        Some(count) => Ok(count),
        None => Err(Error::usage(format!(
            "`{text}` is no number; write it as 1000000, 500k, 20M or 1G"
        ))),
    }
}

/// Returns a parser of whole numbers in a range, with the units of [`parse_count`].
pub fn whole<T>(range: RangeInclusive<T>) -> impl Fn(&str) -> Result<T> + Clone + Send + Sync
where
    T: TryFrom<u64> + PartialOrd + Display + Copy + Send + Sync,
{
    move |text| {
        let number = number(text).and_then(|number| T::try_from(number).ok());
        number
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                let (first, last) = (range.start(), range.end());
                Error::usage(format!(
                    "`{text}` is no whole number from {first} to {last}"
                ))
            })
    }
}

/// Parses digits and a unit.
fn number(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "k" | "K" => 1000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        _ => return None,
    };
    // A sign is not a digit.
    let digits = digits
        .bytes()
        .all(|c| c.is_ascii_digit())
        .then_some(digits)?;
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_as_people_write_them() {
        for (text, count) in [
            ("1", 1),
            ("20M", 20_000_000),
            ("500k", 500_000),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
        for text in [
            "",
            "0",
            "0M",
            "M",
            "-1",
            "1.5M",
            "1MM",
            "1X",
            "99999999999G",
        ] {
            assert!(parse_count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn whole_numbers_stay_in_their_range() {
        let of = whole(1..=2000_u32);
        assert_eq!(of("2k"), Ok(2000));
        for text in ["", "0", "2001", "5G", "+1", "1.0", "NaN", "-1"] {
            let error = of(text).unwrap_err().to_string();
            assert_eq!(error, format!("`{text}` is no whole number from 1 to 2000"));
        }
    }
}
