//! The JSON of `terrace run --json`: schema `terrace.run/1`. Every field is documented here.

mod memories;
mod settings;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::{Exit, median};
use terrace_live::measure::compare::{Results, Runs};
use terrace_live::run::{Faults, Outcome};
use terrace_policy::prefetch::LifeStory;

use crate::constituent::Constituent;
use crate::faults::over_time_and_address;
use crate::process::Process;
use crate::run::{Reference, failure, reference, typical};
use crate::story::Story;
use crate::waits::{self, Waits};
pub use crate::writes::Writes;
use terrace_results::document::{Document, words};
use terrace_results::html::{Axis, Page, Plot, Unit, life_story};
use terrace_results::lifetime::Endurance;
use terrace_results::rows::Rows;

pub use memories::{NodeMoment, Nodes, Zram, Zswap};
pub use settings::RunSettings;

/// The JSON of `terrace run --json`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunDocument {
    /// `terrace.run/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Effective settings.
    pub settings: RunSettings,
    /// Ways in the order in which each repetition ran them.
    pub runs: Vec<Way>,
    /// The signal that ended the runs before all were done, or null.
    pub interrupted: Option<i32>,
}

/// The usual eviction policy, which names of ways leave out.
const EVICTION: &str = "hold";

/// All runs of one way. A single number is the median over the repetitions, unless the way
/// `failed`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Way {
    /// `all-dram`, `kernel`, `kernel-cpf`, `kernel-tiering` or `terrace`.
    pub way: String,
    /// The predictor of the way `terrace` with its settings; null for other ways.
    pub predictor: Option<String>,
    /// The eviction policy of the way `terrace` with its settings; missing for other ways, and in
    /// older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eviction: Option<String>,
    /// The migration policy of the way `terrace` with its settings, where the tier is a memory
    /// node; missing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub migration: Option<String>,
    /// Why the way failed: the program ended with another code than 0 or by a signal, or the kernel
    /// killed a process of it, in any repetition. Such a way has no median and no ratio; single
    /// numbers are of the first repetition that failed. Missing if it did not fail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Wall time from the start to the end of the last process of the group in seconds, one number
    /// for each repetition.
    pub wall_s: Vec<f64>,
    /// Median of `wall_s`; missing if the way failed, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_median_s: Option<f64>,
    /// How many times the median wall time of `all-dram`; missing if either way failed or did not
    /// run, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vs_all_dram: Option<f64>,
    /// Speed-up against the better of `kernel` and `kernel-cpf`, by the median wall times; missing
    /// if the way failed or none of those ran well, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vs_kernel: Option<f64>,
    /// CPU time in user mode in seconds, of all processes of the group if `cpu_of_group`;
    /// otherwise, and in older results, of the program and the children it waited for.
    pub user_s: f64,
    /// CPU time in the kernel in seconds, of the same processes.
    pub system_s: f64,
    /// Whether the CPU times are those of the whole group: not where it has no `cpu.stat` (version
    /// 1 without a hierarchy of version 2 beside it). Missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_of_group: Option<bool>,
    /// Time from the start of the program in seconds from which on faults, prefetches, traffic of
    /// the tier, waits and the lifetime are counted (`--after`), of the run with the median wall
    /// time; missing if they are of the whole run, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_from_s: Option<f64>,
    /// Length in seconds of the part of the run that those are of, to its end; missing in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_s: Option<f64>,
    /// Major faults of the whole cgroup: faults that waited for a read.
    pub major_faults: u64,
    /// Minor faults of the whole cgroup: all other faults.
    pub minor_faults: u64,
    /// Life story of the predictions; null if nothing was steered.
    pub prefetch: Option<Prefetch>,
    /// Pages that the eviction policy let go; missing for other ways, and in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub let_go: Option<u64>,
    /// Bytes read from swap areas by the whole machine during the run.
    pub tier_read_bytes: u64,
    /// Bytes written to swap areas by the whole machine during the run.
    pub tier_written_bytes: u64,
    /// Pages of zeros of the whole machine that left DRAM during the run and were not written,
    /// beside what was; 0 before Linux 6.12, which writes them, and missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_zero_pages: Option<u64>,
    /// The most that other programs had in the tier's areas, in bytes, over all repetitions
    /// (sampled): what was in the areas beyond what the program had in swap, or 0 if that was
    /// negligible. Missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier_others_bytes: Option<u64>,
    /// The most processes of the program, of all repetitions, that left its cgroup, or began
    /// outside it, as far as that was seen: no budget limits them, and no figure counts what they
    /// do then. Missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_group: Option<u64>,
    /// Peak of the DRAM charged to the cgroup, page cache included; null if the kernel keeps no
    /// peak.
    pub peak_resident_bytes: Option<u64>,
    /// Peak of the memory in DRAM and tier together: the kernel's peak of the memory charged to the
    /// cgroup, less the page cache of files and kernel memory.
    pub footprint_bytes: u64,
    /// Whether the footprint comes from samples, because the kernel keeps no such peak; missing in
    /// older results, whose footprints are all sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub footprint_sampled: Option<bool>,
    /// What zswap did, the pool in DRAM in front of the tier; missing if it is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zswap: Option<Zswap>,
    /// What zram did, if that is the tier or the upper of its two levels; missing otherwise, and in
    /// older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zram: Option<Zram>,
    /// What was seen of the pages written to the tier (`--writes`), of the run with the median wall
    /// time; missing if nothing looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// What moved between two memory nodes, of the run with the median wall time; missing where
    /// nothing moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<Nodes>,
    /// Waits at faults (`--latency`), of the run with the median wall time; missing if nothing
    /// measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// Lifetime of the device in years at the mean rate of writing over `counted_s`, of two levels
    /// the lower one's; null without an endurance or without writes. What the device writes by
    /// itself (write amplification) is not in it.
    pub lifetime_years: Option<f64>,
    /// Processes killed for exceeding budget plus tier, over all repetitions.
    pub oom_kills: u64,
    /// End of the program: of the first repetition that failed, else success.
    pub exit: End,
    /// Sample of the major faults of the run with the median wall time, for the page alone.
    #[serde(skip)]
    pub faults: Option<Faults>,
}

