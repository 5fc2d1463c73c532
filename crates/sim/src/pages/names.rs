//! Values of settings as they are written on the command line.

use terrace_base::{Error, Nanos, Result};
use terrace_policy::prefetch::Spec;

use super::settings::{Around, Prefetch};
use crate::named::Named;

/// Longest time that can be simulated, so that virtual time cannot overflow: 1000 s.
const LONGEST: Nanos = Nanos(1_000_000_000_000);

/// Reads a latency or the time of an access, at most 1000 s.
///
/// # Errors
/// A usage error where the text is not such a time.
pub fn parse_latency(text: &str) -> Result<Nanos> {
    possible(Nanos::parse(text)?)
}

/// Returns `latency` if it can be simulated.
///
/// # Errors
/// A usage error where it is longer than 1000 s.
pub(super) fn possible(latency: Nanos) -> Result<Nanos> {
    if latency > LONGEST {
        let long = format!("{latency} is longer than can be simulated, which is 1000 s");
        return Err(Error::usage(long));
    }
    Ok(latency)
}

/// Reads a way of prefetching: `off`, a kind of readahead, or a predictor with its settings;
/// readahead reads at most `1 << cluster` pages.
///
/// # Errors
/// A usage error where nothing has this name.
pub fn parse_prefetch(name: &str, cluster: u32) -> Result<Prefetch> {
    let kinds = Around::VALUES.iter();
    if let Some((_, around, _)) = kinds.into_iter().find(|(kind, ..)| *kind == name) {
        let around = *around;
        return Ok(Prefetch::Readahead { around, cluster });
    }
    match name {
        "off" => Ok(Prefetch::Off),
        _ if name.split(':').next() == Some("readahead") => {
            let kinds: Vec<_> = Around::VALUES.iter().map(|(kind, ..)| *kind).collect();
            let kinds = kinds.join(", ");
            Err(Error::usage(format!(
                "there is no `{name}`; there are {kinds}"
            )))
        }
        _ => Spec::parse(name)
            .map(Prefetch::Predictor)
            .map_err(Error::usage),
    }
}

/// Time of an instruction or of a line, as `0.5ns`, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picos(pub u64);

impl Picos {
    /// Reads nanoseconds with a fraction, with or without `ns`.
    ///
    /// # Errors
    /// A usage error where the text is not such a time.
    pub fn parse(text: &str) -> Result<Self> {
        let nanos: Option<f64> = text.trim().trim_end_matches("ns").trim_end().parse().ok();
        let nanos = nanos.filter(|nanos| (0.0..=1e3).contains(nanos));
        let picos = nanos.map(|nanos| Self((nanos * 1000.0).round() as u64));
        picos.ok_or_else(|| {
            Error::usage(format!(
                "`{text}` is no time from 0 to 1000ns; write it as 0.5ns"
            ))
        })
    }
}

/// Bytes a second, as `6.6GB/s`; `None` if there is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth(pub Option<u64>);

/// Units of a bandwidth, and what they are in bytes a second.
const RATES: [(&str, f64); 6] = [
    ("MB/s", 1e6),
    ("GB/s", 1e9),
    ("TB/s", 1e12),
    ("MiB/s", (1_u64 << 20) as f64),
    ("GiB/s", (1_u64 << 30) as f64),
    ("TiB/s", (1_u64 << 40) as f64),
];

impl Bandwidth {
    /// Reads `none`, or a number of MB/s, GB/s or TB/s, which are powers of ten, or of MiB/s, GiB/s
    /// or TiB/s, which are powers of two and those that results show.
    ///
    /// # Errors
    /// A usage error where the text is neither, or outside of 1 MB/s to 1000 TB/s.
    pub fn parse(text: &str) -> Result<Self> {
        if text == "none" {
            return Ok(Self(None));
        }
        let known = RATES.iter().find_map(|(unit, bytes)| {
            let number: f64 = text.strip_suffix(unit)?.trim_end().parse().ok()?;
            Some(number * bytes)
        });
        let rate = known.filter(|rate| (1e6..=1e15).contains(rate));
        rate.map(|rate| Self(Some(rate.round() as u64)))
            .ok_or_else(|| {
                Error::usage(format!(
                    "`{text}` is no bandwidth, from 1MB/s to 1000TB/s; write it as 6.6GB/s (units: \
                     MB/s, GB/s, TB/s, MiB/s, GiB/s, TiB/s), or none"
                ))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_readahead() {
        for (name, _, _) in Around::VALUES {
            assert_eq!(parse_prefetch(name, 3).unwrap().to_string(), *name);
        }
        let error = parse_prefetch("readahead:slot", 3).unwrap_err().to_string();
        assert!(
            error.ends_with("there are readahead, readahead:slots, readahead:fixed"),
            "{error}"
        );
    }

    #[test]
    fn bandwidths() {
        for (text, rate) in [
            ("none", None),
            ("6.6GB/s", Some(6_600_000_000)),
            ("900 MB/s", Some(900_000_000)),
            ("1TB/s", Some(1_000_000_000_000)),
            ("1.5 GiB/s", Some(3 << 29)),
        ] {
            assert_eq!(Bandwidth::parse(text), Ok(Bandwidth(rate)), "{text}");
        }
        for text in [
            "", "6.6", "6.6G", "1KB/s", "-1GB/s", "nanGB/s", "infGB/s", "GB/s",
        ] {
            assert!(Bandwidth::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_time_of_an_instruction() {
        assert_eq!(Picos::parse("0.5ns"), Ok(Picos(500)));
        assert_eq!(Picos::parse("1"), Ok(Picos(1000)));
        for text in ["", "-1", "fast", "1s", "nan"] {
            assert!(Picos::parse(text).is_err(), "{text}");
        }
    }
}
