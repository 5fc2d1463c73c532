//! Arguments of `terrace sim files`.

use std::path::PathBuf;

use clap::Args;
use terrace_base::Result;
use terrace_sim::files::FilesSimulation;

use super::level::{Common, Level};

/// Simulate a page cache in DRAM with flash behind it and a disk
///
/// Says how many reads a flash level would serve, how much time that saves, how much is written to
/// the flash and how long it lives (Koob 2010, the extended buffer cache). Requests are served one
/// after the other in virtual time. Where options have several values, all combinations are
/// simulated, and compared with the first.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim files --dram 64M --flash-size off,256M,1G a.oracleGeneral
  terrace sim files --dram 64M --flash-size 1G --admission all,sketch a.csv
  terrace sim files --dram 64M --flash-size 1G --interval 1s --budget 1G a.csv
  terrace sim files --dram 64M --flash-size 1G --organisation memory a.csv
  terrace sim files --dram 64M --flash-size 1G --flash-slow-down 1,5 a.csv
  terrace sim files --dram 64M --flash-size off,1G --readahead off,128K a.parquet

Traces are of requests for files or blocks: those of libCacheSim (oracleGeneral, CSV), and any other that
terrace reads, whose addresses are taken for places on the disk. `terrace trace gen postmark` makes one
of the benchmark of Koob 2010. Several traces are served one after the other, each with files of its own.
For --readahead a trace says where its files lie, as those of postmark and `terrace mount --record` do; a
file ends where the trace has last read or written. Objects are files. Any other trace is one file, a disk.

The rules: a page comes from DRAM, or else from flash, or else from the disk, which seeks where the page does
not follow the one before. A page that is written leaves flash. What flash lives is its endurance by the
bytes written a day; without --interval requests follow each other at once. All figures are simulated.")]
#[command(mut_arg("limit", |limit| limit.help("Simulate only the first requests of each trace")))]
pub struct Files {
    /// Traces of requests, served one after the other
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,

    #[command(flatten)]
    pub common: Common<FilesSimulation>,
}

impl Level for Files {
    type Simulation = FilesSimulation;

    fn traces(&self) -> &[PathBuf] {
        &self.traces
    }

    fn common(&self) -> &Common<FilesSimulation> {
        &self.common
    }

    fn beside(&self) -> Result<()> {
        Ok(())
    }
}
