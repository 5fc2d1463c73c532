//! What can be written after `terrace sweep`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_base::apart::Named;
use terrace_sim::pages::{Beside, PageSimulation};

use super::level::{Common, Level};
use super::measured::Measured;

/// Simulate each of several traces on many machines, into one table
///
/// As `sim pages`, with all combinations of what is listed; but each trace runs alone, on every
/// machine. The results are files for pandas, polars, DuckDB or a spreadsheet, a row a machine and
/// trace, in the order of the combinations. A sweep that is stopped goes on where it was, on this
/// host or another: give the same command again.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
#[command(mut_arg("limit", |limit| limit.hide_short_help(false)))]
#[command(mut_arg("quiet", |quiet| quiet.help("No progress bar, and no word at the end")))]
pub struct Sweep {
    /// Traces, each simulated alone
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    /// Where results go: NAME.parquet and NAME.csv
    ///
    /// Into a directory as sweep.parquet and sweep.csv.
    #[arg(short, long, value_name = "NAME", display_order = 0)]
    pub output: PathBuf,

    /// Where finished results are kept [default: NAME.results]
    ///
    /// A directory, or with object storage a URI such as s3://bucket/sweep. Sweeps of any hosts may
    /// share it, and those of the Python package.
    #[arg(long, value_name = "DIR", display_order = 0)]
    pub results: Option<PathBuf>,

    #[command(flatten)]
    pub common: Common<PageSimulation>,

    #[command(flatten)]
    measured: Measured,
}

impl Level for Sweep {
    type Simulation = PageSimulation;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<PageSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<Beside> {
        Ok(Beside {
            machine: self.measured.machine()?,
            epoch: None,
        })
    }

    fn others_read(&self) -> Vec<Named<'_>> {
        self.measured.inputs()
    }
}

const EXAMPLES: &str = "\
Examples:
  terrace sweep --dram 12.5%,25%,50% --replacement lru,arc,s3fifo gcc.parquet mcf.parquet -o out
  terrace sweep --dram 25% --memory pcm,flash --fault-cost 700,1400,2800 *.parquet -o costs

All figures are simulated. What is finished is kept in NAME.results, a Parquet file for up to 16
machines. Later sweeps take from it what they need, and any number of sweeps may use it at once;
remove it when none is to come. Digests of traces that hold none are kept in TERRACE_CACHE, else
~/.cache/terrace. All processors are used; RAYON_NUM_THREADS=N uses fewer. The columns are listed by
`terrace list columns`.";
