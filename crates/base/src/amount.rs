//! Amounts of memory as users write them.

use crate::bytes::{Bytes, PAGE_BYTES, UNITS};
use crate::error::{Error, Result};

/// The least amount of a program's memory that may be written without a unit.
const LEAST_WITHOUT_UNIT: Bytes = Bytes(1 << 20);

impl Bytes {
    /// Reads `4G`, `512MiB`, `1.5g`, `1000p` (pages of 4 KiB; a `P` is 2^50 bytes) or plain bytes.
    ///
    /// # Errors
    /// Returns a usage error if the text is no size, or if the size is zero, negative or too large.
    pub fn parse(text: &str) -> Result<Self> {
        let no_size = |why: &str| {
            Error::usage(format!(
                "`{text}` is not a size ({why}); write it as 4G, 512MiB or plain bytes"
            ))
        };
        let written = text.trim();
        let lower = written.to_ascii_lowercase();
        let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match &written[digits.len()..] {
            "p" => Some(PAGE_BYTES),
            _ => unit_factor(&lower[digits.len()..]),
        };
        let factor = factor.ok_or_else(|| no_size("unknown unit"))?;
        let number: f64 = digits
            .trim_end()
            .parse()
            .map_err(|_| no_size("no number"))?;
        let bytes = number * factor as f64;
        if bytes < 0.0 {
            return Err(no_size("it is negative"));
        }
        if bytes < 1.0 {
            return Err(no_size("it is zero"));
        }
        if bytes >= u64::MAX as f64 || !bytes.is_finite() {
            return Err(no_size("it is too large"));
        }
        // An integer is taken exactly: a float holds only 53 bits of it.
        let exact = digits.trim_end().parse::<u64>().ok();
        let bytes = exact.and_then(|n| n.checked_mul(factor));
        Ok(Self(bytes.unwrap_or((number * factor as f64) as u64)))
    }

    /// Reads an amount of memory for a program, as [`Bytes::parse`] does, but no number without a
    /// unit below a mebibyte: `25` would be 25 bytes, and its writer means `25%` or `25M`.
    /// `has_shares` tells whether a share may be written in its place.
    ///
    /// # Errors
    /// Returns a usage error as [`Bytes::parse`] does, or if there is such a number.
    pub fn parse_memory(text: &str, has_shares: bool) -> Result<Self> {
        let bytes = Self::parse(text)?;
        let written = text.trim();
        if bytes >= LEAST_WITHOUT_UNIT
            || !written.ends_with(|c: char| c.is_ascii_digit() || c == '.')
        {
            return Ok(bytes);
        }
        let (meant, or) = match has_shares && bytes <= Self(100) {
            true => (format!("{written}%"), format!("{written}%, {written}M")),
            false => (format!("{written}M"), format!("{written}M")),
        };
        Err(Error::usage(format!(
            "`{written}` is {bytes}: {meant}? Write it with a unit, as {or}, or as {bytes} if it is that"
        )))
    }
}

fn unit_factor(unit: &str) -> Option<u64> {
    let unit = unit
        .strip_suffix("ib")
        .or(unit.strip_suffix('b'))
        .unwrap_or(unit);
    let mut units = UNITS.iter();
    let power = units.position(|known| known.eq_ignore_ascii_case(unit))?;
    Some(1 << (10 * power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_as_people_write_them() {
        for (text, bytes) in [
            ("4G", 4 << 30),
            ("512MiB", 512 << 20),
            ("512mb", 512 << 20),
            ("1.5g", 3 << 29),
            ("4096", 4096),
            ("7 B", 7),
            ("1000p", 4_096_000),
            ("2P", 2 << 50),
            ("2pib", 2 << 50),
            ("18446744073709551615", u64::MAX),
        ] {
            if text.len() < 20 {
                assert_eq!(Bytes::parse(text), Ok(Bytes(bytes)), "{text}");
            } else {
                assert!(Bytes::parse(text).is_err());
            }
        }
    }

    #[test]
    fn what_is_no_size_is_named_with_the_reason() {
        for (text, why) in [
            ("", "no number"),
            ("x", "unknown unit"),
            ("4Q", "unknown unit"),
            ("G", "no number"),
            ("0", "it is zero"),
            ("0.2", "it is zero"),
            ("-4G", "it is negative"),
            ("1e300", "it is too large"),
            ("inf", "unknown unit"),
            ("99999999E", "it is too large"),
        ] {
            let error = Bytes::parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn few_bytes_of_memory_need_a_unit() {
        for (text, has_shares, question) in [
            (
                "25",
                true,
                "`25` is 25 B: 25%? Write it with a unit, as 25%, 25M, or as 25 B if it is that",
            ),
            (" 25 ", false, "`25` is 25 B: 25M?"),
            ("200", true, ": 200M?"),
            ("1048575", true, "1048575M?"),
            ("99.5", true, "99.5%?"),
        ] {
            let said = Bytes::parse_memory(text, has_shares)
                .unwrap_err()
                .to_string();
            assert!(said.contains(question), "{text}: {said}");
        }
        for (text, bytes) in [
            ("1048576", 1 << 20),
            ("64K", 64 << 10),
            ("25 B", 25),
            ("1p", 4096),
            ("4G", 4 << 30),
        ] {
            assert_eq!(Bytes::parse_memory(text, true), Ok(Bytes(bytes)), "{text}");
        }
        assert!(
            Bytes::parse_memory("0", true)
                .unwrap_err()
                .to_string()
                .contains("zero")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,12}") {
            let _ = Bytes::parse(&text);
        }

        #[test]
        fn plain_bytes_are_exact(n in 1u64..1 << 60) {
            prop_assert_eq!(Bytes::parse(&n.to_string()), Ok(Bytes(n)));
        }
    }
}
