//! Results of last-level caches as tables.

use comfy_table::Table;
use terrace_base::Bytes;
use terrace_sim::llc::{LlcMachine, Outcome, Pass};

use super::memory::Memory;
use super::run::Run;
use crate::table::table;
use crate::text::Text;
use terrace_base::schema::years;

/// Returns the effective settings in two lines, a row for each cache, a table for each memory
/// behind the caches, and notes that warn of unreliable figures.
pub fn text(settings: &LlcMachine, pass: &Pass) -> Text {
    let runs: Vec<Run> = pass
        .outcomes
        .iter()
        .map(|outcome| Run::of(outcome, settings, pass))
        .collect();
    let mut text = Text::default()
        .prose(head(settings, pass, &runs))
        .table(caches(&runs));
    for (index, memory) in settings.memories.iter().enumerate() {
        let behind: Vec<(&Run, &Memory)> =
            runs.iter().map(|run| (run, &run.memories[index])).collect();
        text = text.prose("\n").table(memories(&memory.name, &behind));
    }
    if let [only] = &runs[..]
        && let Some(positions) = positions(only)
    {
        text = text.prose("\n").table(positions);
    }
    text.prose(notes(&pass.outcomes, &runs))
}

/// Returns the lines that say what was simulated and with which settings.
fn head(settings: &LlcMachine, pass: &Pass, runs: &[Run]) -> String {
    let accesses = pass.accesses;
    let cores = match pass.instructions.len() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let sizes = match runs {
        [first, ..] if same_size(runs) => {
            format!("; LLC {} {}-way", Bytes(first.llc.bytes), first.llc.ways)
        }
        _ => String::new(),
    };
    let warmup = runs.first().and_then(|run| run.warmup);
    let warmup = warmup.map_or(0, |warmup| warmup.accesses);
    let requests = runs.first().map_or(0, |run| run.accesses);
    format!(
        "{accesses} accesses on {cores}, simulated; {requests} requests to the last level after {warmup} of warm-up\n{}{sizes}\n\n",
        settings.hierarchy(),
    )
}

fn same_size(runs: &[Run]) -> bool {
    let size = |run: &Run| (run.llc.bytes, run.llc.ways);
    runs.iter().all(|run| size(run) == size(&runs[0]))
}

/// Returns the name of a cache: its policy, and its size if the sizes differ.
fn name(run: &Run, runs_differ: bool) -> String {
    match runs_differ {
        true => format!(
            "{} {} {}-way",
            run.policy,
            Bytes(run.llc.bytes),
            run.llc.ways
        ),
        false => run.policy.clone(),
    }
}

/// Returns the table of the counts of the caches; several caches of a size are compared with the
/// first of that size.
fn caches(runs: &[Run]) -> Table {
    let mut head = vec![
        "policy",
        "misses",
        "miss ratio",
        "write-backs",
        "misses + write-backs",
    ];
    let compared = runs.len() > 1;
    if compared {
        head.extend(["by misses", "by write-backs", "by both"]);
    }
    let mut table = table(&head);
    for run in runs {
        let both = run.misses + run.writebacks;
        let mut row = vec![
            name(run, !same_size(runs)),
            run.misses.to_string(),
            run.miss_ratio
                .map_or("-".to_owned(), |ratio| format!("{ratio:.4}")),
            run.writebacks.to_string(),
            both.to_string(),
        ];
        if compared {
            let base = base(run, runs);
            row.extend([
                change(run.misses, base.misses),
                change(run.writebacks, base.writebacks),
                change(both, base.misses + base.writebacks),
            ]);
        }
        table.add_row(row);
    }
    table
}

/// Returns the run that a run is compared with: the first of its size.
fn base<'a>(run: &'a Run, runs: &'a [Run]) -> &'a Run {
    let same = |other: &&Run| (other.llc.bytes, other.llc.ways) == (run.llc.bytes, run.llc.ways);
    runs.iter().find(same).unwrap_or(run)
}

/// Returns the difference of a figure from that of the first run.
fn change(figure: u64, base: u64) -> String {
    match base {
        0 => "-".to_owned(),
        _ => format!("{:+.1} %", 100.0 * (figure as f64 / base as f64 - 1.0)),
    }
}

/// Returns the table of the results of one memory behind all caches.
fn memories(name_of: &str, behind: &[(&Run, &Memory)]) -> Table {
    let title = format!("behind it {name_of}");
    let mut table = table(&[&title, "time", "IPC", "bandwidth", "energy", "lifetime"]);
    let first = behind[0].0;
    let differ = behind
        .iter()
        .any(|(run, _)| (run.llc.bytes, run.llc.ways) != (first.llc.bytes, first.llc.ways));
    for (run, memory) in behind {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.add_row([
            name(run, differ),
            memory.time_ns.to_string(),
            or_dash(memory.ipc.map(|ipc| format!("{ipc:.3}"))),
            format!("{}/s", Bytes(memory.bandwidth as u64)),
            or_dash(
                memory
                    .energy
                    .map(|energy| format!("{:.3} mJ", 1e3 * energy.total)),
            ),
            or_dash(memory.lifetime_years.map(lifetime)),
        ]);
    }
    table
}

/// Returns a lifetime as text, at most `over 1000 years`.
fn lifetime(of: f64) -> String {
    match of {
        of if of > 1000.0 => "over 1000 years".to_owned(),
        of => years(of),
    }
}

/// Returns the table of hits by stack position of a single cache, if its policy keeps an order.
fn positions(run: &Run) -> Option<Table> {
    let positions = run.hits_by_position.as_ref()?;
    let mut table = table(&["lines used more recently", "hits", "share"]);
    for (position, hits) in positions.iter().enumerate() {
        let share = 100.0 * *hits as f64 / run.hits.max(1) as f64;
        table.add_row([
            position.to_string(),
            hits.to_string(),
            format!("{share:.1} %"),
        ]);
    }
    Some(table)
}

/// Returns the warnings, the first of each kind.
fn notes(outcomes: &[Outcome], runs: &[Run]) -> String {
    let mut warnings: Vec<String> = Vec::new();
    for (outcome, run) in outcomes.iter().zip(runs) {
        let Some(warning) = &run.warning else {
            continue;
        };
        let kind = |text: &str| text.split(':').next().map(str::to_owned);
        if warnings.iter().all(|known| kind(known) != kind(warning)) {
            warnings.push(format!("{warning} ({})", outcome.llc.policy));
        }
    }
    let note = |warning: &String| format!("\nnote: {warning}\n");
    warnings.iter().map(note).collect()
}