/// The life story of predictions, in pages. `predicted` is the sum of `filtered`, `wiped`,
/// `in_memory` and `issued`, and the pages that still waited at the end; `issued` is that of
/// `used`, `late`, `reissued` and `wasted`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Prefetch {
    /// The counts.
    #[serde(flatten)]
    #[schemars(with = "Story")]
    pub story: LifeStory,
    /// Major faults that steering did not see: those that came while it did not watch, because
    /// watching did not pay, or too fast. Null in older results, some of which have the latter
    /// alone.
    pub unseen_faults: Option<u64>,
    /// Used and late pages that the kernel's readahead would have brought as well, as far as their
    /// places in the tier are known: their fetches spared the program no fault. Missing in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redundant: Option<u64>,
    /// Time in seconds for which nothing was fetched: to try what fetches are worth, or because
    /// they were found to be worth nothing. Missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rested_s: Option<f64>,
    /// Pages that the kernel read ahead by itself, on the whole machine; missing in older results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_readahead: Option<u64>,
    /// Share of the time since the start for which steering watched the faults; missing in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched_share: Option<f64>,
    /// Share of the pages that came from the tier, on the whole machine, for which nothing
    /// accounts: neither `issued` less `reissued`, nor `major_faults`, nor `kernel_readahead`.
    /// Negative if these are more than came, as where the kernel had read ahead pages that were
    /// fetched. Beyond 0.02 the tier's figures are not the program's alone. Missing in older
    /// results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unaccounted_share: Option<f64>,
    /// Life story of each constituent of a combination over the whole run; a page counts for each
    /// that named it. Missing for other predictors, and in older results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constituents: Vec<Constituent>,
    /// Figures by process over the whole run, those with the most faults and fetches first; missing
    /// in older results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<Process>,
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum End {
    /// Exit code.
    Code(i32),
    /// Number of the signal that ended it.
    Signal(i32),
}

