//! `write-budget`: no more bytes a day than a budget, spent on the pages that are read most.
//!
//! The budget comes in evenly, into a token bucket that holds what comes in an hour
//! ([`Settings::burst`]): no day has more than the budget by more than that, whatever is offered. A
//! bucket alone spends by chance, on whatever is offered when a byte has come in. So a page has its
//! price in reads, which rises as the bucket empties: a full bucket admits what was read once, and
//! one that is nearly empty only what was read as often as a sketch can count ([`MOST`]). The level
//! of the bucket comes to rest where the pages that are worth the price are as many as the budget
//! pays for. Reads are estimated as by `sketch`.
//!
//! CacheLib's policy of a target write rate (Berg et al., OSDI 2020, section 5.2: "dynamic random
//! admission") rejects at random instead.

use std::time::Duration;

use super::bucket::Bucket;
use super::sketch::{SAMPLE, sampled};
use super::sketched::{MOST, Sketch};
use super::{Admission, Answer, Entry, Make, Request, admit_if};
use crate::page::PAGE_BYTES;
use crate::settings;
use crate::sizes::Sizes;
use crate::times::Times;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "write-budget",
    summary: "no more bytes a day than a budget, spent on the pages that are read most",
    paper: "Terrace; budgets of writes as in CacheLib (Berg et al., OSDI 2020)",
    when: "Flash whose life is bounded: the budget is its endurance by the days that it should live.",
    evidence: crate::registry::Evidence::NONE,
    make: Make(&|machine, params| {
        let settings = Settings::take(params)?;
        Ok(Box::new(WriteBudget {
            bucket: Bucket::new(settings.bytes_per_day, settings.burst),
            sketch: sampled(machine, settings.sample),
        }))
    }),
};

/// Five percent of a day: a day then has at most so much more than the budget.
const LONGEST_BURST: u64 = 86_400_000_000 / 20;

settings! {
    /// Settings of `write-budget`.
    pub struct Settings {
        /// bytes that may be written in a day, as 20G
        bytes_per_day as "bytes-per-day": u64 = 100 << 30, Sizes(PAGE_BYTES..=1 << 60);
        /// time whose budget may be spent at once
        burst: Duration = Duration::from_secs(3600), Times::micros(1_000_000..=LONGEST_BURST);
        /// reads after which all counts are halved, as a multiple of the pages of the flash
        sample: f64 = SAMPLE, 0.0..=64.0;
    }
}

struct WriteBudget {
    bucket: Bucket,
    sketch: Sketch,
}

impl WriteBudget {
    /// Returns the reads that a page must have had.
    fn price(&self, time: Duration) -> u8 {
        self.bucket.missing(MOST, time).clamp(1, MOST)
    }
}

impl Admission for WriteBudget {
    fn missed(&mut self, request: &Request) {
        self.sketch.count(request.page);
    }

    fn hit(&mut self, request: &Request) {
        self.sketch.count(request.page);
    }

    fn wants(&self, request: &Request) -> Answer {
        let paid = self.bucket.holds(PAGE_BYTES, request.time);
        let reads = self.sketch.estimate(request.page);
        admit_if(paid && reads >= self.price(request.time), ENTRY.name)
    }

    /// Never: a page that moves up costs two writes, its own when it comes back and that of the
    /// page in its place, and no level holds more pages for the first. Writes that are left over
    /// now fill the bucket.
    fn affords(&self, _: &Request) -> bool {
        false
    }

    fn wrote(&mut self, bytes: u64, time: Duration) {
        self.bucket.take(bytes, time);
    }
}
