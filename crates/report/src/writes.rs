//! What was seen of the pages written to the tier.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_live::run::Outcome;

/// What was seen of the pages written to the tier. A page found at another place of the tier was
/// written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Writes {
    /// Writes whose contents were looked at, pages of zeros included.
    pub looked_at: u64,
    /// Pages that left DRAM to the tier, of the whole machine: written, or zeros, which Linux 6.12
    /// does not write.
    pub of: u64,
    /// Pages of zeros among those looked at.
    pub zeros: u64,
    /// Pages that repeat another word of 8 bytes, among them.
    pub same_filled: u64,
    /// Those of them whose page had an earlier write that was looked at.
    pub again: u64,
    /// Those of `again` that held what was seen of their page before.
    pub unchanged: u64,
    /// Bytes that were read from the tier for this.
    pub read_bytes: u64,
    /// Processor time that it took in seconds.
    pub cpu_s: f64,
}

impl Writes {
    /// Returns what was seen of the writes of a run, if anything looked.
    pub(crate) fn of(outcome: &Outcome) -> Option<Self> {
        let written = outcome.written?;
        let counts = written.counts;
        Some(Self {
            looked_at: counts.looked_at,
            of: outcome.tier_written.pages() + outcome.tier_zeros,
            zeros: counts.zeros,
            same_filled: counts.same_filled,
            again: counts.again,
            unchanged: counts.unchanged,
            read_bytes: written.read.0,
            cpu_s: written.cpu.as_secs_f64(),
        })
    }
}
