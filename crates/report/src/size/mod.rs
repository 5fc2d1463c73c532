//! Results of `terrace size`: the JSON of schema `terrace.size/1` and its page; the curve as a
//! table ([`text`]).

mod simulated;
#[cfg(test)]
mod tests;
mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::kernel;
use terrace_live::control::size::Results;
use terrace_live::control::{Level, Spread};
use terrace_live::run::attach::End;
use terrace_live::system::dram;

use crate::waits::Waits;
pub use simulated::{SizeSimulated, SizeSimulation};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::lifetime::Endurance;
use terrace_results::rows::Rows;
pub use text::{line, sentence, text};

const DAY_S: f64 = 86_400.0;

/// The JSON of `terrace size --json`. All figures are measured but those of `simulated`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeDocument {
    /// `terrace.size/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The service, described for people.
    pub target: String,
    /// Effective settings.
    pub settings: SizeSettings,
    /// Time that it was looked at in seconds.
    pub wall_s: f64,
    /// Why it ended: `program` (all processes had), `signal` or `time`.
    pub end: String,
    /// Most memory that it had in DRAM and tier together, in bytes.
    pub footprint_bytes: u64,
    /// The least DRAM that kept the slow-down within the goal, of the sizes that were held for a
    /// twentieth of the time and for eight looks; null if none did.
    pub least: Option<SizeLevel>,
    /// Sizes that were held, from the most DRAM to the least.
    pub levels: Vec<SizeLevel>,
    /// Of the whole time.
    pub all: SizeLevel,
    /// Time in seconds in which it had less than nine tenths of its most memory, as while it
    /// started; no size has that in it.
    pub smaller_s: f64,
    /// Decisions, and what they came to.
    pub decisions: SizeDecisions,
    /// Waits at faults; missing if nothing measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// The curve of a simulation of recordings, at the sizes that were held; missing without
    /// recordings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SizeSimulation>,
}

/// Effective settings and machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSettings {
    /// Share of the time that the service may stand still.
    pub goal: f64,
    /// The control policy with its settings.
    pub control: String,
    /// Swap areas.
    pub tier: String,
    /// What stalls are known from: `pressure` (the kernel's, of the group) or `waits` (at faults).
    pub stalls: String,
    /// What bytes written are known from: `group` (the kernel's count) or `steps` (at least).
    pub written: String,
    /// Directory of the group that counts memory; null if that was done by process.
    pub group: Option<String>,
    /// The device's endurance in bytes; null if it was not given.
    pub endurance_bytes: Option<u64>,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// The version of terrace.
    pub terrace: String,
}

/// How the service fared at a size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeLevel {
    /// DRAM in bytes, the mean over time.
    pub dram_bytes: u64,
    /// Time at this size in seconds.
    pub time_s: f64,
    /// Looks in that time.
    pub looks: u64,
    /// Whether there were enough looks to say something.
    pub known: bool,
    /// Share of the time in which it stood still for memory.
    pub slowdown: f64,
    /// That share, by look.
    pub spread: SizeSpread,
    /// Major faults a second.
    pub faults_per_s: f64,
    /// Bytes written for it in that time.
    pub written_bytes: u64,
    /// Bytes that would be written in a day at that rate.
    pub written_bytes_per_day: f64,
    /// Lifetime of the device in years at that rate; null without an endurance or without writes.
    pub lifetime_years: Option<f64>,
}

/// Quartiles and the most over the looks of a size.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeSpread {
    /// A quarter of the looks had no more.
    pub lower: f64,
    /// Half of the looks had no more.
    pub median: f64,
    /// Three quarters of the looks had no more.
    pub upper: f64,
    /// The most of all looks.
    pub most: f64,
}

/// Decisions, and what they came to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SizeDecisions {
    /// Looks.
    pub looks: u64,
    /// Decisions to reclaim.
    pub reclaims: u64,
    /// Bytes of these.
    pub asked_bytes: u64,
    /// Bytes that a trial began for.
    pub tried_bytes: u64,
    /// Bytes that left DRAM.
    pub left_bytes: u64,
    /// Decisions to give back.
    pub returns: u64,
    /// Bytes that came back by these, or were on their way.
    pub came_bytes: u64,
    /// Bytes that came back at the end.
    pub restored_bytes: u64,
    /// Looks at which the machine was short of memory.
    pub short: u64,
    /// Whether the tier was full at some time.
    pub full: bool,
    /// The longest step in seconds.
    pub longest_step_s: f64,
    /// Bytes passed over because several processes share them, as far as was looked.
    pub shared_bytes: u64,
    /// Bytes that stayed when they were to leave: pinned, or in use just then.
    pub stayed_bytes: u64,
    /// Bytes that the processes have locked.
    pub locked_bytes: u64,
    /// Events of faults that were lost, so that stalls are missing.
    pub lost: u64,
}

