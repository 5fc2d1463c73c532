//! Arguments of `terrace validate`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_base::count::{parse_count, whole};
use terrace_live::run::Dram;

use super::run::live;
use super::sched::Turns;
use super::{AsUser, Results, SeeLimit, Tier};

/// Run a program, simulate it, and compare the two
///
/// The machine is measured; the program is run live with all the DRAM it wants and under the
/// budget, then recorded and simulated. The simulator is given the measured costs of the machine
/// and the program's time with all the DRAM; it predicts everything else.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(disable_help_subcommand = true)]
#[command(override_usage = "terrace validate [OPTIONS] <-- PROGRAM... | mix ...>")]
#[command(after_long_help = "\
Examples:
  terrace validate -- ./program --its --options
  terrace validate --dram 50% --prefetch stream --repeat 5 -- python3 job.py
  terrace validate --calibration machine.json --trace program.parquet -- ./program

Needs qemu-user (Debian: apt-get install qemu-user), and root, or the capabilities that
`terrace doctor` names. Recording takes many times as long as the program.")]
pub struct Validate {
    #[command(subcommand)]
    pub other: Option<Other>,

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
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub calibration: Option<PathBuf>,

    /// Use a trace of this program instead of recording
    ///
    /// Made by `terrace record --level pages`.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub trace: Option<PathBuf>,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    #[command(flatten)]
    pub view: SeeLimit,

    /// Print errors only: no notices, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub program: Vec<OsString>,
}

/// What else than one program is validated.
#[derive(Subcommand)]
pub enum Other {
    Mix(Box<ValidateMix>),
}

/// Run programs that share CPUs, simulate them, and compare the two
///
/// The last-level cache is measured; each program is run alone, and then all together under the
/// kernel alone and under each policy, as `terrace sched run --compare` does; then each is
/// recorded, and they are simulated as `terrace sim mix` does. The simulator is given the machine's
/// caches, the kernel's own turns and each program's CPU time alone; it predicts when they end and
/// how many turns they have until then. Their standard input is empty.
#[derive(Args)]
#[command(override_usage = "terrace validate mix [OPTIONS] -- <PROGRAM> [-- PROGRAM]...")]
#[command(after_long_help = "\
Examples:
  terrace validate mix --cpus 0 -- ./solver a -- ./solver b -- ./solver c -- ./solver d
  terrace validate mix --cpus 0 --slice 15ms,45ms --repeat 5 -- ./solver a -- ./solver b

Needs qemu-user (Debian: apt-get install qemu-user), and what `terrace sched run` needs.")]
pub struct ValidateMix {
    #[command(flatten)]
    pub turns: Turns,

    /// Run each way N times, and take the median
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = whole(1..=100_u32))]
    pub repeat: u32,

    /// Record this number of touches of lines of each program
    ///
    /// The later half is simulated, again and again: it should touch all that the program works
    /// with, and the first half should be longer than the program's set-up.
    #[arg(long, value_name = "N", default_value = "100M", value_parser = parse_count)]
    pub rows: u64,

    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub user: AsUser,

    /// Print errors only: no notices, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// Programs and their arguments, each behind --
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    pub programs: Vec<OsString>,
}

/// Parses a way to fetch ahead that both drivers have.
fn prefetch(text: &str) -> Result<String, String> {
    if !matches!(text, "off" | "readahead") {
        live(text, "off, readahead, ")?;
    }
    Ok(text.to_owned())
}
