//! What is asked of a curve.

use terrace_base::{Error, Result};
use terrace_policy::replacement::Spec;

use super::sample::Sampling;
use crate::pages::Dram;

/// The rate of policies that are no stack algorithms, if none is given.
const MINIATURE: f64 = 0.1;

/// What is asked of a curve.
#[derive(Clone, Debug)]
pub struct CurveSettings {
    /// Replacement policies, a curve each.
    pub policies: Vec<Spec>,
    /// Sizes of DRAM.
    pub sizes: Sizes,
    /// Share of the pages that is simulated, from more than 0 to 1; `None` for all pages of
    /// policies that one pass is enough for, and for a tenth of the pages of others.
    pub rate: Option<f64>,
    /// Samples into which these pages are dealt out; there is one if all pages are simulated.
    pub samples: u32,
    /// Seed of the samples, and of policies that draw random numbers.
    pub seed: u64,
}

/// Sizes of DRAM at which a curve has points.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// These.
    Some(Vec<Dram>),
    /// All sizes before and behind which the misses differ; for policies that one pass is enough
    /// for.
    All,
}

impl Default for CurveSettings {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            sizes: Sizes::twentieths(),
            rate: None,
            samples: 1,
            seed: 0,
        }
    }
}

impl Sizes {
    /// Reads `all`, or amounts as [`Dram::parse`] does with commas between them. Shares are of the
    /// footprint.
    ///
    /// # Errors
    /// A usage error where the text is neither.
    pub fn parse(text: &str) -> Result<Self> {
        match text {
            "all" => Ok(Self::All),
            _ => {
                let amounts = text.split(',').map(Dram::parse);
                amounts.collect::<Result<_>>().map(Self::Some)
            }
        }
    }

    /// Returns twenty shares of the footprint, up to all of it.
    pub fn twentieths() -> Self {
        let shares = (1..=20).map(|part| Dram::Ratio(f64::from(part) / 20.0));
        Self::Some(shares.collect())
    }
}

/// Reads the share of the pages that is simulated.
///
/// # Errors
/// A usage error where the text is no number above 0 and at most 1.
pub fn parse_rate(text: &str) -> Result<f64> {
    let rate = text.parse().ok().filter(|rate| is_share(*rate));
    rate.ok_or_else(|| no_share(text))
}

fn is_share(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

fn no_share(text: &str) -> Error {
    Error::usage(format!(
        "`{text}` is no share of the pages; give one above 0, at most 1"
    ))
}

/// Whether one pass over a trace tells a policy's misses at all sizes.
pub(super) fn is_stack(policy: &Spec) -> bool {
    policy.entry().name == "lru"
}

impl CurveSettings {
    /// Checks that the settings go together.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(rate) = self.rate
            && !is_share(rate)
        {
            return Err(no_share(&rate.to_string()));
        }
        if self.samples == 0 {
            return Err(Error::usage("pages are dealt out to at least one sample"));
        }
        let simulated = self.policies.iter().find(|policy| !is_stack(policy));
        match (&self.sizes, simulated) {
            (Sizes::All, Some(policy)) => Err(Error::usage(format!(
                "{policy} would be simulated at every size by itself; name sizes, as in ‘dram’ 10%,20%, or ask for \
                 all of lru alone"
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the samples for a policy.
    pub(super) fn sampling(&self, policy: &Spec) -> Sampling {
        let rate = self.rate.unwrap_or(match is_stack(policy) {
            true => 1.0,
            false => MINIATURE,
        });
        let every = (1.0 / rate).round().min(f64::from(u32::MAX)) as u32;
        Sampling {
            every,
            samples: if every == 1 { 1 } else { self.samples },
            seed: self.seed,
        }
    }
}
