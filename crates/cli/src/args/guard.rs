//! Options of the guardian.

use std::path::PathBuf;

use clap::Args;
use terrace_base::count::whole;

/// Put back what a command of terrace has changed, while it is stopped and after it was killed
#[derive(Args)]
pub struct Guard {
    /// The process that has started this one
    #[arg(value_parser = whole(1..=i32::MAX as u32))]
    pub owner: u32,

    /// The directory of its journal
    pub state: PathBuf,
}
