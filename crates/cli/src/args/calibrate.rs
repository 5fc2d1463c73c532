//! What can be written after `terrace calibrate`.

use std::path::PathBuf;

use clap::Args;
use terrace_live::tier;

/// Measure what swapping costs on this machine, for the simulator
///
/// A program of ours runs under a budget for some seconds and touches memory in a known order.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace calibrate
  terrace calibrate --tier /mnt/nvme --machine nvme.toml
  terrace sim pages --machine nvme.toml --dram 25% trace.parquet

Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Calibrate {
    /// Where pages go: a directory, a blank block device, `zram`, or `existing` [default: the
    /// state directory]
    #[arg(long, value_name = "TIER", value_parser = tier::Spec::parse)]
    pub tier: Option<tier::Spec>,

    /// Write what the simulator is told to FILE, for its option --machine
    #[arg(long, value_name = "FILE")]
    pub machine: Option<PathBuf>,

    /// Write the readings to FILE as JSON, for `terrace validate --calibration`
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The program that a calibration runs
#[derive(Args)]
pub struct Probe {
    /// Pages of DRAM
    pub pages: usize,

    /// The descriptor to tell to
    pub descriptor: i32,
}
