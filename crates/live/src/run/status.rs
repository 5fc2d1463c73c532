//! The state of a running program.

use std::time::Duration;

use terrace_base::Bytes;

use crate::group::budget::Usage;
use crate::group::counters::SwapCounters;
use crate::steer::Progress;

/// State of a running program.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// Time since the start.
    pub elapsed: Duration,
    /// Memory of the program.
    pub usage: Usage,
    /// DRAM budget.
    pub limit: Option<Bytes>,
    /// Figures of steering.
    pub progress: Option<Progress>,
    /// Reads and writes of the tier since the start of the program.
    pub tier: SwapCounters,
    /// What others have in the tier's areas.
    pub others: Bytes,
}
