//! What can be written after `terrace sweep`.

use std::path::PathBuf;

use clap::Args;

use super::Results;
use super::machines::Machines;
use super::reading::Reading;
use terrace_base::count::parse_count;

/// Simulate each of several traces on many machines, into one table
///
/// As `sim pages`, with all combinations of what is listed; but each trace runs alone, on every
/// machine. The results are files for pandas, polars, DuckDB or a spreadsheet, a row a machine and
/// trace, in the order of the combinations. A sweep that is stopped goes on where it was: give the
/// same command again.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Sweep {
    /// Traces, each simulated alone
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    /// Where results go: NAME.parquet and NAME.csv
    ///
    /// Into a directory as sweep.parquet and sweep.csv.
    #[arg(short, long, value_name = "NAME")]
    pub output: PathBuf,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub reading: Reading,

    /// Simulate only the first accesses of each trace
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub limit: Option<u64>,

    /// No progress bar, and no word at the end
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub machines: Machines,
}

const EXAMPLES: &str = "\
Examples:
  terrace sweep --dram 12.5%,25%,50% --replacement lru,arc,s3fifo gcc.parquet mcf.parquet -o out
  terrace sweep --dram 25% --memory pcm,flash --fault-cost 700,1400,2800 *.parquet -o costs

All figures are simulated. What is finished is kept in NAME.partial.jsonl until all is. All
processors are used; RAYON_NUM_THREADS=N uses fewer. The columns are listed by
`terrace list columns`.";
