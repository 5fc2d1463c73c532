//! Command-line options for accesses that are flushes.

use clap::ValueEnum;
use terrace_base::{Error, Result};

/// Address of a flushing instruction, or `None` for `off`.
#[derive(Clone, Copy)]
pub struct FlushIp(pub Option<u64>);

impl FlushIp {
    /// Reads the address of an instruction in hexadecimal, or `off`.
    ///
    /// # Errors
    /// A usage error where the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "off" {
            return Ok(Self(None));
        }
        let digits = text.strip_prefix("0x");
        let address = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let address = address.filter(|address| *address != 0).ok_or_else(|| {
            Error::usage(format!(
                "`{text}` is no address of an instruction; write it as 0x401136, or off"
            ))
        })?;
        Ok(Self(Some(address)))
    }
}

/// What a flush does.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Flush {
    /// The line leaves all caches
    Clflush,
    /// It stays where it is, clean
    Clwb,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_as_people_write_it() {
        let of = |text| FlushIp::parse(text).map(|ip| ip.0);
        assert_eq!(of("0x401136"), Ok(Some(0x40_1136)));
        assert_eq!(of("off"), Ok(None));
        for text in ["", "0x", "0x0", "401136", "-1"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
