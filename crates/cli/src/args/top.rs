//! Arguments of `terrace top`.

use std::path::PathBuf;

use clap::Args;
use terrace_daemon::protocol::SOCKET;

/// Watch the targets of terraced on a terminal
///
/// A row for each target: its DRAM and what it has in the tier, the share of its time that it
/// stands still for memory, its DRAM within the last minutes, and the last decision. Below are the
/// decisions of all targets.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  terrace top

Keys: arrows, Page Up and Page Down move through the decisions, Home goes back to the newest; q, Esc
or Ctrl-C ends.

Exit code: 0; 1 where terraced does not answer, or standard output is no terminal.")]
pub struct Top {
    /// The socket of terraced
    #[arg(long, value_name = "PATH", default_value = SOCKET, hide_short_help = true)]
    pub socket: PathBuf,
}
