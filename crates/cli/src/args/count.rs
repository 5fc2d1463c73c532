//! Large numbers, as people write them.

use terrace_base::{Error, Result};

/// Reads `1000000`, `500k`, `20M` or `1G`; units are powers of 1000.
///
/// # Errors
/// A usage error where the text is no such number, or 0.
pub fn parse_count(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => Some(1),
        "k" | "K" => Some(1000),
        "M" => Some(1_000_000),
        "G" => Some(1_000_000_000),
        _ => None,
    };
    let number = digits.parse::<u64>().ok();
    let count = number.zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    match count {
        Some(0) => Err(Error::usage("0 is none; ask for more")),
        Some(count) => Ok(count),
        None => Err(Error::usage(format!(
            "`{text}` is no number; write it as 1000000, 500k, 20M or 1G"
        ))),
    }
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
}
