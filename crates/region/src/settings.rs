//! Settings of an extension.

use terrace_base::{Bytes, Error, Result};
use terrace_policy::{prefetch, replacement, write};

use crate::slow::Slow;

/// Settings of an extension.
pub struct Settings {
    /// Most DRAM that the pages of all regions take, [`Settings::LEAST_DRAM`] pages at least. The
    /// pager's own tables are not part of it.
    pub dram: Bytes,
    /// Which pages stay in DRAM. The policy sees faults, and of touches of pages in DRAM those that
    /// `references` shows.
    pub replacement: replacement::Spec,
    /// The share of the policy's pages whose next touch is shown to it, by a soft fault: those that
    /// have been at their addresses for longest. Above 0, and [`Settings::MOST_REFERENCES`] at
    /// most; `None` shows none, and takes nothing.
    pub references: Option<f64>,
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

    /// The largest share of [`Settings::references`]: some pages have to stay at their addresses.
    pub const MOST_REFERENCES: f64 = 0.9;

    /// Checks a share for [`Settings::references`].
    ///
    /// # Errors
    /// Returns a usage error if it is too small or too large.
    pub fn check_references(share: f64) -> Result<()> {
        match share > 0.0 && share <= Self::MOST_REFERENCES {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "references cannot be sampled of {} % of the pages in DRAM; name a share above 0 % and up to {} %",
                (share * 1e8).round() / 1e6,
                Self::MOST_REFERENCES * 100.0
            ))),
        }
    }

    /// Settings with first in, first out, as Awad 2016 has it, passes foreseen, and dirty pages
    /// written as a whole.
    pub fn new(dram: Bytes, slow: Box<dyn Slow>) -> Self {
        let fifo = replacement::Spec::parse("fifo").expect("a policy of the registry");
        let stream = prefetch::Spec::parse("stream").expect("a predictor of the registry");
        let inclusive = write::Spec::parse("inclusive").expect("a scheme of the registry");
        Self {
            dram,
            replacement: fifo,
            references: None,
            prefetch: Some(stream),
            write: inclusive,
            slow,
            judge: false,
        }
    }
}
