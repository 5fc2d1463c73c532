//! Placements of pages in frames, as options name them: `jit`, `caa:batch=4`,
//! `coloured:shares=24/8`.

use std::fmt;

use terrace_base::Bytes;
use terrace_policy::params::{Params, Values};
use terrace_policy::registry::{Entry, Kind, Spec};

/// Contiguous free frames, where nothing else is said: 64 KiB. Assumed; the paper says nothing of
/// how broken up its free memory was.
const RUN: u64 = 16;
/// Sets of 1 MB in 8 ways, by 64 lines a page: the paper's cache.
const COLOURS: u64 = 32;
const MEMORY: Bytes = Bytes(4 << 30);
/// Same values as in the heap; the paper gives no figures.
const HIGH: Bytes = Bytes(512 << 20);
const LOW: Bytes = Bytes(256 << 20);

/// The choice of a frame for a page at its first touch (Kannan 2013, section 4.1).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Placement {
    /// No frames: caches are indexed by virtual addresses.
    #[default]
    Virtual,
    /// The next free frames. A program reserves a batch of them at a time.
    Batches(Batches),
    /// Only frames of certain colours: a program's lines fall into its own sets.
    Coloured(Coloured),
}

/// Frames are taken from free memory that lies in runs of contiguous frames, the runs in random
/// order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batches {
    /// Frames of a batch, all of one run; 1 is the paper's JIT, more its CAA.
    pub batch: u64,
    /// Frames of a run.
    pub run: u64,
    /// All memory, free at first.
    pub memory: Bytes,
    /// The free memory below which programs that flush get single frames.
    pub high: Bytes,
    /// The free memory below which all programs do.
    pub low: Bytes,
}

/// Page colouring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coloured {
    /// Colours: the sets of the cache by the lines of a page.
    pub colours: u64,
    /// The colours of each program, in their order.
    pub shares: Vec<u64>,
    /// All memory, free at first.
    pub memory: Bytes,
}

/// Makes a placement of its settings.
#[derive(Clone, Copy, Debug)]
pub struct Make(fn(&mut Params) -> Result<Placement, String>);

impl Kind for Make {
    const NOUN: &'static str = "placement of pages";
    const ENTRIES: &'static [Entry<Self>] = &[
        Entry {
            name: "virtual",
            summary: "caches are indexed by virtual addresses",
            paper: "none: the usual simplification",
            when: "The default; where the operating system's choice of frames is not the question.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(|_| Ok(Placement::Virtual)),
        },
        Entry {
            name: "jit",
            summary: "one free frame at a time",
            paper: "Kannan 2013, the baseline",
            when: "To compare with `caa`: frames as an operating system hands them out.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(|params| Ok(Placement::Batches(Batches::take(1, params)?))),
        },
        Entry {
            name: "caa",
            summary: "contiguity-aware: a batch of contiguous frames is reserved for the program (Kannan 2013)",
            paper: "Kannan 2013, contiguity-aware allocation",
            when: "Programs that share a cache, one of which keeps persistent data.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(contiguity_aware),
        },
        Entry {
            name: "coloured",
            summary: "each program has the frames of some colours, and so some sets of the cache: 24/8 of 32",
            paper: "Kannan 2013, page colouring",
            when: "To give each program its own part of a shared cache. Its shares must be given.",
            evidence: terrace_policy::registry::Evidence::NONE,
            make: Self(|params| Ok(Placement::Coloured(Coloured::take(params)?))),
        },
    ];

    fn declare(&self, params: &mut Params) -> Result<(), String> {
        self.0(params).map(drop)
    }
}

impl Placement {
    /// Reads `name` or `name:key=value,...`.
    ///
    /// # Errors
    /// Returns a message that says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        Spec::<Make>::parse(text)?.make(|make, params| make.0(params))
    }
}

fn contiguity_aware(params: &mut Params) -> Result<Placement, String> {
    let reserved = "contiguous frames that are reserved at once";
    let batch = params.take("batch", reserved, 4, 2..=1 << 20)?;
    let flushing = "with less free memory, programs that flush get single frames";
    let high = params.take("high", flushing, HIGH, Sizes)?;
    let all = "with less free memory, all programs get single frames";
    let low = params.take("low", all, LOW, Sizes)?;
    let batches = Batches::take(batch, params)?;
    Ok(Placement::Batches(Batches {
        high,
        low,
        ..batches
    }))
}

/// The memory of the machine.
fn memory(params: &mut Params) -> Result<Bytes, String> {
    params.take("memory", "memory that there is", MEMORY, Sizes)
}

impl Batches {
    fn take(batch: u64, params: &mut Params) -> Result<Self, String> {
        let run = "contiguous frames of free memory";
        Ok(Self {
            batch,
            run: params.take("run", run, RUN, 1..=1 << 20)?,
            memory: memory(params)?,
            high: HIGH,
            low: LOW,
        })
    }
}

impl Coloured {
    fn take(params: &mut Params) -> Result<Self, String> {
        let colours = params.take("colours", "colours that there are", COLOURS, 1..=1 << 20)?;
        let memory = memory(params)?;
        let meaning = "colours of each program, all of them together";
        let text = params.text("shares", meaning, "", "numbers with / between them");
        let shares: Option<Vec<u64>> = text.split('/').map(|share| share.parse().ok()).collect();
        let shares = shares.filter(|shares| !shares.contains(&0) && sum(shares) == Some(colours));
        let shares = shares.ok_or_else(|| {
            format!("shares={text}: colours of each program, {colours} together, as 24/8")
        })?;
        Ok(Self {
            colours,
            shares,
            memory,
        })
    }
}

/// Any size.
struct Sizes;

impl Values<Bytes> for Sizes {
    fn read(&self, text: &str) -> Option<Bytes> {
        Bytes::parse(text).ok()
    }

    fn write(&self, value: &Bytes) -> String {
        value.to_string()
    }

    fn describe(&self) -> String {
        "a size".to_owned()
    }

    fn expected(&self) -> String {
        "a size, as 4G".to_owned()
    }
}

fn sum(shares: &[u64]) -> Option<u64> {
    shares
        .iter()
        .try_fold(0u64, |sum, share| sum.checked_add(*share))
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
