//! Counts of a store.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a store has done since it was opened. Pages have 4 KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Pages that were asked for and found.
    pub hits: u64,
    /// Pages that were asked for and not found, with those that the index took for another page.
    pub misses: u64,
    /// Pages that were found and did not check, or could not be read: these count as misses too.
    pub damaged: u64,
    /// Pages that were put.
    pub admitted: u64,
    /// Pages that were refused because the endurance budget is used up.
    pub refused_budget: u64,
    /// Pages that were refused because a full segment was still being written.
    pub refused_busy: u64,
    /// Pages that were refused because their file had just been changed, or changed meanwhile.
    pub refused_changed: u64,
    /// Pages that were used, and therefore written again when their segment was emptied.
    pub kept: u64,
    /// Pages that were dropped because they were written, or their file truncated.
    pub dropped: u64,
    /// Files that were dropped because they had changed behind the store's back.
    pub changed_behind: u64,
    /// Files that were dropped because others had them open when they were changed.
    #[serde(default)]
    pub changed_beside: u64,
    /// Segments that were written.
    pub segments: u64,
    /// Segments that could not be written.
    pub write_errors: u64,
    /// Bytes that were written to the medium.
    pub written_bytes: u64,
}

impl Counts {
    /// Returns the bytes that were written to the medium over those of admitted pages; `None`
    /// without any of these.
    pub fn write_amplification(&self) -> Option<f64> {
        let admitted = self.admitted * terrace_base::bytes::PAGE_BYTES;
        (self.segments > 0 && admitted > 0).then(|| self.written_bytes as f64 / admitted as f64)
    }
}
