//! What steering saw and did, by process: in JSON and as a table.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_live::watch::tally::ProcessFigures;

/// Figures of one process. `fetched` is the sum of `used`, `late`, `reissued` and `wasted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Number of the process; 0 for the sum of those with the fewest, if there are more than a
    /// thousand.
    pub pid: u32,
    /// Name, as in `/proc/PID/comm`; empty if it had ended when it was asked for.
    pub name: String,
    /// Major faults that steering saw; it does not watch while watching does not pay.
    pub faults_seen: u64,
    /// Pages fetched ahead.
    pub fetched: u64,
    /// Fetched pages that were touched after they had arrived.
    pub used: u64,
    /// Fetched pages that were touched before they had arrived.
    pub late: u64,
    /// Fetches that read nothing, because a demand fault had begun to read the page.
    pub reissued: u64,
    /// Fetched pages that were evicted, or whose process ended, before they were touched.
    pub wasted: u64,
}

impl From<&ProcessFigures> for Process {
    fn from(found: &ProcessFigures) -> Self {
        Self {
            pid: found.pid,
            name: found.name.clone(),
            faults_seen: found.faults,
            fetched: found.fetched,
            used: found.used,
            late: found.late,
            reissued: found.reissued,
            wasted: found.wasted,
        }
    }
}
