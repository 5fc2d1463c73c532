//! Arguments of `terrace validate`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use terrace_live::run::Dram;

use super::run::live;
use super::{AsUser, Results, Tier};
use terrace_base::count::whole;

/// Run a program, simulate it, and compare the two
///
/// The machine is measured; the program is run live with all the DRAM it wants and under the budget,
/// then recorded and simulated. The simulator is given the measured costs of the machine and the
/// program's time with all the DRAM; it predicts everything else.
#[derive(Args)]
#[command(after_long_help = "\
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

    #[command(flatten)]
    pub tier: Tier,

    /// How pages are fetched ahead
    ///
    /// `off` reads single pages on demand, `readahead` is the kernel's with the machine's setting.
    /// Predictors are listed by `terrace list predictors`.
    #[arg(long, value_name = "NAME", value_parser = prefetch, default_value = "off")]
    pub prefetch: String,

    /// Run each way N times, and take the median
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = whole(1..=100_u32))]
    pub repeat: u32,

    /// Use the readings of `terrace calibrate --json` instead of measuring
    #[arg(long, value_name = "FILE")]
    pub calibration: Option<PathBuf>,

    /// Use a trace of this program instead of recording
    ///
    /// Made by `terrace record --level pages`.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    /// Print errors only: no notices, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub program: Vec<OsString>,
}

/// Parses a way to fetch ahead that both drivers have.
fn prefetch(text: &str) -> Result<String, String> {
    if !matches!(text, "off" | "readahead") {
        live(text, "off, readahead, ")?;
    }
    Ok(text.to_owned())
}
