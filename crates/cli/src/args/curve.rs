//! Arguments of `terrace sim curve`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::count::{parse_count, whole};
use terrace_base::{Error, Result};
use terrace_policy::replacement::Spec;
use terrace_sim::curve::{CurveSettings, Sizes, parse_rate};

use super::Results;
use super::reading::Reading;

/// Say how often programs miss at every size of DRAM
///
/// A curve for each replacement policy: the share of the touches of pages that is not in DRAM, over its size. lru
/// takes one pass over the traces for all sizes. For other policies a sample of the pages is simulated at each
/// size, with as large a share of DRAM, and the error to expect is said.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim curve gcc.parquet
  terrace sim curve --dram 64M,128M,256M gcc.parquet
  terrace sim curve --dram all --csv curve.csv gcc.parquet
  terrace sim curve --replacement lru,arc,s3fifo,belady --html curve.html gcc.parquet
  terrace sim curve --replacement arc --rate 0.01 large.parquet
  terrace sim curve --replacement fifo,clock --rate 1 small.parquet

At a rate of 1 misses are exact: those of `terrace sim pages` without prefetching, where the trace has one
thread. Of several threads, and several traces, touches are taken in the order of the traces here, and by
virtual time there. Below 1 they are estimated: one page in 1/RATE is drawn, and these are dealt out to
--samples that share none; the error is the standard error of their mean. What they have in common does not
show in it: a miniature DRAM of few pages is rough, and a higher --rate helps.

`terrace list policies` names the policies. Simulated pages are kept in memory: 8 bytes for each of their
touches, for policies other than lru.")]
pub struct Curve {
    /// Traces, a program each; they share DRAM, one after the other
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Use only the first accesses of each trace
    #[arg(long, value_name = "N", value_parser = parse_count, hide_short_help = true)]
    pub limit: Option<u64>,

    /// Replacement policies, a curve each
    ///
    /// `terrace list policies` names them. Settings follow a name, as in cflru:window=0.3.
    #[arg(long, value_name = "NAME,...", default_value = "lru")]
    replacement: String,

    /// Sizes of DRAM: 64M, 1000p (pages), 25% of the footprint; all [default: each 5%]
    ///
    /// With commas. `all` is each size at which the misses of lru change.
    #[arg(long, value_name = "SIZE,...", value_parser = Sizes::parse, allow_hyphen_values = true)]
    dram: Option<Sizes>,

    /// Share of the pages that is simulated [default: 1 for lru, or 0.1]
    ///
    /// From more than 0 to 1, where all are. One page in a whole number is: 0.3 is a third.
    #[arg(long, value_name = "SHARE", value_parser = parse_rate, allow_hyphen_values = true)]
    rate: Option<f64>,

    /// Samples into which these pages are dealt out
    ///
    /// From their spread follows the error; more of them know it better, and are smaller each.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole(1..=1000_u32), hide_short_help = true)]
    samples: u32,

    /// Seed of the samples, and of random numbers of policies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count, hide_short_help = true)]
    seed: u64,

    #[command(flatten)]
    pub results: Results,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,
}

impl Curve {
    /// Returns what is asked.
    ///
    /// # Errors
    /// A usage error where there is no such policy.
    pub fn settings(&self) -> Result<CurveSettings> {
        let policies = Spec::parse_list(&self.replacement);
        Ok(CurveSettings {
            policies: policies.map_err(|error| Error::usage(format!("--replacement: {error}")))?,
            sizes: self.dram.clone().unwrap_or_else(Sizes::twentieths),
            rate: self.rate,
            samples: self.samples,
            seed: self.seed,
        })
    }
}
