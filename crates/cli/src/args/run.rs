//! What can be written after `terrace run`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use terrace_base::Bytes;
use terrace_live::run::Dram;
use terrace_live::tier;
use terrace_policy::prefetch::Spec;
use terrace_report::lifetime::Endurance;

use super::prefetch;

/// Run a program with a DRAM budget, the rest of its memory in a slower tier
///
/// The program runs in a memory cgroup. Beyond its budget the kernel moves pages to the tier;
/// terrace watches the faults from another core, foresees what comes next and has it fetched
/// ahead. At the end a table says what it cost. Everything changed on the machine is put back.
#[derive(Args)]
#[command(after_help = "\
Examples:
  terrace run --dram 4G -- ./program --its --options
  terrace run --dram 25% --compare --repeat 3 -- python3 job.py
  terrace run --dram 2G --tier /mnt/nvme --endurance 600TBW --json cost.json -- ./program

Exit code: the program's own; 2 for wrong usage; 1 where terrace failed.
Needs root, or the capabilities that `terrace doctor` names.")]
pub struct Run {
    /// DRAM that the program may use: 4G, 512MiB, bytes, or 25% of its footprint
    #[arg(long, value_name = "SIZE", value_parser = Dram::parse, allow_hyphen_values = true)]
    pub dram: Dram,

    /// All memory that the program uses; without it, a share is measured by a first run
    #[arg(long, value_name = "SIZE", value_parser = Bytes::parse, allow_hyphen_values = true)]
    pub footprint: Option<Bytes>,

    /// Where the rest goes: a directory (a swap file is made there), a blank block device,
    /// `zram`, or `existing` (what the machine swaps to) [default: a swap file in the state
    /// directory]
    #[arg(long, value_name = "TIER", value_parser = tier::Spec::parse)]
    pub tier: Option<tier::Spec>,

    /// How pages are fetched ahead: see the list below
    #[arg(long, value_name = "NAME[:KEY=VALUE,..]", value_parser = parse_prefetch,
          default_value = "auto", long_help = prefetch_help())]
    pub prefetch: Prefetch,

    /// Run the program in all ways (all-dram, kernel, kernel-cpf, terrace) and compare them
    #[arg(long)]
    pub compare: bool,

    /// Run each way this often, interleaved, and take the median
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,

    /// What the tier's device may have written to it, as 600TBW: says how long it would last
    #[arg(long, value_name = "TBW", value_parser = Endurance::parse, allow_hyphen_values = true)]
    pub endurance: Option<Endurance>,

    /// Write the results and the effective settings to FILE as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// No status line, no table
    #[arg(short, long)]
    pub quiet: bool,

    /// The program and its arguments, behind --
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
}

/// A predictor, or none for `off`.
#[derive(Clone)]
pub struct Prefetch(pub Option<Spec>);

fn parse_prefetch(name: &str) -> Result<Prefetch, String> {
    if name == "off" {
        return Ok(Prefetch(None));
    }
    Spec::parse(name).map(|spec| Prefetch(Some(spec)))
}

fn prefetch_help() -> String {
    prefetch::help(
        "How pages are fetched ahead:",
        &[("off", "the kernel as it is")],
    )
}
