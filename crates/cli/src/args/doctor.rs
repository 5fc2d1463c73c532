//! What can be written after `terrace doctor`.

use clap::Args;

/// Say what this machine can do, and what is missing
#[derive(Args)]
pub struct Doctor {
    /// For machines
    #[arg(long)]
    pub json: bool,

    /// Find and remove what a killed run left behind: its cgroup, its swap area, its sysctl
    #[arg(long)]
    pub clean: bool,
}
