//! Results of simulated machines, and the figures that follow from their counts.

use terrace_base::{Bytes, Nanos};
use terrace_device::{Worn, lifetime};

use super::count::Counts;
use super::settings::FilesMachine;
use super::timeline::Point;

/// Results of a machine, without the warm-up.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Everything counted.
    pub counts: Counts,
    /// Virtual time.
    pub time: Nanos,
    /// Different pages that were asked for.
    pub footprint: u64,
    /// Pages that were refused, by the policy that did.
    pub refused: Vec<(&'static str, u64)>,
    /// Bytes written to flash in the busiest day, if there is flash.
    pub busiest_day: Option<Bytes>,
    /// Wear of flash, by pages.
    pub worn: Option<Worn>,
    /// How often the run can be repeated until flash fails, with the levelling going on; `None`
    /// where the endurance is not known, or nothing was written.
    pub runs: Option<f64>,
    /// Counts in the course of the simulation.
    pub points: Vec<Point>,
}

/// A machine and its results.
#[derive(Clone, Debug)]
pub struct Run {
    /// Settings.
    pub machine: FilesMachine,
    /// Results.
    pub outcome: Outcome,
}

/// Machines that were simulated with the same requests.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// All machines; there is at least one.
    pub runs: Vec<Run>,
}

impl Counts {
    /// Returns the share of the pages read that DRAM had.
    pub fn dram_hit_rate(&self) -> Option<f64> {
        ratio(self.dram_hits as f64, self.reads as f64)
    }

    /// Returns the share of the pages that DRAM did not have, and flash had.
    pub fn flash_hit_rate(&self) -> Option<f64> {
        let reached = self.reads - self.dram_hits;
        ratio(self.flash_hits as f64, reached as f64)
    }

    /// Returns the share of the pages read that DRAM or flash had.
    pub fn hit_rate(&self) -> Option<f64> {
        ratio((self.dram_hits + self.flash_hits) as f64, self.reads as f64)
    }

    /// Returns the share of the pages read ahead that left DRAM, or were written, before they were
    /// read.
    pub fn unused_rate(&self) -> Option<f64> {
        ratio(self.ahead_wasted as f64, self.ahead as f64)
    }

    /// Returns the bytes written to flash.
    pub fn flash_written(&self) -> Bytes {
        Bytes::of_pages(self.flash_writes)
    }
}

impl Outcome {
    /// Returns the bytes that are read in a second.
    pub fn read_rate(&self) -> Option<f64> {
        self.rate(self.counts.reads)
    }

    /// Returns the bytes that are written in a second.
    pub fn write_rate(&self) -> Option<f64> {
        self.rate(self.counts.writes)
    }

    fn rate(&self, pages: u64) -> Option<f64> {
        ratio(Bytes::of_pages(pages).0 as f64, self.time.seconds())
    }
}

impl Run {
    /// Returns the years until all cells of flash wear out, if they wore evenly; `None` where the
    /// endurance is not known, or nothing was written.
    pub fn lifetime(&self) -> Option<f64> {
        let endurance = self.machine.technology.endurance?;
        let capacity = Bytes::of_pages(self.machine.flash_pages as u64);
        let Outcome { counts, time, .. } = &self.outcome;
        match capacity.0 {
            0 => None,
            _ => lifetime::awad(endurance, capacity, counts.flash_written(), *time),
        }
    }

    /// Returns the years until the first place of flash wears out for which there is no spare, if
    /// the run is repeated and the levelling goes on.
    pub fn first_failure(&self) -> Option<f64> {
        let Outcome { runs, time, .. } = &self.outcome;
        runs.map(|runs| lifetime::repeated(runs, *time))
    }

    /// Returns the run time as a multiple of that of another machine.
    pub fn time_against(&self, base: &Self) -> Option<f64> {
        ratio(self.outcome.time.0 as f64, base.outcome.time.0 as f64)
    }
}

/// Returns `part` divided by `whole`; `None` if `whole` is zero.
fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}
