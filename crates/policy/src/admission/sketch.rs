//! `sketch`: pages that were read at least so many times of late.
//!
//! Einziger, Friedman and Manes, "TinyLFU: a highly efficient cache admission policy", ACM
//! Transactions on Storage 2017, section 3: frequencies are estimated over a sample of reads and
//! age by halving. TinyLFU compares a page with the one that it would evict; this policy compares
//! it with a number, since the flash's replacement is not known here. ZFS's L2ARC has asked for
//! more than two reads (openzfs issue 16499).

use super::sketched::{MOST, Sketch};
use super::{Admission, Answer, Entry, Machine, Make, Request, admit_if};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "sketch",
    summary: "pages that were read so many times of late, as a sketch of frequencies estimates",
    paper: "Einziger, Friedman, Manes, TinyLFU, ACM Transactions on Storage 2017, section 3",
    when: "Flash that should be written little: more reads admit less.",
    evidence: crate::registry::Evidence {
        open: "With what a page is compared where the one that would leave is not known: a \
               number of reads.",
        compared: "no other program; a slow twin from the paper does the same, step by step",
    },
    make: Make(&|machine, params| {
        let Settings { reads, sample } = Settings::take(params)?;
        let sketch = sampled(machine, sample);
        Ok(Box::new(Frequency { reads, sketch }))
    }),
};

/// Reads of a sample, as a multiple of the pages of the flash.
pub(super) const SAMPLE: f64 = 1.0;

settings! {
    /// Settings of `sketch`.
    pub struct Settings {
        /// reads that admit a page
        reads: u8 = 2, 1..=MOST;
        /// reads after which all counts are halved, as a multiple of the pages of the flash
        sample: f64 = SAMPLE, 0.0..=64.0;
    }
}

/// Makes a sketch whose sample is so many times the pages of the flash.
pub(super) fn sampled(machine: &Machine, sample: f64) -> Sketch {
    Sketch::new((sample * machine.flash as f64) as u64)
}

struct Frequency {
    reads: u8,
    sketch: Sketch,
}

impl Admission for Frequency {
    fn missed(&mut self, request: &Request) {
        self.sketch.count(request.page);
    }

    fn hit(&mut self, request: &Request) {
        self.sketch.count(request.page);
    }

    fn wants(&self, request: &Request) -> Answer {
        admit_if(self.sketch.estimate(request.page) >= self.reads, ENTRY.name)
    }
}
