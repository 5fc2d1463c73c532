//! How long a device lasts, from the writes that a cell sustains.
//!
//! Two definitions, both from papers. They agree if cells are written evenly. Of a drive its
//! manufacturer says instead how much may be written to it in all ([`Endurance`]).

use std::time::Duration;

use terrace_base::{Bytes, Error, Nanos, Result};

const SECONDS_A_YEAR: f64 = 365.25 * 86_400.0;

/// Years by Awad 2016, figures 2 and 9: every cell endures `endurance` writes, and cells of a
/// device of `capacity` are written at the rate of `written` in `elapsed`. Cells that a write
/// leaves as they are (data comparison, 5.1.2) are not `written`. `None` if nothing is written.
pub fn awad(endurance: f64, capacity: Bytes, written: Bytes, elapsed: Nanos) -> Option<f64> {
    let writes_a_cell = written.0 as f64 / capacity.0 as f64;
    fedorov(endurance, writes_a_cell, elapsed)
}

/// Years by Fedorov 2016, 2.4.5: a device lasts until a cell has received the writes that it
/// sustains, `endurance`; it receives `writes_a_cell` in `elapsed`. Under randomised levelling
/// that is the same for all cells. `None` if nothing is written.
pub fn fedorov(endurance: f64, writes_a_cell: f64, elapsed: Nanos) -> Option<f64> {
    (writes_a_cell > 0.0).then(|| repeated(endurance / writes_a_cell, elapsed))
}

/// Years of a run that takes `elapsed` and is repeated `runs` times.
pub fn repeated(runs: f64, elapsed: Nanos) -> f64 {
    runs * elapsed.seconds() / SECONDS_A_YEAR
}

/// How many times longer a device lasts when the part `cut` of its writes, 0 to 1, is saved
/// (Fedorov 2016, 2.4.5). Negative cuts are writes added. `None` if all writes are saved.
pub fn gain(cut: f64) -> Option<f64> {
    (cut < 1.0).then(|| 1.0 / (1.0 - cut))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DAY: Nanos = Nanos(86_400_000_000_000);
    const MODULE: Bytes = Bytes(16 << 30);

    #[test]
    fn awad_s_worst_application_writes_a_gigabyte_a_second() {
        // 16 GB of cells that endure 10^7 writes last some 5 years under Lulesh (5.1.3).
        let rate = MODULE.0 as f64 * 1e7 / (5.0 * 365.25 * 86_400.0);
        assert!((1.0e9..1.1e9).contains(&rate), "{rate}");
        let a_day = Bytes((rate * 86_400.0) as u64);
        let years = awad(1e7, MODULE, a_day, DAY).unwrap();
        assert!((years - 5.0).abs() < 1e-6, "{years}");
    }

    #[test]
    fn where_pcm_lasts_years_flash_wears_out_in_a_month() {
        // Awad 2016, figure 2: 10^7 against 10^4 writes a cell.
        for pcm_years in [1.0, 5.0, 50.0, 80.0] {
            let a_day = Bytes((MODULE.0 as f64 * 1e7 / (pcm_years * 365.25)) as u64);
            let flash_years = awad(1e4, MODULE, a_day, DAY).unwrap();
            assert!(flash_years < 1.0 / 12.0, "{pcm_years}: {flash_years}");
            assert!((flash_years * 1000.0 / pcm_years - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn awad_s_write_reduction_to_a_twentieth() {
        // To 5 % of the writes is 20 times the lifetime (abstract).
        assert!((gain(0.95).unwrap() - 20.0).abs() < 1e-9);
    }

    #[test]
    fn fedorov_s_write_back_cuts() {
        for (cut, times) in [(0.33, 1.49), (0.11, 1.12), (0.13, 1.15), (0.0, 1.0)] {
            let gain = gain(cut).unwrap();
            assert!((gain - times).abs() < 0.005, "{cut}: {gain}");
        }
        assert_eq!(gain(-1.0), Some(0.5));
    }

    #[test]
    fn what_is_not_written_does_not_wear_out() {
        assert_eq!(awad(1e7, MODULE, Bytes(0), DAY), None);
        assert_eq!(fedorov(1e7, 0.0, DAY), None);
        assert_eq!(gain(1.0), None);
    }

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
        assert_eq!(endurance.years(Bytes(0), day), None);
    }

    proptest! {
        #[test]
        fn both_agree_where_cells_are_written_evenly(
            capacity in 1u64..1 << 45, written in 1u64..1 << 50, endurance in 1.0f64..1e16,
        ) {
            let a = awad(endurance, Bytes(capacity), Bytes(written), DAY).unwrap();
            let f = fedorov(endurance, written as f64 / capacity as f64, DAY).unwrap();
            prop_assert!((a / f - 1.0).abs() < 1e-12);
        }
    }
}
