//! The JSON of `terrace sched run` and `terrace sched attach`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use terrace_base::kernel;
use terrace_base::{Bytes, median};
use terrace_live::sched::compare::{Request, Results, Runs};
use terrace_live::sched::counters;
use terrace_live::sched::machine::stated_cache;
use terrace_live::sched::{ProgramFigures, Spell};
use terrace_live::system::dram;

use super::{after_switch, picture};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::rows::Rows;

/// The JSON of `terrace sched run --json` and `terrace sched attach --json`. Figures of several
/// runs are medians, where they are no lists.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SchedDocument {
    /// `terrace.sched/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// Effective settings.
    pub settings: SchedSettings,
    /// Results by policy; of a comparison `off`, the kernel alone, is the first.
    pub policies: Vec<PolicyResults>,
    /// Signal that ended it before all runs were done; null without one.
    pub interrupted_by: Option<i32>,
}

/// Effective settings and machine.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SchedSettings {
    /// CPUs on which turns were passed on.
    pub cpus: String,
    /// Runs of each policy.
    pub repeat: usize,
    /// Size of the last-level cache in bytes that policies were told; null if it is not known.
    pub llc_bytes: Option<u64>,
    /// Reason why misses were not counted; null if they were.
    pub misses_not_counted: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// The machine's DRAM in bytes.
    pub machine_memory_bytes: u64,
    /// The version of terrace.
    pub terrace: String,
}

/// Results under one policy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PolicyResults {
    /// The policy with its settings.
    pub policy: String,
    /// Wall time of each run in seconds, until the last program ended.
    pub wall_s: Vec<f64>,
    /// Run times of the programs by those under the kernel alone: geometric mean over the programs
    /// that are CPU-bound; null without a comparison.
    pub relative_run_time: Option<f64>,
    /// Misses of all programs by those under the kernel alone; null without a comparison, or if
    /// they are not counted.
    pub relative_misses: Option<f64>,
    /// Misses of all programs; null if they are not counted.
    pub misses: Option<u64>,
    /// Mean length in seconds of the turns that were asked for; null if none were.
    pub turn_asked_s: Option<f64>,
    /// Mean length in seconds of the turns that came out; null if there were none.
    pub turn_mean_s: Option<f64>,
    /// The mechanism at the end: `rotation` or `slices`; null if none was used.
    pub mechanism: Option<String>,
    /// Jain's index of the shares of CPU time: 1 if all are equal; null without CPU-bound programs.
    pub jain: Option<f64>,
    /// CPU time of terrace itself by wall time.
    pub own_cpu_share: Option<f64>,
    /// The programs, in their order.
    pub programs: Vec<ProgramResults>,
    /// Who ran when, for the page alone.
    #[serde(skip)]
    pub spells: Vec<Spell>,
}

/// Results of one program under one policy.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProgramResults {
    /// Its name.
    pub name: String,
    /// Number of its first process, in the last run.
    pub pid: u32,
    /// Time from start to end of each run in seconds; empty if it was attached to.
    pub wall_s: Vec<f64>,
    /// CPU time of each run in seconds.
    pub cpu_s: Vec<f64>,
    /// How it ended in each run: `code N` or `signal N`; empty if it was attached to.
    pub exit: Vec<String>,
    /// Whether it was CPU-bound.
    pub cpu_bound: bool,
    /// Its share of the CPU time of all CPU-bound programs while all of them ran; null of another,
    /// or of a short run.
    pub share: Option<f64>,
    /// Cycles; null if the processor counts none.
    pub cycles: Option<u64>,
    /// Instructions; null if the processor counts none.
    pub instructions: Option<u64>,
    /// Misses of the last-level cache; null if the processor counts none.
    pub misses: Option<u64>,
    /// Instructions a cycle; null if the processor counts none.
    pub ipc: Option<f64>,
    /// How often its tasks got a CPU.
    pub scheduled: u64,
    /// Turns that came out; null if they could not be seen.
    pub turns: Option<u64>,
    /// Mean length of its turns in seconds; null if there were none.
    pub turn_mean_s: Option<f64>,
    /// Median length of its turns in seconds; null if there were none.
    pub turn_median_s: Option<f64>,
    /// Misses after the beginning of a turn (Fedorov 2016, figure 3.3), as the policy learnt them
    /// in the first run; empty if it learnt none.
    pub misses_after_switch: Vec<MissesAfterSwitch>,
    /// Waits for a CPU of its tasks that sleep; null if there were none, or they were not measured.
    pub waits: Option<u64>,
    /// Their median in seconds.
    pub wait_median_s: Option<f64>,
    /// Their 99th percentile in seconds.
    pub wait_p99_s: Option<f64>,
    /// The longest in seconds.
    pub wait_worst_s: Option<f64>,
}

