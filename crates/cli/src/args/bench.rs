//! What can be written after `terrace bench`.

use std::path::PathBuf;

use clap::Args;
use terrace_live::run::Dram;
use terrace_live::tier;
use terrace_policy::prefetch::Spec;

use super::prefetch;

/// Run a suite of real programs with a DRAM budget, all ways, and compare them
///
/// Each program is run all in DRAM, with the kernel's swap, with that without readahead
/// (kernel-cpf), and with terrace once for each --prefetch; these take turns, as often as
/// --repeat says. Each checks its own result. Everything changed on the machine is put back.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace bench --list
  terrace bench live --json live.json
  terrace bench osvpp --only kmeans --dram 50% --repeat 1
  terrace bench live --prefetch stream --prefetch spatial
  terrace bench --table live.json

A suite of your own is a folder with a suite.toml, as those of benches/ in terrace's source.
Generated inputs are kept in the directory that BENCH_DATA names (default: terrace-bench in the
temporary directory).

Exit code: 1 if a program failed; a bar that is missed is for the reader to judge.
Needs root, or the capabilities that `terrace doctor` names, and an otherwise idle machine.")]
pub struct Bench {
    /// A suite that is built in (see --list), or a folder with a suite.toml
    #[arg(value_name = "SUITE", required_unless_present_any = ["list", "table"])]
    pub suite: Option<String>,

    /// Run only this program (may be given again)
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// DRAM budget in place of the suite's, as a size or a share of the footprint (may be given
    /// again)
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, allow_hyphen_values = true)]
    pub dram: Vec<Dram>,

    /// Run each way this often in place of the suite's, and take the median
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: Option<u32>,

    /// Where the rest goes, as in `terrace run`
    #[arg(long, value_name = "TIER", value_parser = tier::Spec::parse)]
    pub tier: Option<tier::Spec>,

    /// How pages are fetched ahead (may be given again, each a way of its own): see the list below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", value_parser = Spec::parse,
          default_value = "auto",
          long_help = prefetch::help("How pages are fetched ahead (may be given again):", &[]))]
    pub prefetch: Vec<Spec>,

    /// Write the results to FILE, after each program and budget anew
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// List the suites, or the programs of one
    #[arg(long)]
    pub list: bool,

    /// Only print the table of a file that --json has written
    #[arg(long, value_name = "FILE", exclusive = true)]
    pub table: Option<PathBuf>,

    /// No word about what goes on, only the table
    #[arg(short, long)]
    pub quiet: bool,
}