impl RunDocument {
    /// Returns the document of results.
    pub fn of(results: &Results, endurance: Option<Endurance>) -> Self {
        let measured = results.runs.iter();
        let measured = measured.filter(|runs| !runs.outcomes.is_empty());
        let reference = Reference::among(&results.runs);
        Self {
            schema: "terrace.run/1".to_owned(),
            command: words(&results.command),
            settings: RunSettings::of(&results.effective, endurance),
            runs: measured
                .map(|runs| Way::of(runs, &reference, endurance))
                .collect(),
            interrupted: results.interrupted,
        }
    }
}

impl Document for RunDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.runs)
    }

    fn page(&self) -> Page {
        let is_alone = self.runs.len() == 1;
        let compared = || {
            let ways = self.runs.iter();
            ways.filter(move |way| is_alone || way.failed.is_none())
        };
        let ways = || Axis::names("", compared().map(Way::name));
        let stories = compared().filter_map(|way| {
            let prefetch = way.prefetch.as_ref()?;
            Some((way.name(), prefetch.story))
        });
        let faults = compared().map(|way| way.major_faults as f64);
        let wall = Plot::bars("Wall time", ways(), Axis::new("seconds", Unit::Seconds))
            .note("The median of the runs; whiskers reach from the fastest to the slowest.")
            .spread("wall time", compared().map(Way::wall));
        let faulted = Plot::bars("Major faults", ways(), Axis::new("faults", Unit::Count))
            .note("Faults that waited for a read of the tier.")
            .values("major faults", faults);
        let page = Page::new(format!("terrace run: {}", self.command.join(" ")))
            .plot(wall)
            .plot(faulted)
            .plot(life_story(stories))
            .settings("", &self.settings);
        let measured = compared().filter_map(|way| Some((way.name(), way.waits.as_ref()?)));
        let measured: Vec<_> = measured.collect();
        let page = waits::plots(&measured).into_iter().fold(page, Page::plot);
        let page = self.runs.iter().fold(page, |page, way| match &way.failed {
            Some(why) if !is_alone => page.remark(&format!(
                "{} failed, so it is in no plot of the ways: {why}.",
                way.name()
            )),
            _ => page,
        });
        self.faults(page)
    }
}

impl RunDocument {
    /// Adds the faults of the steered ways over time and address, or the reason why there are none.
    fn faults(&self, page: Page) -> Page {
        const TITLE: &str = "Faults over time and address";
        let steered = || self.runs.iter().filter(|way| way.faults.is_some());
        if steered().next().is_none() {
            return page.remark(
                "Faults over time and address are not shown, because no run was steered: only steering \
                 watches faults.",
            );
        }
        let several = steered().count() > 1;
        steered().fold(page, |page, way| {
            let title = match several {
                true => format!("{TITLE}: {}", way.name()),
                false => TITLE.to_owned(),
            };
            match way
                .faults
                .as_ref()
                .filter(|faults| !faults.sample.is_empty())
            {
                Some(faults) => page.plot(over_time_and_address(&title, faults)),
                None => page.remark(&format!("{title}: steering saw no major fault.")),
            }
        })
    }
}

impl Way {
    /// The way, with its predictor where it has one, and its eviction policy unless it is the usual
    /// one.
    pub(crate) fn name(&self) -> String {
        match self.policies() {
            policies if policies.is_empty() => self.way.clone(),
            policies => format!("{} {policies}", self.way),
        }
    }

    /// The names of the predictor and, unless it is the usual one, of the eviction policy; or of
    /// the migration policy.
    pub(crate) fn policies(&self) -> String {
        let eviction = self.eviction.as_deref().filter(|name| *name != EVICTION);
        let names = self.predictor.as_deref().into_iter().chain(eviction);
        let names = names.chain(self.migration.as_deref());
        names.collect::<Vec<_>>().join(" ")
    }

    /// The median wall time, the least and the most, in seconds.
    pub(crate) fn wall(&self) -> (f64, f64, f64) {
        let least = self.wall_s.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.wall_s.iter().copied().fold(0.0, f64::max);
        (median(self.wall_s.iter().copied()), least, most)
    }

