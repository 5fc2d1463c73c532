//! What can be written after `terrace sim`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::Results;
use super::curve::Curve;
use super::files::Files;
use super::llc::Llc;
use super::machines::Machines;
use super::mix::Mix;
use super::reading::Reading;
use terrace_base::count::{parse_count, whole};

/// Say beforehand what a memory and a policy would do to programs
#[derive(Args)]
pub struct Sim {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Pages(Box<Pages>),
    Llc(Box<Llc>),
    Mix(Box<Mix>),
    Files(Box<Files>),
    Curve(Box<Curve>),
}

/// Simulate machines with DRAM and a slower memory at the level of pages
///
/// The programs whose accesses the traces hold run on a machine of their own, all together, in
/// virtual time: threads touch pages, fault, and wait for the device. It is said how often they
/// missed, how much was written, how much slower they were than with DRAM alone, and how long the
/// slower memory would last. Where options have several values, all combinations are simulated in
/// one pass. With --write, the contents of pages that leave DRAM are given to write schemes: how much
/// each would write, and which lines that would wear out.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace sim pages --dram 25% gcc.parquet
  terrace sim pages --dram 12.5%,25%,50% --memory pcm,flash gcc.parquet
  terrace sim pages --dram 100000p --replacement fifo,lru,arc,s3fifo,belady zipf.parquet
  terrace sim pages --dram 25% --write page,inclusive,mfwr,dcw,dcw:pin=off contents.parquet
  terrace sim pages --dram 64M --replacement fifo --eviction-buffer 0 --unwritten zeros --write mfwr large.parquet
  terrace sim pages --dram 25% --fault-cost 700,1400,2800,13000,55000 gcc.parquet --html costs.html

All figures are simulated. `terrace record` makes traces of programs, `terrace trace gen` of
well-known patterns. The machine of the fifth example is that of `terrace extend --dram 64M`, its
trace one of `terrace record --extended --contents`.")]
pub struct Pages {
    /// Traces, a program each; several run on one machine, interleaved by their virtual time
    #[arg(value_name = "TRACE", required = true)]
    pub traces: Vec<PathBuf>,

    #[command(flatten)]
    pub reading: Reading,

    /// Simulate only the first accesses of each trace
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub limit: Option<u64>,

    #[command(flatten)]
    pub results: Results,

    /// How prefetching went, in epochs, as CSV
    ///
    /// How many pages were fetched, used, late and wasted, and their accuracy, a row an epoch and
    /// machine.
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<PathBuf>,

    /// Pages fetched ahead in an epoch of --timeline
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "timeline", hide_short_help = true,
          value_parser = whole(1..=u64::MAX))]
    pub timeline_epoch: u64,

    /// No progress bar
    #[arg(short, long)]
    pub quiet: bool,

    #[command(flatten)]
    pub machines: Machines,
}
