//! Arguments of `terrace sim curve`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_sim::curve::CurveSimulation;

use super::level::{Common, Level};

/// Say how often programs miss at every size of DRAM
///
/// A curve for each replacement policy: the share of the touches of pages that is not in DRAM, over
/// its size. lru takes one pass over the traces for all sizes. For other policies a sample of the
/// pages is simulated at each size, with as large a share of DRAM, and the error to expect is said.
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
#[command(mut_arg("limit", |limit| limit.help("Use only the first accesses of each trace")))]
pub struct Curve {
    /// Traces, a program each; they share DRAM, one after the other
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    pub common: Common<CurveSimulation>,
}

impl Level for Curve {
    type Simulation = CurveSimulation;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<CurveSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<()> {
        Ok(())
    }
}