    fn of(runs: &Runs, reference: &Reference, endurance: Option<Endurance>) -> Self {
        let outcomes = &runs.outcomes;
        let typical = typical(runs);
        let counted = match runs.failure() {
            Some(failed) => std::slice::from_ref(failed),
            None => outcomes.as_slice(),
        };
        let middle = |figure: fn(&Outcome) -> u64| median_count(counted, figure);
        let policies = match &runs.way {
            terrace_live::run::Way::Terrace(policies) => Some(policies),
            _ => None,
        };
        Self {
            way: runs.way.name().to_owned(),
            predictor: policies.map(|policies| policies.prefetch.to_string()),
            eviction: policies.map(|policies| policies.eviction.to_string()),
            migration: match &runs.way {
                terrace_live::run::Way::Migration(spec) => Some(spec.to_string()),
                _ => None,
            },
            wall_s: outcomes.iter().map(|o| o.wall.as_secs_f64()).collect(),
            failed: failure(runs),
            wall_median_s: reference::median(runs),
            vs_all_dram: reference.vs_all_dram(runs),
            vs_kernel: reference.vs_kernel(runs),
            user_s: median(counted.iter().map(|o| o.user.as_secs_f64())),
            system_s: median(counted.iter().map(|o| o.system.as_secs_f64())),
            cpu_of_group: Some(outcomes.iter().all(|o| o.has_all_cpu)),
            counted_from_s: typical.phase.from.map(|from| from.as_secs_f64()),
            counted_s: Some(typical.phase.time.as_secs_f64()),
            major_faults: middle(|o| o.major_faults),
            minor_faults: middle(|o| o.minor_faults),
            prefetch: prefetch(typical),
            let_go: policies.map(|_| middle(|o| o.let_go)),
            tier_read_bytes: middle(|o| o.tier_read.0),
            tier_written_bytes: middle(|o| o.tier_written.0),
            tier_zero_pages: Some(middle(|o| o.tier_zeros)),
            tier_others_bytes: outcomes.iter().map(|o| o.tier_others.0).max(),
            left_group: outcomes.iter().map(|o| o.left_group).max(),
            peak_resident_bytes: typical.peak_resident.map(|p| p.0),
            footprint_bytes: middle(|o| o.footprint.0),
            footprint_sampled: Some(outcomes.iter().any(|o| o.footprint_sampled)),
            zswap: typical.zswap.map(Zswap::from),
            zram: typical.compressed.map(Zram::from),
            writes: Writes::of(typical),
            nodes: typical.nodes.as_ref().map(Nodes::from),
            waits: typical.waits.as_ref().map(Waits::from),
            lifetime_years: endurance
                .and_then(|e| e.years(typical.device_written(), typical.phase.time)),
            oom_kills: outcomes.iter().map(|o| o.oom_kills).sum(),
            exit: end(outcomes),
            faults: typical.faults.clone(),
        }
    }
}

fn prefetch(outcome: &Outcome) -> Option<Prefetch> {
    let story = outcome.prefetch?;
    Some(Prefetch {
        story,
        unseen_faults: Some(outcome.unseen_faults),
        redundant: Some(outcome.redundant),
        rested_s: Some(outcome.rested.as_secs_f64()),
        kernel_readahead: outcome.balance.map(|balance| balance.read_ahead),
        watched_share: outcome.faults.as_ref().map(|faults| faults.watched.share()),
        unaccounted_share: outcome.balance.map(|balance| balance.unaccounted_share()),
        constituents: outcome.constituents.iter().map(Constituent::from).collect(),
        processes: outcome.processes.iter().map(Process::from).collect(),
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

fn median_count(outcomes: &[Outcome], figure: fn(&Outcome) -> u64) -> u64 {
    median(outcomes.iter().map(|o| figure(o) as f64)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_as_in_the_schema() {
        let json = |end: End| serde_json::to_string(&end).unwrap();
        assert_eq!(json(End::Code(0)), r#"{"code":0}"#);
        assert_eq!(json(End::Signal(9)), r#"{"signal":9}"#);
    }
}
