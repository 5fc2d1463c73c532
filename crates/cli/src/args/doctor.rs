//! Options of `terrace doctor`.

use clap::Args;

use super::Results;

/// Check what this machine can do, and what is missing
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace doctor
  sudo terrace doctor --clean
  terrace doctor --json | jq .ready

Ends with 1 if `terrace run` does not work here, or a killed run has left something behind; with
--clean, if something of that stays. What is not certainly of a dead run is named, and left.")]
pub struct Doctor {
    #[command(flatten)]
    pub results: Results,

    /// Undo changes that a killed run left behind: its cgroup, swap area and sysctl
    #[arg(long)]
    pub clean: bool,

    /// With --clean, print only what stays
    #[arg(short, long)]
    pub quiet: bool,
}
