//! Options of `terrace calibrate`.

use std::path::PathBuf;

use clap::Args;

use super::{Results, Tier};

use terrace_base::count::whole;

/// Measure the costs of swapping on this machine, for the simulator
///
/// A probe runs under a DRAM budget for some seconds and touches memory in a known order. Then the
/// last-level cache is measured as programs get it: its size, which may be far less than the
/// processor states, and the time to fill it again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace calibrate
  terrace calibrate --tier /mnt/nvme --machine nvme.toml
  terrace sim pages --machine nvme.toml --dram 25% trace.parquet
  terrace calibrate --json readings.json
  terrace validate --calibration readings.json -- ./program

Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Calibrate {
    #[command(flatten)]
    pub tier: Tier,

    /// Write the costs to FILE, for `terrace sim pages --machine`
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,
}

/// Run the probe of a calibration
#[derive(Args)]
pub struct Probe {
    /// Pages of DRAM
    #[arg(value_parser = whole(0..=usize::MAX))]
    pub pages: usize,

    /// Descriptor to which the readings are written
    #[arg(value_parser = whole(0..=i32::MAX))]
    pub descriptor: i32,
}
