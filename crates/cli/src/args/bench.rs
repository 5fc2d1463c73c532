//! Options of `terrace bench`.

use std::path::PathBuf;

use clap::Args;
use terrace_live::run::Dram;
use terrace_policy::prefetch::Spec;

use super::run::{Evictions, evictions, live_predictor};
use super::{AsUser, Results, SeeLimit, Tier};
use terrace_base::count::whole;

/// Run a suite of real programs in all ways, and compare the ways
///
/// Each program runs all in DRAM, with the kernel's swap, with the kernel's swap without readahead
/// (kernel-cpf), and with terrace once for each --prefetch. The ways take turns, --repeat times.
/// Each program checks its own result. All changes of the machine are undone.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace bench --list
  terrace bench live --json live.json
  terrace bench osvpp --only kmeans --dram 50% --repeat 1
  terrace bench live --prefetch stream --prefetch spatial
  terrace bench --table live.json

A suite of your own is a folder with a suite.toml, as those of benches/ in terrace's source.
Generated inputs are kept in the directory that BENCH_DATA names (default: terrace-bench in the
temporary directory).

A file of --json is written anew after each program and budget.

Exit code: 1 if a program failed; a bar that is missed is for the reader to judge.
Needs root, or the capabilities that `terrace doctor` names, and an otherwise idle machine.")]
pub struct Bench {
    /// Built-in suite (see --list), or a folder with a suite.toml
    #[arg(value_name = "SUITE", required_unless_present_any = ["list", "table"])]
    pub suite: Option<String>,

    /// Run only this program (repeatable)
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,

    /// DRAM budget instead of the suite's (repeatable)
    ///
    /// A size, or a share of the footprint.
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, allow_hyphen_values = true)]
    pub dram: Vec<Dram>,

    /// Repetitions of each way instead of the suite's
    ///
    /// Results are medians.
    #[arg(long, value_name = "N", value_parser = whole(1..=1000_u32))]
    pub repeat: Option<u32>,

    #[command(flatten)]
    pub tier: Tier,

    /// Predictor of the pages to fetch (repeatable)
    ///
    /// Each is a way of its own. `terrace list predictors` lists predictors, and
    /// `terrace explain NAME` their settings.
    #[arg(long, value_name = "NAME", value_parser = live_predictor, default_value = "auto")]
    pub prefetch: Vec<Spec>,

    /// What leaves DRAM before the kernel needs room: hold, or kernel for its choice alone
    ///
    /// Each of several is a way of its own, as hold,kernel.
    #[arg(long, value_name = "NAME", value_parser = evictions, default_value = "hold")]
    pub eviction: Evictions,

    #[command(flatten)]
    pub user: AsUser,

    #[command(flatten)]
    pub view: SeeLimit,

    #[command(flatten)]
    pub results: Results,

    /// List the suites, or the programs of one
    #[arg(long)]
    pub list: bool,

    /// Show the results in a file of --json instead of running programs
    #[arg(long, value_name = "FILE", conflicts_with_all = ["suite", "only", "dram", "list"])]
    pub table: Option<PathBuf>,

    /// Print only errors and the table: no status, no notices
    #[arg(short, long)]
    pub quiet: bool,
}
