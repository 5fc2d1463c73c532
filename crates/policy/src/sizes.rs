//! Amounts of memory as values of settings: `most=16M`.

use std::ops::RangeInclusive;

use crate::params::Values;

/// Units, powers of 1024, the smallest first.
const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// A range of bytes, written plainly or with a unit, a power of 1024: `65536`, `64K`, `1.5G`.
pub struct Sizes(pub RangeInclusive<u64>);

impl Values<u64> for Sizes {
    fn read(&self, text: &str) -> Option<u64> {
        read(text).filter(|bytes| self.0.contains(bytes))
    }

    fn write(&self, value: &u64) -> String {
        write(*value)
    }

    fn describe(&self) -> String {
        let least = write(*self.0.start());
        match *self.0.end() {
            u64::MAX => format!("{least} or more"),
            most => format!("{least} to {}", write(most)),
        }
    }

    fn expected(&self) -> String {
        format!("a size of {}, as 16M", self.describe())
    }
}

/// Reads a number with a unit; `iB` may follow it.
fn read(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text[number.len()..].to_ascii_uppercase();
    let unit = unit.strip_suffix("IB").unwrap_or(&unit);
    let power = UNITS.iter().position(|known| *known == unit)?;
    let factor = 1_u64 << (10 * power);
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let bytes = number.parse::<f64>().ok()? * factor as f64;
    (bytes >= 0.0 && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Writes bytes in the largest unit that leaves a whole number.
fn write(bytes: u64) -> String {
    let power = match bytes {
        0 => 0,
        _ => (bytes.trailing_zeros() / 10).min(6),
    };
    format!("{}{}", bytes >> (10 * power), UNITS[power as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        let sizes = Sizes(1..=1 << 60);
        for (text, bytes) in [
            ("16M", 16 << 20),
            ("4097", 4097),
            ("3K", 3072),
            ("1E", 1 << 60),
        ] {
            assert_eq!(sizes.read(text), Some(bytes), "{text}");
            assert_eq!(sizes.write(&bytes), text);
        }
        assert_eq!(sizes.read("1.5g"), Some(3 << 29));
        assert_eq!(sizes.read("64KiB"), Some(65_536));
        for text in [
            "",
            "M",
            "-1K",
            "0",
            "NaN",
            "1e99",
            "2E",
            "1X",
            "16 M",
            "99999999P",
        ] {
            assert_eq!(sizes.read(text), None, "{text}");
        }
        assert_eq!(sizes.expected(), "a size of 1 to 1E, as 16M");
        assert_eq!(Sizes(1..=u64::MAX).describe(), "1 or more");
    }
}
