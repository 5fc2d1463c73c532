//! Amounts of memory.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An amount of memory in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
#[schemars(extend("unit" = "bytes"))]
pub struct Bytes(pub u64);

/// Units are powers of 1024 with and without the `iB`, as the kernel's cgroup files have them.
pub(crate) const UNITS: [&str; 7] = ["", "K", "M", "G", "T", "P", "E"];

/// Bytes in a page (x86-64 base pages).
pub const PAGE_BYTES: u64 = 4096;

impl Bytes {
    /// Returns the size of `pages` pages.
    pub const fn of_pages(pages: u64) -> Self {
        Self(pages * PAGE_BYTES)
    }

    /// Returns how many whole pages these bytes hold.
    pub const fn pages(self) -> u64 {
        self.0 / PAGE_BYTES
    }

    /// Returns how many pages it takes to hold these bytes.
    pub const fn pages_needed(self) -> u64 {
        self.0.div_ceil(PAGE_BYTES)
    }
}

/// Returns a value of at least 1 with three significant digits, or the digits of its whole part.
pub(crate) fn three_digits(value: f64) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

impl fmt::Display for Bytes {
    /// Formats with three significant digits: `512 MiB`, `1.50 GiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        // Of the rounded value, which may be that of the next unit.
        let power = (value as u64).checked_ilog2().unwrap_or(0) / 10;
        let value = value / (1_u64 << (10 * power)) as f64;
        match UNITS[power as usize] {
            "" => write!(f, "{} B", self.0),
            unit => write!(f, "{} {unit}iB", three_digits(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_with_three_digits() {
        assert_eq!(Bytes(0).to_string(), "0 B");
        assert_eq!(Bytes(1023).to_string(), "1023 B");
        assert_eq!(Bytes(512 << 20).to_string(), "512 MiB");
        assert_eq!(Bytes(3 << 29).to_string(), "1.50 GiB");
        assert_eq!(Bytes(u64::MAX).to_string(), "16.0 EiB");
    }

    #[test]
    fn pages_of_bytes_and_bytes_of_pages() {
        for (bytes, pages, needed) in [(0, 0, 0), (4095, 0, 1), (4096, 1, 1), (4097, 1, 2)] {
            assert_eq!(
                (Bytes(bytes).pages(), Bytes(bytes).pages_needed()),
                (pages, needed)
            );
        }
        assert_eq!(Bytes::of_pages(3), Bytes(12_288));
    }
}
