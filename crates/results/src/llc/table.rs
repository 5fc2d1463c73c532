//! Results of last-level caches as tables.

use std::fmt::Write as _;

use comfy_table::Table;
use terrace_base::Bytes;
use terrace_base::schema::years;
use terrace_sim::llc::{Behind, Pass, Run, Simulated};

use super::{name, same_size};
use crate::table::table;
use crate::text::Text;

/// Returns the effective settings in two lines, a row for each cache, a table for each memory
/// behind the caches, and notes that warn of unreliable figures.
pub fn text(simulated: &Simulated) -> Text {
    let runs: &[Run] = &Vec::from_iter(simulated.runs());
    let mut text = Text::default()
        .prose(head(simulated, runs))
        .table(caches(runs));
    for (index, memory) in simulated.machine.memories.iter().enumerate() {
        text = text.prose("\n").table(behind(&memory.name, runs, index));
    }
    if let [only] = runs
        && let Some(positions) = positions(only)
    {
        text = text.prose("\n").table(positions);
    }
    text.prose(notes(runs))
}

/// Returns the lines that say what was simulated and with which settings.
fn head(simulated: &Simulated, runs: &[Run]) -> String {
    let Simulated { machine, pass } = simulated;
    let cores = match pass.instructions.len() {
        1 => "1 core".to_owned(),
        cores => format!("{cores} cores"),
    };
    let first = runs.first();
    let size = first.map(Run::size).filter(|_| same_size(runs));
    let size = size.map(|size| format!("; LLC {} {}-way", size.bytes, size.ways));
    let warmup = first.and_then(|run| run.outcome.warmup);
    format!(
        "{} accesses on {cores}, simulated; {} requests to the last level after {} of warm-up\n{}{}\n{}\n",
        pass.accesses,
        first.map_or(0, |run| run.counts().accesses()),
        warmup.map_or(0, |warmup| warmup.accesses()),
        machine.hierarchy(),
        size.unwrap_or_default(),
        above(pass),
    )
}

/// Returns what private levels read ahead and lost, a line each, if they do.
fn above(pass: &Pass) -> String {
    let mut text = String::new();
    if let Some(ahead) = pass.prefetches {
        let (useful, useless, unused) = (ahead.useful, ahead.useless, ahead.unused());
        let _ = writeln!(
            text,
            "{} lines read ahead: {useful} useful, {useless} useless, {unused} not used yet",
            ahead.issued
        );
    }
    if let Some(lines) = pass.invalidated {
        let _ = writeln!(
            text,
            "{lines} lines left L1 and L2 with their line of the LLC"
        );
    }
    text
}

/// Returns the table of the counts of the caches; several caches of a size are compared with the
/// first of that size.
fn caches(runs: &[Run]) -> Table {
    let ahead = runs.iter().any(|run| run.counts().prefetches.all() > 0);
    let mut head = vec!["policy", "misses", "miss ratio"];
    head.extend(ahead.then_some("read ahead"));
    let both = if ahead {
        "reads + write-backs"
    } else {
        "misses + write-backs"
    };
    head.push("write-backs");
    let early = runs.iter().any(|run| run.outcome.early.is_some());
    if early {
        head.extend(["written early", "premature"]);
    }
    head.push(both);
    let compared = runs.len() > 1;
    if compared {
        head.extend(["by misses", "by write-backs", "by both"]);
    }
    let mut table = table(&head);
    let figures = |run: &Run| {
        let (counts, writebacks) = (run.counts(), run.counts().writebacks());
        [counts.misses(), writebacks, counts.reads() + writebacks]
    };
    for run in runs {
        let [misses, writebacks, both] = figures(run);
        let mut row = vec![
            name(run, runs),
            misses.to_string(),
            or_dash(run.miss_ratio().map(|ratio| format!("{ratio:.4}"))),
        ];
        let read_ahead = run.counts().prefetches.misses().to_string();
        row.extend(ahead.then_some(read_ahead));
        row.push(writebacks.to_string());
        if let Some(early) = run.outcome.early {
            row.extend([early.writes.to_string(), early.premature.to_string()]);
        }
        row.push(both.to_string());
        if compared {
            let base = runs.iter().find(|other| other.size() == run.size());
            let base = figures(base.unwrap_or(run));
            let changes = figures(run).into_iter().zip(base);
            row.extend(changes.map(|(figure, base)| change(figure, base)));
        }
        table.add_row(row);
    }
    table
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// Returns the difference of a figure from that of the first run.
fn change(figure: u64, base: u64) -> String {
    match base {
        0 => "-".to_owned(),
        _ => format!("{:+.1} %", 100.0 * (figure as f64 / base as f64 - 1.0)),
    }
}

/// Returns the table of the results of one memory behind all caches.
fn behind(name_of: &str, runs: &[Run], index: usize) -> Table {
    let title = format!("behind it {name_of}");
    let memories = || {
        let runs = runs.iter();
        runs.filter_map(|run| Some((run, run.memories().nth(index)?)))
    };
    let ahead = memories().any(|(_, memory)| memory.late().is_some());
    let early = runs.iter().any(|run| run.outcome.early.is_some());
    let mut head = vec![&*title, "time", "IPC", "bandwidth", "energy", "lifetime"];
    head.extend(ahead.then_some("late reads ahead"));
    head.extend(early.then_some("writes in the open row"));
    let mut table = table(&head);
    for (run, memory) in memories() {
        let Behind { found, .. } = memory;
        let energy = found.energy.map(|energy| 1e3 * energy.total());
        let row = [
            name(run, runs),
            found.elapsed.to_string(),
            or_dash(memory.ipc().map(|ipc| format!("{ipc:.3}"))),
            format!("{}/s", Bytes(memory.bandwidth() as u64)),
            or_dash(energy.map(|energy| format!("{energy:.3} mJ"))),
            or_dash(found.lifetime_years.map(lifetime)),
        ];
        let late = memory.late().map(|late| late.to_string());
        let lines = found.transfers;
        let in_row = 100.0 * lines.writes_in_row as f64 / lines.all_writes().max(1) as f64;
        let in_row = early.then(|| format!("{in_row:.1} %"));
        table.add_row(row.into_iter().chain(late).chain(in_row));
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
    let positions = run.outcome.positions.as_ref()?;
    let mut table = table(&["lines used more recently", "hits", "share"]);
    for (position, hits) in positions.iter().enumerate() {
        let share = 100.0 * *hits as f64 / run.counts().hits().max(1) as f64;
        table.add_row([
            position.to_string(),
            hits.to_string(),
            format!("{share:.1} %"),
        ]);
    }
    Some(table)
}

/// Returns the warnings, the first of each kind.
fn notes(runs: &[Run]) -> String {
    let kind = |text: &str| text.split(':').next().map(str::to_owned);
    let mut warnings: Vec<String> = Vec::new();
    for run in runs {
        let Some(warning) = run.warning() else {
            continue;
        };
        if warnings.iter().all(|known| kind(known) != kind(&warning)) {
            warnings.push(format!("{warning} ({})", run.outcome.llc.policy));
        }
    }
    let note = |warning: &String| format!("\nnote: {warning}\n");
    warnings.iter().map(note).collect()
}
