//! The table and the JSON of `terrace sched profile`.

use comfy_table::Table;
use schemars::JsonSchema;
use serde::Serialize;
use terrace_base::Bytes;
use terrace_base::kernel;
use terrace_live::sched::cache::Cache;
use terrace_live::sched::counters;
use terrace_live::sched::profile::{Beside, Neighbour, Results};

use super::{or_dash, seconds};
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// Bytes of a line.
const LINE: u64 = 64;

/// The JSON of `terrace sched profile --json`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProfileDocument {
    /// `terrace.sched-profile/1`. Fields may be added under this name; none changes its meaning.
    pub schema: String,
    /// The last-level cache as programs get it.
    pub cache: Cache,
    /// Runs of the program; empty if none was given.
    pub runs: Vec<RunBeside>,
    /// Reason why misses were not counted; null if they were.
    pub misses_not_counted: Option<String>,
    /// The kernel's release.
    pub kernel: String,
}

/// One run of the program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunBeside {
    /// `alone`, `other-cpu` or `same-cpu`: where a neighbour swept through memory.
    pub neighbour: String,
    /// Wall time in seconds.
    pub wall_s: f64,
    /// CPU time in seconds: beside a neighbour on the same CPU that of the program alone.
    pub cpu_s: f64,
    /// CPU time by that of the run alone (Fedorov 2016, figure 3.1).
    pub slowdown: Option<f64>,
    /// Misses of the last-level cache; null if they are not counted.
    pub misses: Option<u64>,
    /// Lines of the effective cache that the neighbour replaced between two turns of the program,
    /// by all of its lines (Fedorov 2016, figure 3.2), on average; null but for `same-cpu`, or if
    /// misses are not counted.
    pub replaced_while_away: Option<f64>,
}

impl ProfileDocument {
    /// Returns the document of results.
    pub fn of(results: &Results) -> Self {
        let alone = results.runs.first().map(|it| it.program.cpu.as_secs_f64());
        let run = |it: &Beside| RunBeside {
            neighbour: name(it.neighbour).to_owned(),
            wall_s: it.program.wall.unwrap_or_default().as_secs_f64(),
            cpu_s: it.program.cpu.as_secs_f64(),
            slowdown: alone
                .filter(|alone| *alone > 0.0)
                .map(|alone| it.program.cpu.as_secs_f64() / alone),
            misses: it.program.counts.map(|counts| counts.misses),
            replaced_while_away: replaced(it, &results.cache),
        };
        Self {
            schema: "terrace.sched-profile/1".to_owned(),
            cache: results.cache.clone(),
            runs: results.runs.iter().map(run).collect(),
            misses_not_counted: counters::missing().map(str::to_owned),
            kernel: kernel::release(),
        }
    }
}

fn replaced(run: &Beside, cache: &Cache) -> Option<f64> {
    let misses = run
        .neighbour_misses
        .filter(|_| run.neighbour == Neighbour::SameCpu)?;
    let turns = run.program.scheduled.max(1);
    let lines = (cache.effective_bytes / LINE).max(1);
    Some(misses as f64 / turns as f64 / lines as f64)
}

fn name(neighbour: Neighbour) -> &'static str {
    match neighbour {
        Neighbour::None => "alone",
        Neighbour::OtherCpu => "other-cpu",
        Neighbour::SameCpu => "same-cpu",
    }
}

impl Document for ProfileDocument {
    /// A row a run of the program; without a program, a size of the chase.
    fn rows(&self) -> Rows {
        match self.runs.is_empty() {
            true => Rows::flat(&self.cache.accesses),
            false => Rows::flat(&self.runs),
        }
    }

    fn page(&self) -> Page {
        let x = Axis::new("bytes chased through", Unit::Bytes).log();
        let accesses = self
            .cache
            .accesses
            .iter()
            .map(|it| (it.bytes as f64, it.ns));
        let plot = Plot::lines("Time of an access", x, Axis::new("time", Unit::Nanos));
        Page::new("terrace sched profile").plot(plot.series("pointer chase", accesses))
    }
}

/// Returns the table of a last-level cache.
pub(crate) fn last_level(cache: &Cache) -> Table {
    let stated = cache
        .stated_bytes
        .map_or_else(|| "-".to_owned(), |it| Bytes(it).to_string());
    let mut all = table(&["last-level cache", ""]);
    all.add_rows([
        ["stated", stated.as_str()],
        ["effective", &Bytes(cache.effective_bytes).to_string()],
        ["a hit", &format!("{:.1} ns", cache.hit_ns)],
        ["a miss", &format!("{:.1} ns", cache.miss_ns)],
        ["to fill it again", &format!("{:.2} ms", cache.refill_ms)],
    ]);
    all
}

/// Returns the tables.
pub fn text(document: &ProfileDocument) -> Text {
    let text = Text::default().table(last_level(&document.cache));
    if document.runs.is_empty() {
        return text;
    }
    let mut runs = table(&[
        "neighbour",
        "wall",
        "CPU",
        "slowdown",
        "misses",
        "replaced while away",
    ]);
    for it in &document.runs {
        runs.add_row([
            it.neighbour.clone(),
            seconds(it.wall_s),
            seconds(it.cpu_s),
            or_dash(it.slowdown, |slowdown| format!("{slowdown:.2} x")),
            it.misses.map_or_else(|| "-".to_owned(), count),
            or_dash(it.replaced_while_away, |share| {
                format!("{:.0} %", share * 100.0)
            }),
        ]);
    }
    let text = text.prose("\n").table(runs);
    match &document.misses_not_counted {
        Some(why) => text.prose(format!("misses not counted: {why}\n")),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use terrace_live::sched::cache::Access;

    use super::*;

    #[test]
    fn the_cache_alone_is_a_result() {
        let cache = Cache {
            stated_bytes: Some(32 << 20),
            effective_bytes: 6 << 20,
            hit_ns: 12.0,
            miss_ns: 90.0,
            refill_ms: 4.5,
            accesses: vec![Access {
                bytes: 1 << 20,
                ns: 4.0,
            }],
        };
        let document = ProfileDocument::of(&Results {
            cache,
            runs: Vec::new(),
        });
        let told = text(&document).to_string();
        assert!(
            told.contains("6.0 MiB") || told.contains("6.00 MiB"),
            "{told}"
        );
        assert_eq!(document.rows().rows.len(), 1);
        assert!(
            document
                .page()
                .html(&text(&document), "")
                .contains("Time of an access")
        );
    }
}
