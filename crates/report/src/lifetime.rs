//! Lifetime of a device at a rate of writes.

use std::time::Duration;

use terrace_base::{Bytes, Error, Result};

const SECONDS_A_YEAR: f64 = 365.25 * 86400.0;

/// Endurance: total number of bytes that may be written to a device, as its manufacturer states it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Endurance(Bytes);

impl Endurance {
    /// Reads `600TBW` or `1.2PBW`: terabytes or petabytes written, in decimal units as
    /// manufacturers use.
    ///
    /// # Errors
    /// A usage error where the text has another form.
    pub fn parse(text: &str) -> Result<Self> {
        let upper = text.trim().to_ascii_uppercase();
        let number = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = match &upper[number.len()..] {
            "GBW" | "GB" => 1e9,
            "TBW" | "TB" => 1e12,
            "PBW" | "PB" => 1e15,
            _ => 0.0,
        };
        let bytes = number.trim().parse().unwrap_or(0.0) * unit;
        match (1.0..1e19).contains(&bytes) {
            true => Ok(Self(Bytes(bytes as u64))),
            false => Err(Error::usage(format!(
                "`{text}` is no endurance; write it as on the data sheet: 600TBW, 1.2PBW"
            ))),
        }
    }

    /// Returns the number of bytes.
    pub fn bytes(self) -> Bytes {
        self.0
    }

    /// Returns the years until the endurance is used up if `written` bytes are written in each
    /// period `wall`; `None` if nothing is written.
    pub fn years(self, written: Bytes, wall: Duration) -> Option<f64> {
        let rate = written.0 as f64 / wall.as_secs_f64();
        (rate > 0.0).then(|| self.0.0 as f64 / rate / SECONDS_A_YEAR)
    }
}

/// Returns years in words, rounded: `7 years`, `20 months`, `9 hours`.
pub fn in_words(years: f64) -> String {
    match years {
        y if y >= 1000.0 => "over 1000 years".into(),
        y if y >= 2.0 => format!("{y:.0} years"),
        y if y >= 1.0 / 6.0 => format!("{:.0} months", y * 12.0),
        y if y * 365.25 >= 1.0 => format!("{:.0} days", y * 365.25),
        y if y * 365.25 * 24.0 >= 1.0 => format!("{:.0} hours", y * 365.25 * 24.0),
        _ => "under an hour".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_on_the_data_sheet() {
        let of = |text| Endurance::parse(text).map(|e| e.bytes().0);
        assert_eq!(of("600TBW"), Ok(600_000_000_000_000));
        assert_eq!(of("1.2 pbw"), Ok(1_200_000_000_000_000));
        for text in ["", "600", "-1TBW", "0TBW", "xTBW", "1e30TBW", "NaNTBW"] {
            assert!(Endurance::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_terabyte_a_day_of_600_lasts_600_days() {
        let endurance = Endurance::parse("600TBW").unwrap();
        let day = Duration::from_secs(86400);
        let years = endurance.years(Bytes(1_000_000_000_000), day).unwrap();
        assert!((years * 365.25 - 600.0).abs() < 1e-6);
        assert_eq!(in_words(years), "20 months");
        assert_eq!(endurance.years(Bytes(0), day), None);
    }

    #[test]
    fn in_the_unit_that_fits() {
        assert_eq!(in_words(2500.0), "over 1000 years");
        assert_eq!(in_words(7.4), "7 years");
        assert_eq!(in_words(0.1), "37 days");
        assert_eq!(in_words(0.001), "9 hours");
        assert_eq!(in_words(1e-6), "under an hour");
    }
}
