//! Results of `terrace sched`: tables, and the JSON of schemas `terrace.sched/1` and
//! `terrace.sched-profile/1`.

mod profile;
mod schema;

use terrace_live::sched::Spell;
use terrace_live::sched::compare::Step;
use terrace_live::sched::run::Status;

use terrace_results::html::{Axis, Plot, Unit};
use terrace_results::number::count;
use terrace_results::table::table;
use terrace_results::text::Text;

pub(crate) use profile::last_level;
pub use profile::{ProfileDocument, text as profile_text};
pub use schema::{PolicyResults, ProgramResults, SchedDocument, SchedSettings};

/// Step of the picture of who ran when, in seconds.
const PICTURE_STEP: f64 = 0.001;

/// Returns the status line of a run.
pub fn line(step: &Step, status: &Status) -> String {
    let run = match step.of {
        1 => String::new(),
        of => format!("run {}/{of}, ", step.run),
    };
    let turns = match (status.mechanism, status.turn) {
        (Some(way), Some(turn)) => {
            let turn = milliseconds(turn.as_secs_f64());
            format!(
                ": {} tasks by {}, turns of {turn}",
                status.tasks,
                way.name()
            )
        }
        (Some(way), None) => format!(": {} tasks by {}", status.tasks, way.name()),
        (None, _) => String::new(),
    };
    let seconds = status.elapsed.as_secs_f64();
    format!(
        "{run}{}, {seconds:.0} s, {} programs{turns}",
        step.policy, status.programs
    )
}

/// Returns the tables: all policies, and each program under each of them.
pub fn text(document: &SchedDocument) -> Text {
    let text = Text::default().table(in_all(document));
    let text = text.prose("\n").table(by_program(document));
    text.prose(settings(document))
}

fn in_all(document: &SchedDocument) -> comfy_table::Table {
    let head = [
        "policy",
        "wall",
        "run time",
        "misses",
        "turns asked",
        "came out",
        "mechanism",
        "Jain",
        "own CPU",
    ];
    let mut table = table(&head);
    for it in &document.policies {
        table.add_row([
            it.policy.clone(),
            or_dash(it.wall_median(), seconds),
            or_dash(it.relative_run_time, relative),
            or_dash(it.relative_misses, relative),
            or_dash(it.turn_asked_s, milliseconds),
            or_dash(it.turn_mean_s, milliseconds),
            it.mechanism.clone().unwrap_or_else(|| "-".to_owned()),
            or_dash(it.jain, |jain| format!("{jain:.3}")),
            or_dash(it.own_cpu_share, percent),
        ]);
    }
    table
}

fn by_program(document: &SchedDocument) -> comfy_table::Table {
    let head = [
        "program", "policy", "run time", "CPU", "share", "misses", "IPC", "turns", "mean",
        "wait p50", "p99", "worst",
    ];
    let mut table = table(&head);
    let programs = document.policies.iter().map(|it| it.programs.len()).max();
    for index in 0..programs.unwrap_or(0) {
        for policy in &document.policies {
            let Some(it) = policy.programs.get(index) else {
                continue;
            };
            table.add_row([
                it.name.clone(),
                policy.policy.clone(),
                or_dash(it.wall_median(), seconds),
                or_dash(it.cpu_median(), seconds),
                or_dash(it.share, percent),
                it.misses.map_or_else(|| "-".to_owned(), count),
                or_dash(it.ipc, |ipc| format!("{ipc:.2}")),
                it.turns.map_or_else(|| "-".to_owned(), count),
                or_dash(it.turn_mean_s, milliseconds),
                or_dash(it.wait_median_s, milliseconds),
                or_dash(it.wait_p99_s, milliseconds),
                or_dash(it.wait_worst_s, milliseconds),
            ]);
        }
    }
    table
}

fn settings(document: &SchedDocument) -> String {
    let settings = &document.settings;
    let runs = match settings.repeat {
        1 => String::new(),
        repeat => format!("medians of {repeat} runs each, interleaved; "),
    };
    let counted = match &settings.misses_not_counted {
        Some(why) => format!("misses not counted: {why}; "),
        None => String::new(),
    };
    format!(
        "{runs}{counted}CPUs {}; Linux {}. A turn ends when another program of the mix has the CPU; waits are those \
         for a CPU, of programs that sleep.\n",
        settings.cpus, settings.kernel
    )
}

/// Returns who ran when, as points every millisecond.
fn picture(policy: &str, spells: &[Spell], names: &[String]) -> Option<Plot> {
    let first = spells.iter().map(|it| it.from).min()?;
    let x = Axis::new("time", Unit::Seconds);
    let title = format!("Who ran when: {policy}");
    let numbered = (1..).zip(names);
    let numbered: Vec<String> = numbered
        .map(|(number, name)| format!("{number} {name}"))
        .collect();
    let plot = Plot::points(&title, x, Axis::names("", numbered.clone())).note(
        "A part of the run, from its second second on; a point a millisecond in which a program had a CPU.",
    );
    let of = |program: usize| {
        let own = spells.iter().filter(move |spell| spell.program == program);
        own.flat_map(move |spell| {
            let from = (spell.from - first).as_secs_f64();
            let until = (spell.until - first).as_secs_f64();
            let steps = ((until - from) / PICTURE_STEP).ceil().max(1.0) as usize;
            (0..steps).map(move |step| (from + step as f64 * PICTURE_STEP, program as f64))
        })
    };
    let programs = numbered.iter().enumerate();
    Some(programs.fold(plot, |plot, (program, name)| plot.series(name, of(program))))
}

/// Returns the misses after the beginning of a turn, a line for each program whose misses were
/// learnt.
fn after_switch(policy: &PolicyResults) -> Plot {
    let x = Axis::new("ms since the turn began", Unit::Count);
    let title = format!("Misses after a switch: {}", policy.policy);
    let plot = Plot::lines(&title, x, Axis::new("misses per ms", Unit::Count))
        .note("As the policy learnt them while the programs ran (Fedorov 2016, figure 3.3).");
    let known = policy
        .programs
        .iter()
        .filter(|it| !it.misses_after_switch.is_empty());
    known.fold(plot, |plot, it| {
        let points = it.misses_after_switch.iter();
        plot.series(
            &it.name,
            points.map(|point| (point.until_ms, point.misses_per_ms)),
        )
    })
}

pub(crate) fn or_dash(value: Option<f64>, shown: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), shown)
}

pub(crate) fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

fn milliseconds(value: f64) -> String {
    let value = value * 1e3;
    match value < 9.95 {
        true => format!("{value:.2} ms"),
        false => format!("{value:.1} ms"),
    }
}

fn percent(value: f64) -> String {
    format!("{:.1} %", value * 100.0)
}

/// Returns a multiple of the kernel's as a change.
fn relative(value: f64) -> String {
    format!("{:+.1} %", (value - 1.0) * 100.0)
}
