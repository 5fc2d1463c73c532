//! Simulations of files as tables.

use terrace_base::schema::years;
use terrace_base::{Bytes, Nanos};
use terrace_sim::files::{Run, Simulated, results};

use super::{differing, name};
use crate::table::table;
use crate::text::Text;

/// Returns what was simulated, a row for each machine.
pub fn text(simulated: &Simulated) -> Text {
    let runs = &simulated.runs;
    let differing = differing(runs);
    let reads_ahead = runs.iter().any(|run| run.machine.readahead_pages > 0);
    let ahead = ["disk requests", "read ahead", "unused"];
    let mut heads = vec![
        "machine",
        "hits in DRAM",
        "hits on flash",
        "time",
        "of the first",
        "read a second",
        "to flash",
        "busiest day",
        "flash lives",
    ];
    if reads_ahead {
        heads.extend(ahead);
    }
    let mut table = table(&heads);
    for of in results::compared(simulated) {
        let outcome = &of.run.outcome;
        let counts = &outcome.counts;
        let lives = of.run.lifetime();
        let mut row = vec![
            machine(of.run, &name(of.run, &differing)),
            percent(counts.dram_hit_rate()),
            percent(counts.flash_hit_rate()),
            outcome.time.to_string(),
            percent(of.run.time_against(of.base)),
            or_dash(
                outcome
                    .read_rate()
                    .map(|rate| Bytes(rate as u64).to_string()),
            ),
            counts.flash_written().to_string(),
            or_dash(outcome.busiest_day.map(|bytes| bytes.to_string())),
            or_dash(lives.map(years)),
        ];
        if reads_ahead {
            row.extend([
                counts.disk_requests.to_string(),
                Bytes::of_pages(counts.ahead).to_string(),
                percent(counts.unused_rate()),
            ]);
        }
        table.add_row(row);
    }
    Text::default().prose(head(&runs[0])).table(table)
}

/// Returns the line that says what was simulated.
fn head(run: &Run) -> String {
    let outcome = &run.outcome;
    let counts = &outcome.counts;
    let day = match outcome.time >= Nanos(86_400_000_000_000) {
        true => "",
        false => ", less than a day (--interval spreads requests)",
    };
    format!(
        "requests: {}, for {} pages read and {} written, of a footprint of {}; simulated{day}\n\n",
        counts.requests,
        counts.reads,
        counts.writes,
        Bytes::of_pages(outcome.footprint),
    )
}

/// Returns the name of a machine; the only one has the name of its organisation.
fn machine(run: &Run, name: &str) -> String {
    match (name, run.machine.flash_pages) {
        ("", 0) => "no flash".to_owned(),
        ("", _) => run.machine.admission.to_string(),
        (name, _) => name.to_owned(),
    }
}

fn percent(share: Option<f64>) -> String {
    or_dash(share.map(|share| format!("{:.1} %", 100.0 * share)))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}
