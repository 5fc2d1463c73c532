//! Results of tasks that take turns as tables.

use comfy_table::Table;
use terrace_base::Nanos;
use terrace_sim::mix::{Run, Simulated, results};

use super::name;
use crate::table::table;
use crate::text::Text;

/// Returns what was simulated, a row for each machine, and a row for each task of a single machine
/// or of the best one.
pub fn text(simulated: &Simulated) -> Text {
    let runs = &simulated.runs;
    let mut text = Text::default()
        .prose(head(&runs[0]))
        .table(machines(simulated));
    if let Some(best) = best(simulated) {
        let title = match runs.len() {
            1 => "\n".to_owned(),
            _ => format!(
                "\nTasks with {}, the shortest run time of these:\n\n",
                name(best, runs)
            ),
        };
        text = text.prose(title).table(tasks(best, simulated.base(best)));
    }
    text
}

/// Returns the line that says what was simulated.
fn head(run: &Run) -> String {
    let machine = &run.machine;
    format!(
        "tasks: {}, on {}, {} after {} of warm-up, simulated; with turns off they have {}\n\n",
        run.tasks().len(),
        match machine.cores {
            1 => "1 core".to_owned(),
            cores => format!("{cores} cores"),
        },
        machine.time,
        machine.warmup,
        machine.slice,
    )
}

/// Returns the machine with the shortest run time.
fn best(simulated: &Simulated) -> Option<&Run> {
    let slowdown = |run: &&Run| {
        let slowdown = run.slowdown(simulated.base(run));
        slowdown.unwrap_or(f64::INFINITY)
    };
    let runs = simulated.runs.iter();
    runs.min_by(|a, b| slowdown(a).total_cmp(&slowdown(b)))
}

/// Returns the table of machines.
fn machines(simulated: &Simulated) -> Table {
    let mut table = table(&[
        "turns",
        "mean turn",
        "run time",
        "misses",
        "MPKI",
        "fairness",
    ]);
    for of in results::compared(simulated) {
        table.add_row([
            name(of.run, &simulated.runs),
            time(of.run.turn()),
            percent(of.run.slowdown(of.base)),
            percent(of.run.misses_against(of.base)),
            or_dash(of.run.mpki().map(|mpki| format!("{mpki:.2}"))),
            or_dash(of.run.fairness().map(|index| format!("{index:.3}"))),
        ]);
    }
    table
}

/// Returns the table of the tasks of a machine.
fn tasks(run: &Run, base: &Run) -> Table {
    let mut table = table(&[
        "task",
        "core",
        "share",
        "IPC",
        "run time",
        "MPKI",
        "mean turn",
        "longest wait",
        "replaced while away",
        "own lines lost",
    ]);
    for (task, slowdown) in run.tasks().iter().zip(run.slowdowns(base)) {
        table.add_row([
            task.name.clone(),
            task.core.to_string(),
            percent(run.share(task)),
            or_dash(task.ipc().map(|ipc| format!("{ipc:.3}"))),
            percent(slowdown),
            or_dash(task.mpki().map(|mpki| format!("{mpki:.2}"))),
            time(task.turn()),
            Nanos(task.counts.longest_wait / 1000).to_string(),
            percent(task.replaced()),
            percent(task.lost()),
        ]);
    }
    table
}

fn time(time: Option<Nanos>) -> String {
    or_dash(time.map(|time| time.to_string()))
}

fn percent(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}
