//! The JSON of `terrace run --json`: schema `terrace.run/1`. Every field is documented here.

use serde::{Deserialize, Serialize};
use terrace_live::compare::{Effective, Results, Runs};
use terrace_live::program::Exit;
use terrace_live::run::Outcome;

use crate::constituent::Constituent;
use crate::lifetime::Endurance;
use crate::run::names;

/// The whole document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Document {
    /// `terrace.run/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The settings that were in force.
    pub settings: Settings,
    /// One entry a way, in the order in which each repetition ran them.
    pub runs: Vec<Way>,
    /// The signal that ended the runs before all were done, or null.
    pub interrupted: Option<i32>,
}

/// The settings that were in force, and the machine. All figures of a document are measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The DRAM budget in bytes.
    pub dram_bytes: u64,
    /// The program's footprint in bytes, or null where it was neither given nor measured.
    pub footprint_bytes: Option<u64>,
    /// Whether it was measured, by a run without a limit.
    pub footprint_measured: bool,
    /// What the tier was, for people.
    pub tier: String,
    /// The predictor with its settings, or `off`; of several, a list with commas.
    pub prefetch: String,
    /// `vm.page-cluster` as the machine had it: the readahead of the way `kernel`.
    pub page_cluster: String,
    /// The device's endurance in bytes, or null where it was not given.
    pub endurance_bytes: Option<u64>,
    /// The version of the memory cgroup controller: 1 or 2.
    pub cgroup_version: u32,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// CPUs.
    pub cpus: usize,
    /// The version of terrace.
    pub terrace: String,
}

/// All runs of one way. A single number is the median over the repetitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Way {
    /// `all-dram`, `kernel`, `kernel-cpf` or `terrace`.
    pub way: String,
    /// The predictor with its settings, of the way `terrace`; null of the others.
    pub predictor: Option<String>,
    /// From the program's start to its end, in seconds, one number a repetition.
    pub wall_s: Vec<f64>,
    /// Seconds on a CPU in the program's own code, with the children it waited for.
    pub user_s: f64,
    /// Seconds on a CPU in the kernel, likewise.
    pub system_s: f64,
    /// Faults that waited for a read, of the whole cgroup.
    pub major_faults: u64,
    /// All other faults.
    pub minor_faults: u64,
    /// What became of the predictions; null where nothing was steered.
    pub prefetch: Option<Prefetch>,
    /// Bytes read from swap areas while it ran, by the whole machine.
    pub tier_read_bytes: u64,
    /// Bytes written to them.
    pub tier_written_bytes: u64,
    /// The most DRAM charged to the cgroup, page cache included; null where the kernel does
    /// not say.
    pub peak_resident_bytes: Option<u64>,
    /// The most memory in DRAM and tier together, without page cache, sampled.
    pub footprint_bytes: u64,
    /// Years that the device would last at this rate of writing; null without an endurance or
    /// without writes.
    pub lifetime_years: Option<f64>,
    /// Processes killed for exceeding budget plus tier, over all repetitions.
    pub oom_kills: u64,
    /// How the program ended: of all repetitions the first that failed, else success.
    pub exit: End,
}

/// The life story of predictions, in pages. `predicted` is `filtered` + `wiped` + `in_memory`
/// + `issued` and what still waited at the end; `issued` is `used` + `late` + `wasted`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prefetch {
    /// Pages that the predictor named.
    pub predicted: u64,
    /// Dropped at once: in memory, in flight, or not in the tier.
    pub filtered: u64,
    /// Pushed out of the secondary queue by newer predictions.
    pub wiped: u64,
    /// Found in memory when their turn came.
    pub in_memory: u64,
    /// Fetched.
    pub issued: u64,
    /// Fetched, and touched after they had arrived.
    pub used: u64,
    /// Fetched, and touched before they had arrived.
    pub late: u64,
    /// Fetched, and evicted or left untouched, or not seen touched before the program ended.
    pub wasted: u64,
    /// Major faults that the predictor did not see, because they came too fast; null in results
    /// from before they were counted.
    pub unseen_faults: Option<u64>,
    /// The same by those of a combination that named the pages, alone or together; left out of other
    /// predictors, and in results from before they were counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constituents: Vec<Constituent>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Document {
    /// The document of these results.
    pub fn of(results: &Results, endurance: Option<Endurance>) -> Self {
        Self {
            schema: "terrace.run/1".to_owned(),
            command: results
                .command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            settings: Settings::of(&results.effective, endurance),
            runs: results
                .runs
                .iter()
                .filter(|runs| !runs.outcomes.is_empty())
                .map(|runs| Way::of(runs, endurance))
                .collect(),
            interrupted: results.interrupted,
        }
    }

    /// As text.
    pub fn to_json(&self) -> String {
        crate::json::pretty(self)
    }
}

