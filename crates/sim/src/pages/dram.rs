//! Amount of DRAM of a machine, as given on the command line.

use std::fmt;

use terrace_base::{Bytes, Error, Result};

use super::settings::Inclusion;

/// Amount of DRAM.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dram {
    /// Number of bytes.
    Bytes(Bytes),
    /// Number of pages.
    Pages(u64),
    /// Share of the tier, which holds the footprint: the DRAM:NVM ratio of Awad 2016, 5.2. At 25 %
    /// an inclusive tier holds all of the footprint, and DRAM a quarter of it; an exclusive tier
    /// holds what DRAM does not, and DRAM a fifth of the footprint.
    Ratio(f64),
}

impl Dram {
    /// Reads `25%`, `1000p` (pages), or a size as [`Bytes::parse_memory`] does.
    ///
    /// # Errors
    /// A usage error where the text is none of these, or the amount is zero.
    pub fn parse(text: &str) -> Result<Self> {
        let amount = if let Some(share) = text.strip_suffix('%') {
            let share: Option<f64> = share.trim().parse().ok();
            let share = share.filter(|share| *share > 0.0 && *share <= 1000.0);
            let share = share.map(|share| Self::Ratio(share / 100.0));
            return share.ok_or_else(|| {
                Error::usage(format!(
                    "`{text}` is no share of the footprint; name one above 0% and up to 1000%"
                ))
            });
        } else if let Some(pages) = text.strip_suffix('p') {
            let pages: Option<u64> = pages.trim().parse().ok();
            pages.filter(|pages| *pages > 0).map(Self::Pages)
        } else {
            return Bytes::parse_memory(text, true).map(Self::Bytes);
        };
        amount.ok_or_else(|| {
            Error::usage(format!(
                "`{text}` is no amount of memory; write it as 64M, 1000p (pages, at least 1) or \
                 25% (of the tier)"
            ))
        })
    }

    /// Returns the amount in pages, at least one.
    pub(crate) fn pages(self, footprint: u64, inclusion: Inclusion) -> u64 {
        let pages = match self {
            Self::Bytes(bytes) => bytes.pages(),
            Self::Pages(pages) => pages,
            Self::Ratio(ratio) => match inclusion {
                Inclusion::Inclusive => (footprint as f64 * ratio) as u64,
                Inclusion::Exclusive => (footprint as f64 * ratio / (1.0 + ratio)) as u64,
            },
        };
        pages.max(1)
    }
}

impl Default for Dram {
    /// Returns the smallest amount of DRAM.
    fn default() -> Self {
        Self::Pages(1)
    }
}

impl fmt::Display for Dram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Pages(pages) => write!(f, "{pages}p"),
            // Rounds, so that 0.07 times 100 shows no more digits than were written.
            Self::Ratio(ratio) => write!(f, "{}%", (ratio * 1e8).round() / 1e6),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_the_digits_that_were_written() {
        for text in ["7%", "0.1%", "12.5%", "33.333%"] {
            assert_eq!(Dram::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn dram_as_people_write_it() {
        assert_eq!(Dram::parse("25%"), Ok(Dram::Ratio(0.25)));
        assert_eq!(Dram::parse("12.5 %"), Ok(Dram::Ratio(0.125)));
        assert_eq!(Dram::parse("1000p"), Ok(Dram::Pages(1000)));
        assert_eq!(Dram::parse("64M"), Ok(Dram::Bytes(Bytes(64 << 20))));
        for text in [
            "", "0%", "-1%", "nan%", "0p", "1.5p", "p", "%", "much", "25",
        ] {
            assert!(Dram::parse(text).is_err(), "{text}");
        }
    }

    /// Awad 2016, 5.2: at 25 %, up to 20 % (exclusive) or 25 % (inclusive) of the footprint may be
    /// in DRAM.
    #[test]
    fn a_ratio_is_of_the_tier() {
        let ratio = Dram::Ratio(0.25);
        assert_eq!(ratio.pages(1000, Inclusion::Inclusive), 250);
        assert_eq!(ratio.pages(1000, Inclusion::Exclusive), 200);
        assert_eq!(ratio.pages(1, Inclusion::Inclusive), 1);
    }
}
