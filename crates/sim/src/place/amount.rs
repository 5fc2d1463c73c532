//! Amounts of fast memory, as given on the command line.

use std::fmt::{self, Display, Formatter};

use terrace_base::{Bytes, Error, Result};

/// An amount of fast memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Number of bytes.
    Bytes(Bytes),
    /// Share of the program's memory.
    Share(f64),
}

impl Amount {
    /// Reads `20%`, or a size as [`Bytes::parse_memory`] does.
    ///
    /// # Errors
    /// A usage error where the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        let Some(share) = text.strip_suffix('%') else {
            return Bytes::parse_memory(text, true).map(Self::Bytes);
        };
        let share: Option<f64> = share.trim().parse().ok();
        let share = share.filter(|share| *share > 0.0 && *share <= 100.0);
        let share = share.map(|share| Self::Share(share / 100.0));
        share.ok_or_else(|| {
            Error::usage(format!(
                "`{text}` is no amount of fast memory; write it as 64M, or as 20% (of the program's memory)"
            ))
        })
    }

    /// Returns the bytes of fast memory beside a program of `footprint` bytes.
    pub fn of(self, footprint: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.0,
            Self::Share(share) => (footprint as f64 * share) as u64,
        }
    }
}

impl Display for Amount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Share(share) => write!(f, "{}%", share * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_one_of_the_program() {
        assert_eq!(Amount::parse("20%").unwrap().of(1000), 200);
        assert_eq!(Amount::parse("64K").unwrap().of(1000), 65536);
        for wrong in ["0%", "101%", "x%", "nan%", "-5%", "", "5q"] {
            assert!(Amount::parse(wrong).is_err(), "{wrong}");
        }
    }
}
