//! Options of the guardian of `terrace sched`.

use clap::Args;
use terrace_base::count::whole;

/// Put tasks back while terrace sched is stopped, and after it was killed
#[derive(Args)]
pub struct Guard {
    /// The process that has started this one
    #[arg(value_parser = whole(1..=i32::MAX as u32))]
    pub owner: u32,
}
