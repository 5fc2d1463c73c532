//! zswap as `--zswap` names it: `off`, `auto`, or a compressor, with settings.

use std::fmt;

use terrace_policy::params::{OFF_ON, Params, Values};
use terrace_policy::settings;

/// Compressors that the kernel knows, those that `auto` tries first in front.
const COMPRESSORS: [&str; 7] = ["lz4", "lzo-rle", "lzo", "zstd", "lz4hc", "deflate", "842"];
/// Number of compressors that `auto` tries: the fast ones. The others take longer than a fast disk.
const FAST: usize = 4;

settings! {
    /// Settings of zswap; defaults are the kernel's.
    pub struct ZswapSettings {
        /// largest size of the pool, in percent of the machine's memory
        pool: u32 = 20, 1..=100;
        /// a pool that was full takes pages again below this percentage of its largest size
        accept: u32 = 90, 1..=100;
        /// whether the kernel writes idle pages of the pool to the tier
        shrinker: bool = false, OFF_ON;
    }
}

/// zswap as a run needs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// Pages go to the tier as they are.
    Off,
    /// Pages go to a compressed pool in memory first.
    On {
        /// Compressor; `None` is the first of the fast ones that the kernel has.
        compressor: Option<&'static str>,
        /// Settings.
        settings: ZswapSettings,
    },
}

impl Spec {
    /// Parses `off`, or `auto` or a compressor, which settings may follow:
    /// `lz4:pool=30,shrinker=on`.
    ///
    /// # Errors
    /// Returns a message if there is no such compressor or setting.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, given) = text.split_once(':').unwrap_or((text, ""));
        let known = COMPRESSORS.iter().find(|known| **known == name);
        let compressor = match (name, known) {
            ("off", _) if given.is_empty() => return Ok(Self::Off),
            ("off", _) => return Err("`off` has no settings".to_owned()),
            ("auto", _) => None,
            (_, Some(known)) => Some(*known),
            (_, None) => {
                let names = COMPRESSORS.join(", ");
                return Err(format!(
                    "there is no `{name}`; there are: off, auto, {names}"
                ));
            }
        };
        let mut params = Params::parse(given)?;
        let settings = ZswapSettings::take(&mut params)?;
        params.finish()?;
        Ok(Self::On {
            compressor,
            settings,
        })
    }

    /// Returns the compressors to try, in their order; none if zswap is to be off.
    pub(super) fn compressors(&self) -> &[&'static str] {
        match self {
            Self::Off => &[],
            Self::On {
                compressor: None, ..
            } => &COMPRESSORS[..FAST],
            Self::On {
                compressor: Some(one),
                ..
            } => std::slice::from_ref(one),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::On {
                compressor,
                settings,
            } => write!(
                f,
                "{}:pool={},accept={},shrinker={}",
                compressor.unwrap_or("auto"),
                settings.pool,
                settings.accept,
                OFF_ON.write(&settings.shrinker)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_written_alike() {
        for (text, whole) in [
            ("off", "off"),
            ("auto", "auto:pool=20,accept=90,shrinker=off"),
            ("lz4:pool=5", "lz4:pool=5,accept=90,shrinker=off"),
            (
                "842:shrinker=on,accept=1",
                "842:pool=20,accept=1,shrinker=on",
            ),
        ] {
            let spec = Spec::parse(text).unwrap();
            assert_eq!(spec.to_string(), whole);
            assert_eq!(Spec::parse(whole), Ok(spec));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("", "there is no ``; there are: off, auto, lz4, "),
            ("LZ4", "there is no `LZ4`"),
            ("off:pool=3", "`off` has no settings"),
            ("auto:pool=0", "from 1 to 100"),
            ("lzo:pool=101", "from 1 to 100"),
            ("lzo:shrinker=yes", "one of off, on"),
            ("lzo:pool", "key=value"),
            ("lzo:size=3", "no setting `size`"),
        ] {
            let error = Spec::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