/// Misses in a part of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MissesAfterSwitch {
    /// Time since the turn began at which the part ends, in milliseconds; it begins where the one
    /// before it ends.
    pub until_ms: f64,
    /// Misses a millisecond.
    pub misses_per_ms: f64,
}

impl SchedDocument {
    /// Returns the document of results.
    pub fn of(request: &Request, results: &Results) -> Self {
        let with_runs = results.runs.iter().filter(|runs| !runs.outcomes.is_empty());
        let mut policies: Vec<PolicyResults> = with_runs.map(PolicyResults::of).collect();
        if let [kernel, others @ ..] = policies.as_mut_slice()
            && !others.is_empty()
        {
            let reference = kernel.clone();
            let all = std::iter::once(kernel).chain(others);
            all.for_each(|it| it.compare(&reference));
        }
        let outcomes = results.runs.iter().flat_map(|runs| &runs.outcomes);
        let cpus = outcomes.map(|outcome| outcome.cpus.to_string()).next();
        let llc = request.settings.cache.or_else(stated_cache);
        Self {
            schema: "terrace.sched/1".to_owned(),
            settings: SchedSettings {
                cpus: cpus.unwrap_or_default(),
                repeat: request.repeat,
                llc_bytes: llc.map(|Bytes(bytes)| bytes),
                misses_not_counted: counters::missing().map(str::to_owned),
                kernel: kernel::release(),
                machine_memory_bytes: dram::total().0,
                terrace: env!("CARGO_PKG_VERSION").to_owned(),
            },
            policies,
            interrupted_by: results.interrupted,
        }
    }
}

impl MissesAfterSwitch {
    fn of((end, rate): &(std::time::Duration, f64)) -> Self {
        Self {
            until_ms: end.as_secs_f64() * 1e3,
            misses_per_ms: rate / 1e3,
        }
    }
}

impl PolicyResults {
    fn of(runs: &Runs) -> Self {
        let outcomes = &runs.outcomes;
        let programs = outcomes.iter().map(|it| it.programs.len()).max();
        let programs: Vec<ProgramResults> = (0..programs.unwrap_or(0))
            .map(|index| {
                let each = outcomes.iter().filter_map(|it| it.programs.get(index));
                ProgramResults::of(&each.collect::<Vec<_>>())
            })
            .collect();
        let misses = programs.iter().map(|it| it.misses).sum();
        let turns = programs
            .iter()
            .filter_map(|it| Some((it.turns? as f64, it.turn_mean_s?)));
        let (number, time) = turns.fold((0.0, 0.0), |(number, time), (turns, mean)| {
            (number + turns, time + turns * mean)
        });
        Self {
            policy: runs.policy.to_string(),
            wall_s: outcomes.iter().map(|it| it.wall.as_secs_f64()).collect(),
            relative_run_time: None,
            relative_misses: None,
            misses: if programs.is_empty() { None } else { misses },
            turn_asked_s: of_all(outcomes, |it| Some(it.asked?.as_secs_f64())),
            turn_mean_s: (number > 0.0).then(|| time / number),
            mechanism: outcomes
                .iter()
                .rev()
                .find_map(|it| Some(it.mechanism?.name().to_owned())),
            jain: of_all(outcomes, |it| it.jain),
            own_cpu_share: of_all(outcomes, |it| {
                Some(it.own.as_secs_f64() / it.wall.as_secs_f64().max(1e-9))
            }),
            programs,
            spells: outcomes
                .first()
                .map(|it| it.spells.clone())
                .unwrap_or_default(),
        }
    }

