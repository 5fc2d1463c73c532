//! Options of `terrace doctor`.

use clap::Args;

use super::Results;

/// Check what this machine can do, and what is missing
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace doctor
  sudo terrace doctor --clean
  terrace doctor --json | jq .ready")]
pub struct Doctor {
    #[command(flatten)]
    pub results: Results,

    /// Undo changes that a killed run left behind: its cgroup, swap area and sysctl
    #[arg(long)]
    pub clean: bool,
}
