//! `senpai`: Meta's rule, a little of the DRAM at each look, less the nearer the stalls are to a
//! threshold.
//!
//! Weiner et al., TMO: transparent memory offloading in datacenters (ASPLOS 2022), section 3.3:
//! every six seconds, `resident * ratio * max(0, 1 - stalls / threshold)` is reclaimed. Nothing is
//! given back: what the service touches comes back by itself.

use std::time::Duration;

use super::{Control, Entry, Make, Reason, Seen, Step};
use crate::settings;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "senpai",
    summary: "a little of the DRAM at each look, less the nearer the stalls are to a threshold",
    paper: "Weiner et al., TMO (ASPLOS 2022), section 3.3",
    when: "To compare with, and where the pressure of a service may reach so much and no more.",
    evidence: crate::registry::Evidence {
        open: "The paper's threshold and ratio are those of Meta's fleet; each service there has the same.",
        compared: "",
    },
    make: Make(&|params| {
        let settings = Settings::take(params)?;
        Ok(Box::new(Senpai {
            settings,
            last: Duration::ZERO,
        }))
    }),
};

settings! {
    /// Settings of `senpai`.
    pub struct Settings {
        /// share of the time that the service may stand still for memory
        pressure: f64 = 0.001, 0.000_01..=1.0;
        /// share of the DRAM that is reclaimed at a look without stalls
        ratio: f64 = 0.0005, 0.000_001..=1.0;
        /// time between two looks
        every: Duration = Duration::from_secs(6), Times::micros(1_000..=3_600_000_000);
    }
}

struct Senpai {
    settings: Settings,
    last: Duration,
}

impl Control for Senpai {
    fn every(&self) -> Duration {
        self.settings.every
    }

    fn look(&mut self, seen: &Seen) -> (Step, Reason) {
        let passed = seen.time.saturating_sub(self.last);
        self.last = self.last.max(seen.time);
        // The first look has nothing behind it.
        if passed.is_zero() {
            return (Step::Hold, Reason::Quiet);
        }
        let stalls = seen.stalled.as_secs_f64() / passed.as_secs_f64();
        let room = 1.0 - stalls / self.settings.pressure;
        if room <= 0.0 {
            return (Step::Hold, Reason::Stalls);
        }
        let bytes = seen.resident as f64 * self.settings.ratio * room;
        (Step::Reclaim(bytes as u64), Reason::Quiet)
    }
}