    /// Adds what these are in multiples of the kernel's.
    fn compare(&mut self, kernel: &Self) {
        let pairs = self.programs.iter().zip(&kernel.programs);
        let bound = pairs.filter(|(own, _)| own.cpu_bound);
        let ratio = |(own, kernel): (&ProgramResults, &ProgramResults)| {
            Some((own.wall_median()? / kernel.wall_median()?).ln())
        };
        let logs: Vec<f64> = bound.filter_map(ratio).collect();
        let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
        self.relative_run_time = (!logs.is_empty()).then(|| mean.exp());
        let misses = self
            .misses
            .zip(kernel.misses)
            .filter(|(_, kernel)| *kernel > 0);
        self.relative_misses = misses.map(|(own, kernel)| own as f64 / kernel as f64);
    }

    /// Returns the median wall time in seconds.
    pub fn wall_median(&self) -> Option<f64> {
        of_values(&self.wall_s)
    }
}

impl ProgramResults {
    fn of(runs: &[&ProgramFigures]) -> Self {
        let last = runs.last().expect("a program that ran");
        let of = |get: &dyn Fn(&ProgramFigures) -> Option<f64>| of_all(runs, |it| get(it));
        let whole = |value: Option<f64>| value.map(|value| value.round() as u64);
        let counts = |get: &dyn Fn(counters::Counts) -> u64| of(&|it| Some(get(it.counts?) as f64));
        let (cycles, instructions) = (counts(&|it| it.cycles), counts(&|it| it.instructions));
        let turns = |get: &dyn Fn(terrace_live::sched::TurnFigures) -> f64| {
            of(&|it| it.turns.filter(|turns| turns.count > 0).map(get))
        };
        let waits = |get: &dyn Fn(terrace_live::sched::Latency) -> f64| of(&|it| it.waits.map(get));
        let exits = runs.iter().filter_map(|it| it.exit);
        Self {
            name: last.name.clone(),
            pid: last.pid,
            wall_s: runs
                .iter()
                .filter_map(|it| Some(it.wall?.as_secs_f64()))
                .collect(),
            cpu_s: runs.iter().map(|it| it.cpu.as_secs_f64()).collect(),
            exit: exits.map(exit).collect(),
            cpu_bound: runs.iter().any(|it| it.bound),
            share: of(&|it| it.share.map(|share| share.0)),
            cycles: whole(cycles),
            instructions: whole(instructions),
            misses: whole(counts(&|it| it.misses)),
            ipc: instructions
                .zip(cycles)
                .map(|(instructions, cycles)| instructions / cycles.max(1.0)),
            scheduled: whole(of(&|it| Some(it.scheduled as f64))).unwrap_or(0),
            turns: whole(of(&|it| Some(it.turns?.count as f64))),
            turn_mean_s: turns(&|it| it.mean.as_secs_f64()),
            turn_median_s: turns(&|it| it.median.as_secs_f64()),
            misses_after_switch: runs[0].curve.iter().map(MissesAfterSwitch::of).collect(),
            waits: whole(waits(&|it| it.count as f64)),
            wait_median_s: waits(&|it| it.median.as_secs_f64()),
            wait_p99_s: waits(&|it| it.p99.as_secs_f64()),
            wait_worst_s: waits(&|it| it.worst.as_secs_f64()),
        }
    }

    /// Returns the median run time in seconds.
    pub fn wall_median(&self) -> Option<f64> {
        of_values(&self.wall_s)
    }

    /// Returns the median CPU time in seconds.
    pub fn cpu_median(&self) -> Option<f64> {
        of_values(&self.cpu_s)
    }
}

fn exit(exit: terrace_base::Exit) -> String {
    match exit {
        terrace_base::Exit::Code(code) => format!("code {code}"),
        terrace_base::Exit::Signal(signal) => format!("signal {signal}"),
    }
}

/// Returns the median of the values that there are.
fn of_all<T>(all: &[T], get: impl Fn(&T) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> = all.iter().filter_map(get).collect();
    of_values(&values)
}

fn of_values(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| median(values.iter().copied()))
}

/// A row of the CSV: a program under a policy.
#[derive(Serialize, JsonSchema)]
struct Row<'a> {
    policy: &'a str,
    #[serde(flatten)]
    program: &'a ProgramResults,
}

