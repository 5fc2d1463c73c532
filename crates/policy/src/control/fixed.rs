//! `fixed`: no more DRAM than a given size.

use std::time::Duration;

use super::{Control, Entry, Make, Reason, Seen, Step};
use crate::page::PAGE_BYTES;
use crate::settings;
use crate::sizes::Sizes;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "fixed",
    summary: "no more DRAM than a given size, whatever it costs",
    paper: "a static limit, as memory.high of a control group",
    when: "The DRAM that a service may have is known, and its slow-down is not watched.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|params| Ok(Box::new(Settings::take(params)?))),
};

settings! {
    /// Settings of `fixed`.
    pub struct Settings {
        /// DRAM that the service keeps, as 4G
        dram: u64 = 1 << 30, Sizes(PAGE_BYTES..=1 << 60);
        /// time between two looks
        every: Duration = Duration::from_secs(1), Times::micros(1_000..=3_600_000_000);
    }
}

impl Control for Settings {
    fn every(&self) -> Duration {
        self.every
    }

    fn look(&mut self, seen: &Seen) -> (Step, Reason) {
        match seen.resident.saturating_sub(self.dram) {
            0 => (Step::Hold, Reason::Settled),
            more => (Step::Reclaim(more), Reason::Quiet),
        }
    }
}
