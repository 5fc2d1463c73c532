//! Figures of an interval, as a line of JSON: schema `terrace.interval/1`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::Bytes;
use terrace_live::measure::compare::Step;
use terrace_live::run::interval::Interval;
use terrace_policy::prefetch::LifeStory;

use crate::story::Story;
use crate::waits::Waits;

/// A line of `--interval`. Counts are of the interval, sizes are those at its end.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IntervalLine {
    /// `terrace.interval/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The way of running the program; see `terrace.run/1`.
    pub way: String,
    /// Number of the run, from 1.
    pub run: usize,
    /// Time from the start of the run to the end of the interval, in seconds.
    pub elapsed_s: f64,
    /// Length of the interval in seconds; the last one of a run is shorter.
    pub interval_s: f64,
    /// Anonymous and shared memory of the program in DRAM.
    pub resident_bytes: u64,
    /// Its memory that is in the tier only; 0 where it is not known, as with `terrace attach`.
    pub swapped_bytes: u64,
    /// Its DRAM budget, or limit; null without one.
    pub dram_bytes: Option<u64>,
    /// Major faults: those that waited for a read.
    pub major_faults: u64,
    /// Bytes read from swap areas by the whole machine.
    pub tier_read_bytes: u64,
    /// Bytes written to swap areas by the whole machine.
    pub tier_written_bytes: u64,
    /// Predictions by what became of them; null if nothing is steered.
    #[schemars(with = "Option<Story>")]
    pub prefetch: Option<LifeStory>,
    /// Waits at faults; null unless `--latency` measures them.
    pub waits: Option<Waits>,
}

impl IntervalLine {
    /// Returns the line of an interval of this run.
    pub fn of(step: &Step, interval: &Interval) -> Self {
        let status = &interval.status;
        Self {
            schema: "terrace.interval/1".to_owned(),
            way: step.way.name().to_owned(),
            run: step.run,
            elapsed_s: status.elapsed.as_secs_f64(),
            interval_s: interval.time.as_secs_f64(),
            resident_bytes: status.usage.resident.0,
            swapped_bytes: status.usage.swapped.0,
            dram_bytes: status.limit.map(|limit| limit.0),
            major_faults: interval.major_faults,
            tier_read_bytes: Bytes::of_pages(interval.tier.read).0,
            tier_written_bytes: Bytes::of_pages(interval.tier.written).0,
            prefetch: interval.story,
            waits: interval.waits.as_ref().map(Waits::from),
        }
    }

    /// Returns the line, with its end.
    pub fn to_line(&self) -> String {
        let line = serde_json::to_string(self).expect("plain data serializes");
        line + "\n"
    }
}
