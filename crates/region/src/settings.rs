//! Settings of an extension.

use terrace_base::Bytes;
use terrace_policy::{prefetch, replacement, write};

use crate::slow::Slow;

/// Settings of an extension.
pub struct Settings {
    /// Most DRAM that the pages of all regions take, [`Settings::LEAST_DRAM`] pages at least. The
    /// pager's own tables are not part of it.
    pub dram: Bytes,
    /// Which pages stay in DRAM. The policy sees faults, no touches of pages in DRAM.
    pub replacement: replacement::Spec,
    /// Which pages are fetched before they are touched; `None` fetches at faults alone.
    pub prefetch: Option<prefetch::Spec>,
    /// What is written of pages that leave.
    pub write: write::Spec,
    /// Holds the pages that are not in DRAM.
    pub slow: Box<dyn Slow>,
    /// Whether every eviction is shown to every write scheme, which takes a thread, and memory for
    /// two or three copies of each page that was evicted.
    pub judge: bool,
}

impl Settings {
    /// The least DRAM in pages.
    pub const LEAST_DRAM: u64 = 8;

    /// Settings with first in, first out, as Awad 2016 has it, passes foreseen, and dirty pages
    /// written as a whole.
    pub fn new(dram: Bytes, slow: Box<dyn Slow>) -> Self {
        let fifo = replacement::Spec::parse("fifo").expect("a policy of the registry");
        let stream = prefetch::Spec::parse("stream").expect("a predictor of the registry");
        let inclusive = write::Spec::parse("inclusive").expect("a scheme of the registry");
        Self {
            dram,
            replacement: fifo,
            prefetch: Some(stream),
            write: inclusive,
            slow,
            judge: false,
        }
    }
}
