//! Results of `terrace validate mix`: a table, and the JSON of schema `terrace.validate-mix/1`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::{Bytes, Nanos, median};
use terrace_live::sched::Outcome;
use terrace_live::sched::cache::Cache;
use terrace_live::sched::compare::Runs;
use terrace_validate::mix::live::mean_turn;
use terrace_validate::mix::machine::private;
use terrace_validate::mix::perform::Results;
use terrace_validate::mix::predict::Predicted;

use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace validate mix --json`.
#[derive(Serialize, JsonSchema)]
pub struct MixValidationDocument {
    /// `terrace.validate-mix/1`. Fields may be added under this name; none changes its meaning.
    pub schema: &'static str,
    /// CPUs that the programs shared.
    pub cpus: String,
    /// Runs of each way; measured figures are their medians.
    pub repeat: usize,
    /// Mean turn under the kernel alone in seconds, measured: that of the simulated scheduler.
    pub kernel_turn_s: f64,
    /// Bytes and ways of the simulated private levels: the first of data, and the second.
    pub private: [(u64, usize); 2],
    /// The last-level cache as programs get it.
    pub cache: Cache,
    /// The programs under each policy.
    pub programs: Vec<ProgramFigures>,
    /// All programs under each policy.
    pub policies: Vec<PolicyFigures>,
}

/// A figure on both sides.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Both {
    /// Measured.
    pub live: f64,
    /// Simulated.
    pub simulated: f64,
}

/// One program under one policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramFigures {
    /// The program.
    pub name: String,
    /// The policy with its settings; `off` is the kernel alone.
    pub policy: String,
    /// Whether it was CPU-bound in all runs; the simulated tasks do not sleep.
    pub cpu_bound: bool,
    /// CPU time alone in seconds, measured: the only figure of both sides that was taken from this
    /// program.
    pub alone_s: f64,
    /// Lines touched that were simulated, again and again.
    pub rows: u64,
    /// Seconds from start to end.
    pub run_time_s: Both,
    /// Turns in that time; null if they were not seen.
    pub turns: Option<Both>,
}

/// All programs under one policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PolicyFigures {
    /// The policy with its settings.
    pub policy: String,
    /// Run times by those under the kernel alone, in geometric mean over the programs.
    pub relative_run_time: Both,
    /// Mean turn in seconds; null if turns were not seen.
    pub turn_s: Option<Both>,
}

impl MixValidationDocument {
    /// Returns the document of a validation of these programs.
    pub fn of(results: &Results) -> Self {
        let ways = || results.live.iter().zip(&results.predicted);
        let programs = (0..results.alone.len()).flat_map(|index| {
            ways().map(move |(runs, predicted)| program(results, index, runs, predicted))
        });
        let programs: Vec<ProgramFigures> = programs.collect();
        let policies = ways().map(|(runs, predicted)| policy(&programs, runs, predicted));
        Self {
            schema: "terrace.validate-mix/1",
            cpus: results.cpus.to_string(),
            repeat: results.live.first().map_or(0, |runs| runs.outcomes.len()),
            kernel_turn_s: results.kernel_turn.seconds(),
            private: private().map(|size| (size.bytes.0, size.ways)),
            cache: results.cache.clone(),
            policies: policies.collect(),
            programs,
        }
    }
}

fn program(
    results: &Results,
    index: usize,
    runs: &Runs,
    predicted: &[Predicted],
) -> ProgramFigures {
    let each = || runs.outcomes.iter().filter_map(|it| it.programs.get(index));
    let turns: Option<Vec<f64>> = each().map(|it| Some(it.turns?.count as f64)).collect();
    ProgramFigures {
        name: results.names[index].clone(),
        policy: runs.policy.to_string(),
        cpu_bound: each().all(|it| it.bound),
        alone_s: results.alone[index],
        rows: results.rows[index],
        run_time_s: Both {
            live: median(each().filter_map(|it| Some(it.wall?.as_secs_f64()))),
            simulated: predicted[index].wall,
        },
        turns: turns.map(|turns| Both {
            live: median(turns),
            simulated: predicted[index].turns,
        }),
    }
}

fn policy(programs: &[ProgramFigures], runs: &Runs, predicted: &[Predicted]) -> PolicyFigures {
    let policy = runs.policy.to_string();
    let relative = |side: fn(&Both) -> f64| {
        let own = programs.iter().filter(|it| it.policy == policy);
        let kernel = programs.iter().filter(|it| it.policy == programs[0].policy);
        let pairs = own.zip(kernel);
        let logs =
            pairs.map(|(own, kernel)| (side(&own.run_time_s) / side(&kernel.run_time_s)).ln());
        let logs: Vec<f64> = logs.collect();
        (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
    };
    let (turns, time) = predicted.iter().fold((0.0, 0.0), |(turns, time), it| {
        (turns + it.turns, time + it.turns * it.turn)
    });
    PolicyFigures {
        relative_run_time: Both {
            live: relative(|both| both.live),
            simulated: relative(|both| both.simulated),
        },
        turn_s: seen(&runs.outcomes).map(|live| Both {
            live,
            simulated: time / turns,
        }),
        policy,
    }
}

fn seen(outcomes: &[Outcome]) -> Option<f64> {
    mean_turn(outcomes).map(|turn| turn.as_secs_f64())
}

/// Returns the table and the settings.
pub fn text(document: &MixValidationDocument) -> Text {
    let mut all = table(&[
        "program",
        "policy",
        "run time",
        "simulated",
        "error",
        "turns",
        "simulated",
    ]);
    for it in &document.programs {
        let time = it.run_time_s;
        let turns = it.turns.map(|turns| [turns.live, turns.simulated]);
        let [live, simulated] = shown(turns, |turns| count(turns.round() as u64));
        all.add_row([
            it.name.clone(),
            it.policy.clone(),
            format!("{:.2} s", time.live),
            format!("{:.2} s", time.simulated),
            format!("{:+.1} %", (time.simulated / time.live - 1.0) * 100.0),
            live,
            simulated,
        ]);
    }
    let mut mean = table(&[
        "all",
        "run time",
        "simulated",
        "error",
        "mean turn",
        "simulated",
    ]);
    for it in &document.policies {
        let time = it.relative_run_time;
        let turns = it.turn_s.map(|turns| [turns.live, turns.simulated]);
        let [live, simulated] = shown(turns, |turn| format!("{:.1} ms", turn * 1e3));
        mean.add_row([
            it.policy.clone(),
            format!("{:+.1} %", (time.live - 1.0) * 100.0),
            format!("{:+.1} %", (time.simulated - 1.0) * 100.0),
            format!("{:+.1} points", (time.simulated - time.live) * 100.0),
            live,
            simulated,
        ]);
    }
    Text::default()
        .table(all)
        .prose("\n")
        .table(mean)
        .prose(settings(document))
}

/// Returns two figures as text; dashes of none.
fn shown(figures: Option<[f64; 2]>, form: impl Fn(f64) -> String) -> [String; 2] {
    figures.map_or_else(|| ["-", "-"].map(str::to_owned), |them| them.map(form))
}

fn settings(document: &MixValidationDocument) -> String {
    let cache = &document.cache;
    let [first, second] = document.private.map(|(bytes, _)| Bytes(bytes));
    let sleepers = document.programs.iter().filter(|it| !it.cpu_bound);
    let sleepers = match sleepers.count() {
        0 => "",
        _ => {
            "Programs that are not CPU-bound sleep; the simulated ones do not, so their times differ.\n"
        }
    };
    format!(
        "Simulated: the kernel's turns of {}, caches of {first}, {second} and {}, a miss of {:.0} ns, and each program's \
         CPU time alone are measured, and all else follows.\nCPUs {}; medians of {} runs each.\n{sleepers}",
        Nanos((document.kernel_turn_s * 1e9) as u64),
        Bytes(cache.effective_bytes),
        cache.miss_ns,
        document.cpus,
        document.repeat,
    )
}

impl Document for MixValidationDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.programs)
    }

    fn page(&self) -> Page {
        let names = Axis::names("", self.policies.iter().map(|it| it.policy.clone()));
        let times = Axis::new("times that under the kernel alone", Unit::Times);
        type Side = (&'static str, fn(&Both) -> f64);
        let sides: [Side; 2] = [("measured", |it| it.live), ("simulated", |it| it.simulated)];
        let plot = Plot::bars("Run time, measured and simulated", names, times);
        let plot = sides.into_iter().fold(plot, |plot, (name, side)| {
            plot.values(
                name,
                self.policies.iter().map(|it| side(&it.relative_run_time)),
            )
        });
        let settings = [
            ("CPUs", self.cpus.clone()),
            ("runs", self.repeat.to_string()),
            (
                "last-level cache",
                Bytes(self.cache.effective_bytes).to_string(),
            ),
        ];
        Page::new("terrace validate mix")
            .plot(plot)
            .settings("", &IndexMap::from(settings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(name: &str, policy: &str, live: f64, simulated: f64) -> ProgramFigures {
        ProgramFigures {
            name: name.to_owned(),
            policy: policy.to_owned(),
            cpu_bound: true,
            alone_s: 1.0,
            rows: 1,
            run_time_s: Both { live, simulated },
            turns: Some(Both {
                live: 100.0,
                simulated: 90.0,
            }),
        }
    }

    #[test]
    fn run_times_are_compared_with_those_under_the_kernel_alone() {
        let programs = [
            figures("a", "off", 4.0, 2.0),
            figures("a", "static", 1.0, 1.0),
            figures("b", "off", 1.0, 3.0),
            figures("b", "static", 1.0, 3.0),
        ];
        let runs = |policy| Runs {
            policy: terrace_policy::sched::Spec::parse(policy).unwrap(),
            outcomes: Vec::new(),
        };
        let predicted = [Predicted {
            wall: 1.0,
            turns: 10.0,
            turn: 0.03,
        }; 2];
        let off = policy(&programs, &runs("off"), &predicted);
        assert_eq!(off.relative_run_time.live, 1.0);
        let turns = policy(&programs, &runs("static"), &predicted);
        assert!((turns.relative_run_time.live - 0.5).abs() < 1e-9);
        let simulated = turns.relative_run_time.simulated;
        assert!((simulated - 0.5_f64.sqrt()).abs() < 1e-9);
        assert!(turns.turn_s.is_none(), "no turn was seen");
    }
}