impl SizeDocument {
    /// Returns the document of results.
    pub fn of(results: &Results, goal: f64, endurance: Option<Endurance>) -> Self {
        let level = |level: &Level| SizeLevel::of(level, endurance);
        let (about, decisions) = (&results.about, &results.decisions);
        Self {
            schema: "terrace.size/1".to_owned(),
            target: about.name.clone(),
            settings: SizeSettings {
                goal,
                control: results.control.clone(),
                tier: results.tier.clone(),
                stalls: about.stalls.name().to_owned(),
                written: about.written.name().to_owned(),
                group: about.group.clone(),
                endurance_bytes: endurance.map(|it| it.bytes().0),
                kernel: kernel::release(),
                machine_memory_bytes: dram::total().0,
                terrace: env!("CARGO_PKG_VERSION").to_owned(),
            },
            wall_s: results.wall.as_secs_f64(),
            end: match results.end {
                End::Program => "program",
                End::Signal => "signal",
                End::Time => "time",
            }
            .to_owned(),
            footprint_bytes: results.curve.footprint().0,
            least: results.curve.least(goal).as_ref().map(level),
            levels: results.curve.levels().iter().map(level).collect(),
            all: level(&results.curve.all()),
            smaller_s: results.curve.smaller().as_secs_f64(),
            decisions: SizeDecisions {
                looks: decisions.looks,
                reclaims: decisions.reclaims,
                asked_bytes: decisions.reclaimed,
                tried_bytes: results.carried.tried.0,
                left_bytes: results.carried.left.0,
                returns: decisions.returns,
                came_bytes: results.carried.came.0,
                restored_bytes: results.restored.0,
                short: decisions.short,
                full: results.carried.full,
                longest_step_s: results.carried.took.as_secs_f64(),
                shared_bytes: results.passed.shared.0,
                stayed_bytes: results.passed.stayed.0,
                locked_bytes: results.locked.0,
                lost: results.lost,
            },
            waits: results.waits.as_ref().map(Waits::from),
            simulated: None,
        }
    }
}

impl SizeLevel {
    fn of(level: &Level, endurance: Option<Endurance>) -> Self {
        let seconds = level.time.as_secs_f64();
        let a_day = level.written.0 as f64 / seconds * DAY_S;
        Self {
            dram_bytes: level.dram.0,
            time_s: seconds,
            looks: level.looks as u64,
            known: level.is_known(),
            slowdown: level.slowdown,
            spread: SizeSpread::from(&level.spread),
            faults_per_s: level.faults_per_s,
            written_bytes: level.written.0,
            written_bytes_per_day: if seconds > 0.0 { a_day } else { 0.0 },
            lifetime_years: endurance.and_then(|it| it.years(level.written, level.time)),
        }
    }
}

impl From<&Spread> for SizeSpread {
    fn from(spread: &Spread) -> Self {
        Self {
            lower: spread.lower,
            median: spread.median,
            upper: spread.upper,
            most: spread.most,
        }
    }
}

impl Document for SizeDocument {
    /// A row a size.
    fn rows(&self) -> Rows {
        Rows::flat(&self.levels)
    }

    fn page(&self) -> Page {
        let axes = |title, unit| (Axis::new("DRAM", Unit::Bytes), Axis::new(title, unit));
        let points = |of: fn(&SizeLevel) -> f64| {
            let known = self.levels.iter().filter(|level| level.known);
            let points: Vec<_> = known.map(|it| (it.dram_bytes as f64, of(it))).collect();
            points
        };
        let (x, y) = axes("share of time", Unit::Share);
        let slowdown = Plot::lines("Slow-down over DRAM", x, y)
            .note(
                "Share of the time in which the service stood still for memory. Measured, but for the \
                 series that says otherwise.",
            )
            .series("mean", points(|it| it.slowdown))
            .series("median of looks", points(|it| it.spread.median))
            .series("upper quartile of looks", points(|it| it.spread.upper));
        let simulated = |of: fn(&SizeSimulated) -> f64| {
            let levels = self.simulated.iter().flat_map(|it| &it.levels);
            let points: Vec<_> = levels.map(|it| (it.dram_bytes as f64, of(it))).collect();
            points
        };
        let slowdown = match &self.simulated {
            None => slowdown,
            Some(_) => slowdown.series("simulated", simulated(|it| it.slowdown)),
        };
        let (x, y) = axes("major faults a second", Unit::Count);
        let faults = Plot::lines("Major faults over DRAM", x, y)
            .series("major faults", points(|it| it.faults_per_s));
        let faults = match &self.simulated {
            None => faults,
            Some(_) => faults.series("simulated", simulated(|it| it.faults_per_s)),
        };
        Page::new(format!("terrace size: {}", self.target))
            .plot(slowdown)
            .plot(faults)
            .settings("", &self.settings)
    }
}