impl Settings {
    fn of(effective: &Effective, endurance: Option<Endurance>) -> Self {
        Self {
            dram_bytes: effective.dram.0,
            footprint_bytes: effective.footprint.map(|f| f.0),
            footprint_measured: effective.footprint_measured,
            tier: effective.tier.clone(),
            prefetch: names(&effective.prefetch),
            page_cluster: effective.page_cluster.clone(),
            endurance_bytes: endurance.map(|e| e.bytes().0),
            cgroup_version: effective.cgroup.number(),
            kernel: effective.kernel.clone(),
            machine_memory_bytes: effective.machine_memory.0,
            cpus: effective.cpus,
            terrace: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

impl Way {
    fn of(runs: &Runs, endurance: Option<Endurance>) -> Self {
        let middle = |figure: fn(&Outcome) -> u64| median_count(&runs.outcomes, figure);
        let outcomes = &runs.outcomes;
        let typical = typical(runs);
        Self {
            way: runs.way.name().to_owned(),
            predictor: match &runs.way {
                terrace_live::run::Way::Terrace(spec) => Some(spec.to_string()),
                _ => None,
            },
            wall_s: outcomes.iter().map(|o| o.wall.as_secs_f64()).collect(),
            user_s: median(outcomes.iter().map(|o| o.user.as_secs_f64())),
            system_s: median(outcomes.iter().map(|o| o.system.as_secs_f64())),
            major_faults: middle(|o| o.major_faults),
            minor_faults: middle(|o| o.minor_faults),
            prefetch: prefetch(typical),
            tier_read_bytes: middle(|o| o.tier_read.0),
            tier_written_bytes: middle(|o| o.tier_written.0),
            peak_resident_bytes: typical.peak_resident.map(|p| p.0),
            footprint_bytes: middle(|o| o.footprint.0),
            lifetime_years: endurance.and_then(|e| e.years(typical.tier_written, typical.wall)),
            oom_kills: outcomes.iter().map(|o| o.oom_kills).sum(),
            exit: end(outcomes),
        }
    }
}

/// The run whose wall time is the median (of an even number, the lower of the middle two):
/// where figures have to belong together, as in a life story, they are of this run.
pub(crate) fn typical(runs: &Runs) -> &Outcome {
    let mut order: Vec<&Outcome> = runs.outcomes.iter().collect();
    order.sort_by_key(|o| o.wall);
    order[(order.len() - 1) / 2]
}

fn prefetch(outcome: &Outcome) -> Option<Prefetch> {
    let story = outcome.prefetch?;
    Some(Prefetch {
        predicted: story.predicted,
        filtered: story.filtered,
        wiped: story.wiped,
        in_memory: story.in_memory,
        issued: story.issued,
        used: story.used,
        late: story.late,
        wasted: story.wasted,
        unseen_faults: Some(outcome.unseen_faults),
        constituents: outcome.constituents.iter().map(Constituent::from).collect(),
    })
}

fn end(outcomes: &[Outcome]) -> End {
    let failed = outcomes.iter().map(|o| o.exit).find(|exit| !exit.success());
    match failed {
        None => End::Code(0),
        Some(Exit::Code(code)) => End::Code(code),
        Some(Exit::Signal(signal)) => End::Signal(signal),
    }
}

/// The median; of an even number of values, the mean of the middle two. 0 of none.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => f64::midpoint(sorted[n / 2 - 1], sorted[n / 2]),
    }
}

fn median_count(outcomes: &[Outcome], figure: fn(&Outcome) -> u64) -> u64 {
    median(outcomes.iter().map(|o| figure(o) as f64)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(median([4.0, 1.0].into_iter()), 2.5);
        assert_eq!(median(std::iter::empty()), 0.0);
    }

    #[test]
    fn ends_as_in_the_schema() {
        let json = |end: End| serde_json::to_string(&end).unwrap();
        assert_eq!(json(End::Code(0)), r#"{"code":0}"#);
        assert_eq!(json(End::Signal(9)), r#"{"signal":9}"#);
    }
}
