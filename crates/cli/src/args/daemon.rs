//! Options of `terrace status` and `terrace reload`.

use std::path::PathBuf;

use clap::Args;
use terrace_daemon::protocol::SOCKET;

use super::Results;

/// Show how the targets of terraced fare
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace status
  terrace status --json | jq '.status.targets[].counts'

Ends with 1 if terraced does not answer.
Needs root, or membership in the group `terrace`.")]
pub struct Status {
    #[command(flatten)]
    pub results: Results,

    #[command(flatten)]
    pub socket: Socket,
}

/// Have terraced read its configuration again
///
/// Targets that stay as they are go on undisturbed. A configuration that is wrong is refused as a
/// whole, and the one before goes on.
#[derive(Args)]
#[command(after_long_help = "\
Example:
  terrace reload

Ends with 1 if the configuration is wrong, or terraced does not answer.
Needs root.")]
pub struct Reload {
    #[command(flatten)]
    pub socket: Socket,

    /// Print only errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Where terraced answers.
#[derive(Args)]
pub struct Socket {
    /// Socket of terraced
    #[arg(long = "socket", value_name = "PATH", default_value = SOCKET, hide_short_help = true)]
    pub path: PathBuf,
}
