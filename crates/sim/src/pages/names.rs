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

/// Time of an instruction, as `0.5ns`, in picoseconds.
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
                "`{text}` is no time of an instruction, from 0 to 1000ns; write it as 0.5ns"
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
    fn the_time_of_an_instruction() {
        assert_eq!(Picos::parse("0.5ns"), Ok(Picos(500)));
        assert_eq!(Picos::parse("1"), Ok(Picos(1000)));
        for text in ["", "-1", "fast", "1s", "nan"] {
            assert!(Picos::parse(text).is_err(), "{text}");
        }
    }
}
