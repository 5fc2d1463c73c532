//! How pages get their frames, as people write it: `jit`, `caa:batch=4`, `coloured:shares=24/8`.

use std::fmt;

use terrace_base::Bytes;
use terrace_policy::params::Params;

/// Bytes of a page, and of a frame.
pub const PAGE_BYTES: u64 = 4096;

/// Contiguous free frames, where nothing else is said: 64 KiB. Assumed; the paper says nothing of how
/// broken up its free memory was.
const RUN: u64 = 16;
/// Sets of 1 MB in 8 ways, by 64 lines a page: the paper's cache.
const COLOURS: u64 = 32;
const MEMORY: Bytes = Bytes(4 << 30);
/// As those of the heap; the paper gives no figures.
const HIGH: Bytes = Bytes(512 << 20);
const LOW: Bytes = Bytes(256 << 20);

/// Which frame of memory a page gets when it is first touched (Kannan 2013, section 4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// None: caches are indexed by virtual addresses.
    #[default]
    Virtual,
    /// The next free ones, a batch at a time reserved for a program.
    Batches(Batches),
    /// Only frames of certain colours: a program's lines fall into its own sets.
    Coloured(Coloured),
}

/// Frames are taken from free memory that lies in runs of contiguous frames, the runs in random order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Frames of a batch, all of one run; 1 is the paper's JIT, more its CAA.
    pub batch: u64,
    /// Frames of a run.
    pub run: u64,
    /// All memory, free at first.
    pub memory: Bytes,
    /// With less free memory, programs that flush get single frames.
    pub high: Bytes,
    /// With less, all do.
    pub low: Bytes,
}

/// Page colouring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloured {
    /// Colours: the sets of the cache by the lines of a page.
    pub colours: u64,
    /// How many of them each program has, in their order.
    pub shares: Vec<u64>,
    /// All memory, free at first.
    pub memory: Bytes,
}

impl Placement {
    /// The ways, each with its settings and a sentence.
    pub const WAYS: [(&str, &str, &str); 4] = [
        ("virtual", "", "caches are indexed by virtual addresses"),
        ("jit", "run, memory", "one free frame at a time"),
        (
            "caa",
            "batch, run, memory, high, low",
            "contiguity-aware: a batch of contiguous frames is reserved for the program (Kannan 2013)",
        ),
        (
            "coloured",
            "colours, shares, memory",
            "each program has the frames of some colours, and so some sets of the cache: 24/8 of 32",
        ),
    ];

    /// Reads `name` or `name:key=value,...`.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, params) = text.split_once(':').unwrap_or((text, ""));
        let Some((_, keys, _)) = Self::WAYS.iter().find(|(known, ..)| *known == name) else {
            let names = Self::WAYS.map(|(name, ..)| name).join(", ");
            return Err(format!("pages are not placed `{name}`; there are: {names}"));
        };
        let of = |problem| format!("{name}: {problem}");
        let mut params = Params::parse(params).map_err(of)?;
        let placement = Self::of(name, &mut params).map_err(of)?;
        params.finish(keys).map_err(of)?;
        Ok(placement)
    }

    fn of(name: &str, params: &mut Params) -> Result<Self, String> {
        Ok(match name {
            "jit" => Self::Batches(Batches::of(1, params)?),
            "caa" => {
                let batch = params.number("batch", 4, 2..=1 << 20)?;
                let watermarks = (bytes(params, "high", HIGH)?, bytes(params, "low", LOW)?);
                let (high, low) = watermarks;
                let batches = Batches::of(batch, params)?;
                Self::Batches(Batches {
                    high,
                    low,
                    ..batches
                })
            }
            "coloured" => Self::Coloured(Coloured::of(params)?),
            _ => Self::Virtual,
        })
    }
}

impl Batches {
    fn of(batch: u64, params: &mut Params) -> Result<Self, String> {
        Ok(Self {
            batch,
            run: params.number("run", RUN, 1..=1 << 20)?,
            memory: bytes(params, "memory", MEMORY)?,
            high: HIGH,
            low: LOW,
        })
    }
}

impl Coloured {
    fn of(params: &mut Params) -> Result<Self, String> {
        let colours = params.number("colours", COLOURS, 1..=1 << 20)?;
        let text = params.text("shares").unwrap_or_default();
        let shares: Option<Vec<u64>> = text.split('/').map(|share| share.parse().ok()).collect();
        let shares = shares.filter(|shares| !shares.contains(&0) && sum(shares) == Some(colours));
        let shares = shares.ok_or_else(|| {
            format!("shares={text}: colours of each program, {colours} together, as 24/8")
        })?;
        Ok(Self {
            colours,
            shares,
            memory: bytes(params, "memory", MEMORY)?,
        })
    }
}

fn sum(shares: &[u64]) -> Option<u64> {
    shares
        .iter()
        .try_fold(0u64, |sum, share| sum.checked_add(*share))
}

fn bytes(params: &mut Params, key: &str, default: Bytes) -> Result<Bytes, String> {
    match params.text(key) {
        None => Ok(default),
        Some(text) => Bytes::parse(&text).map_err(|problem| format!("{key}={text}: {problem}")),
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Virtual => f.write_str("virtual"),
            Self::Batches(Batches {
                batch,
                run,
                memory,
                high,
                low,
            }) => match batch {
                1 => write!(f, "jit:run={run},memory={}", memory.0),
                _ => write!(
                    f,
                    "caa:batch={batch},run={run},memory={},high={},low={}",
                    memory.0, high.0, low.0
                ),
            },
            Self::Coloured(Coloured {
                colours,
                shares,
                memory,
            }) => {
                let shares: Vec<String> = shares.iter().map(u64::to_string).collect();
                let shares = shares.join("/");
                write!(
                    f,
                    "coloured:colours={colours},shares={shares},memory={}",
                    memory.0
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back() {
        for text in [
            "virtual",
            "jit:run=1,memory=1048576",
            "caa:batch=16,run=64,memory=4294967296,high=2,low=1",
            "coloured:colours=32,shares=24/8,memory=4294967296",
        ] {
            assert_eq!(Placement::parse(text).unwrap().to_string(), text);
        }
        let caa = Placement::parse("caa").unwrap().to_string();
        assert!(caa.starts_with("caa:batch=4,run=16,"), "{caa}");
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (text, says) in [
            ("first-fit", "virtual, jit, caa, coloured"),
            ("jit:batch=4", "no setting `batch`"),
            ("caa:batch=1", "from 2"),
            ("coloured", "as 24/8"),
            ("coloured:shares=24/7", "32 together"),
            ("coloured:shares=32/0", "32 together"),
            ("jit:memory=x", "memory=x"),
        ] {
            let problem = Placement::parse(text).unwrap_err();
            assert!(problem.contains(says), "{text}: {problem}");
        }
    }
}