impl Document for SchedDocument {
    /// A row a program and policy.
    fn rows(&self) -> Rows {
        Rows::flat(self.policies.iter().flat_map(|policy| {
            policy.programs.iter().map(|program| Row {
                policy: &policy.policy,
                program,
            })
        }))
    }

    fn page(&self) -> Page {
        let names: Vec<&str> = self.policies.iter().map(|it| it.policy.as_str()).collect();
        let times = Plot::bars(
            "Run time",
            Axis::names("", names),
            Axis::new("times that of the kernel alone", Unit::Times),
        );
        let times = times.values(
            "geometric mean over the programs",
            self.policies
                .iter()
                .map(|it| it.relative_run_time.unwrap_or(0.0)),
        );
        let page = Page::new("terrace sched")
            .plot(times)
            .settings("", &self.settings);
        let page = self
            .policies
            .iter()
            .fold(page, |page, it| page.plot(after_switch(it)));
        self.policies.iter().fold(page, |page, it| {
            let names: Vec<String> = it.programs.iter().map(|it| it.name.clone()).collect();
            match picture(&it.policy, &it.spells, &names) {
                Some(plot) => page.plot(plot),
                None => page,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use terrace_base::Exit;
    use terrace_live::sched::run::{Mix, Settings};
    use terrace_live::sched::{Outcome, Share, TurnFigures, Wanted};
    use terrace_live::system::cpus::Cpus;
    use terrace_policy::sched::Spec;

    use super::super::text;
    use super::*;

    fn program(seconds: u64) -> ProgramFigures {
        let mean = Duration::from_millis(30);
        ProgramFigures {
            name: "chase | x".to_owned(),
            pid: 7,
            wall: Some(Duration::from_secs(seconds)),
            cpu: Duration::from_secs(seconds / 2),
            exit: Some(Exit::Code(0)),
            counts: None,
            bound: true,
            scheduled: 9,
            turns: Some(TurnFigures {
                count: 5,
                mean,
                median: mean,
            }),
            curve: vec![(mean / 30, 5e4), (mean, 1e3)],
            waits: None,
            share: Some(Share(0.5)),
        }
    }

    fn document() -> SchedDocument {
        let runs = |policy: &str, seconds: u64| Runs {
            policy: Spec::parse(policy).unwrap(),
            outcomes: vec![Outcome {
                wall: Duration::from_secs(seconds),
                programs: vec![program(seconds), program(2 * seconds)],
                cpus: Cpus::one(0),
                mechanism: None,
                asked: None,
                jain: Some(1.0),
                own: Duration::from_millis(10),
                spells: vec![Spell {
                    cpu: 0,
                    program: 1,
                    from: Duration::from_secs(1),
                    until: Duration::from_millis(1030),
                }],
            }],
        };
        let request = Request {
            mix: Mix::Programs(Vec::new()),
            policies: Vec::new(),
            repeat: 1,
            settings: Settings {
                cpus: None,
                mechanism: Wanted::Auto,
                cache: None,
                waits: false,
                time: None,
            },
        };
        let results = Results {
            runs: vec![runs("off", 10), runs("static", 8)],
            interrupted: None,
            left_behind: None,
        };
        SchedDocument::of(&request, &results)
    }

    #[test]
    fn run_times_are_compared_with_the_kernels() {
        let document = document();
        assert_eq!(document.policies[0].relative_run_time, Some(1.0));
        let relative = document.policies[1].relative_run_time.unwrap();
        assert!((relative - 0.8).abs() < 1e-9);
        let told = text(&document).to_string();
        assert!(told.contains("-20.0 %"), "{told}");
        assert!(told.contains("chase | x"), "{told}");
    }

    #[test]
    fn documents_are_read_as_they_were_written() {
        let document = document();
        let json = document.to_json();
        let read: SchedDocument = serde_json::from_str(&json).unwrap();
        assert_eq!(read.to_json(), json);
        assert_eq!(document.rows().rows.len(), 4, "a row a program and policy");
        let page = document.page().html(&text(&document), "terrace sched run");
        assert!(page.contains("Who ran when: static"), "{page}");
        assert!(page.contains("Misses after a switch: static"), "{page}");
    }
}
