//! What can be written after `terrace validate`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use terrace_live::run::Dram;
use terrace_live::tier;

use super::prefetch;

/// Run a program, simulate it, and hold the two against each other
///
/// The machine is measured, the program run live with all the DRAM it wants and under the budget,
/// recorded, and simulated. The simulator is told the costs that were measured of the machine, and
/// of the program its time with all the DRAM; everything else it predicts.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace validate -- ./program --its --options
  terrace validate --dram 50% --prefetch stream --repeat 5 -- python3 job.py
  terrace validate --calibration machine.json --trace program.parquet -- ./program

Needs qemu-user (Debian: apt-get install qemu-user), and root, or the capabilities that
`terrace doctor` names. Recording takes many times as long as the program.")]
pub struct Validate {
    /// DRAM that the program may use: 64M, or 25% of its footprint
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, default_value = "25%",
          allow_hyphen_values = true)]
    pub dram: Dram,

    /// Where the rest goes: a directory, a blank block device, `zram`, or `existing` [default: the
    /// state directory]
    #[arg(long, value_name = "TIER", value_parser = tier::Spec::parse)]
    pub tier: Option<tier::Spec>,

    /// How pages are fetched ahead: see the list below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", default_value = "off",
          long_help = prefetch_help())]
    pub prefetch: String,

    /// Run it this often live, and take the median
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,

    /// Readings that `terrace calibrate --json` wrote, instead of measuring
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,

    /// A trace of this very program, instead of recording: `terrace record --level pages`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    /// Write both sides to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No word on what goes on
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub program: Vec<OsString>,
}

fn prefetch_help() -> String {
    prefetch::help(
        "How pages are fetched ahead:",
        &[
            ("off", "nothing: single pages, on demand"),
            ("readahead", "the kernel's readahead, as the machine is set"),
        ],
    )
}
