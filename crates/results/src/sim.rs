//! Simulations of pages: as a table, and as JSON of the schema `terrace.sim.pages/1`.
//!
//! All times are virtual: what a machine of these settings would take, not what one has taken. The
//! fields are declared in [`terrace_sim::pages::results`] and [`terrace_sim::pages::options`].

use std::iter;

use comfy_table::Table;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{Field, Tree, Typed, Unit, Value, fields};
use terrace_base::{Bytes, Nanos};
use terrace_sim::pages::options::settings;
use terrace_sim::pages::{Controlled, Dram, Outcome, PageSimulation, Simulated, Times, results};

use crate::counted::Counted;
use crate::html::ends;
use crate::json_schema;
use crate::lifetime;
use crate::rows::Rows;
use crate::schemes;
use crate::simulation::Reported;
use crate::table::table;
use crate::text::Text;

/// The schema of the document; the number grows with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.pages/1";

/// Simulations of the same traces.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PagesDocument {
    /// `terrace.sim.pages/1`.
    pub schema: &'static str,
    /// The traces, a program each, all on the machine together.
    pub traces: Vec<String>,
    /// What was left out of the traces, cut, or taken for something else, with counts.
    pub counted: Vec<Counted>,
    /// One for each machine: settings and results.
    #[serde(serialize_with = "trees")]
    #[schemars(schema_with = "described")]
    pub runs: Vec<Simulated>,
}

impl PagesDocument {
    /// Returns the document of these traces on these machines.
    pub fn new(traces: Vec<String>, counted: Vec<Counted>, runs: Vec<Simulated>) -> Self {
        Self {
            schema: SCHEMA,
            traces,
            counted,
            runs,
        }
    }

    /// Returns the rows: DRAM as it was asked for, and the columns of a run; a row for each write
    /// scheme if there are any.
    pub(crate) fn table(&self) -> Rows {
        let runs = self.runs.iter().flat_map(Simulated::by_scheme);
        Rows::of(
            [asked(), results::run()].concat(),
            &runs.collect::<Vec<_>>(),
        )
    }
}

impl Reported for PageSimulation {
    type Document = PagesDocument;

    fn document(
        traces: Vec<String>,
        counted: Vec<Counted>,
        results: Self::Results,
    ) -> PagesDocument {
        let runs = results.into_iter().map(|(machine, _)| machine);
        PagesDocument::new(traces, counted, runs.collect())
    }

    fn text(document: &PagesDocument) -> Text {
        text(&document.runs)
    }
}

/// Returns the field of DRAM as it was asked for.
pub(crate) fn asked() -> Vec<Field<Simulated>> {
    fields! { Simulated;
        /// DRAM, as it was asked for
        "dram" None |one| one.dram.to_string();
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    json_schema::list_of(&results::run())
}

fn trees<S: Serializer>(runs: &[Simulated], serializer: S) -> Result<S::Ok, S::Error> {
    let fields = results::run();
    serializer.collect_seq(runs.iter().map(|run| Tree::of(&fields, run)))
}

/// Returns the table for people: a row for each machine with the settings that vary; of a single
/// machine, where its time went and what became of predictions.
pub fn text<'a>(simulated: impl IntoIterator<Item = &'a Simulated>) -> Text {
    let simulated: &[&Simulated] = &Vec::from_iter(simulated);
    let Some(first) = simulated.first() else {
        return Text::default();
    };
    let (accesses, footprint) = (first.outcome.counts.accesses, first.outcome.footprint_pages);
    let size = pages(footprint);
    let head = format!("{accesses} accesses to {footprint} pages ({size}), simulated\n\n");
    let mut text = Text::default().prose(head).table(comparison(simulated));
    if let [only] = simulated {
        if only.outcome.timed {
            text = text.prose("\n").table(breakdown(only));
        }
        if only.outcome.story.issued > 0 {
            text = text.prose("\n").text(story(only));
        }
    }
    for one in simulated
        .iter()
        .filter(|one| !one.outcome.schemes.is_empty())
    {
        let which = match simulated {
            [_] => String::new(),
            _ => format!("\n{} {}:", dram(one), decider(one)),
        };
        text = text
            .prose(format!("{which}\n"))
            .table(schemes::comparison(one));
    }
    if simulated.iter().any(|one| !one.outcome.schemes.is_empty()) {
        text = text.prose(schemes::LEGEND);
    }
    text.prose(lifetime_basis(simulated))
        .prose(notes(simulated))
}

/// Returns the policy that decides which pages are in DRAM.
fn decider(one: &Simulated) -> String {
    match one.machine.migration.bypasses() {
        true => one.machine.migration.to_string(),
        false => one.machine.replacement.to_string(),
    }
}

/// Says what the lifetimes are reckoned from; nothing if none is known.
fn lifetime_basis(simulated: &[&Simulated]) -> String {
    let mut known = simulated
        .iter()
        .filter(|one| one.outcome.lifetime.even.is_some());
    let Some(first) = known.next() else {
        return String::new();
    };
    let time = match known.all(|one| one.outcome.time() == first.outcome.time()) {
        true => format!("of {} of virtual time", first.outcome.time()),
        false => "of the virtual time of each".to_owned(),
    };
    let phase = match first.outcome.warmup {
        Some(accesses @ 1..) => format!("behind a warm-up of {accesses} accesses"),
        _ => "from the first access on, what programs load included (--warmup leaves that out)"
            .to_owned(),
    };
    let per = match first.machine.tier.rated {
        Some(rated) => format!("until {} are written", lifetime::shown(rated)),
        None => {
            "until its cells wear out, if they wore evenly; --endurance takes the figure of a drive"
                .to_owned()
        }
    };
    format!(
        "\nLifetime: at the mean rate of writing {time},\n{phase};\n{per}.\n\
         What a drive writes by itself (write amplification) is not in it.\n"
    )
}

/// Returns the warnings; of several that differ only in figures, the first.
fn notes(simulated: &[&Simulated]) -> String {
    let mut warnings: Vec<String> = Vec::new();
    for warning in simulated.iter().filter_map(|one| one.warning()) {
        let kind = |text: &str| text.chars().take_while(|c| *c != ':').collect::<String>();
        if warnings.iter().all(|known| kind(known) != kind(&warning)) {
            warnings.push(warning);
        }
    }
    let notes = warnings.iter().map(|text| format!("\nnote: {text}\n"));
    notes.collect()
}

/// Formats a figure of a machine.
type Figure = fn(&Outcome) -> String;

/// Returns the table of the machines, with the settings that vary.
fn comparison(simulated: &[&Simulated]) -> Table {
    let settings = settings();
    let shown = settings.iter().filter_map(|setting| {
        let (heading, name) = setting.shown?;
        let mut fields = settings.iter().flat_map(|setting| &setting.fields);
        Some((heading, fields.find(|field| field.name == name)?))
    });
    let shown: Vec<_> = shown.collect();
    let names = simulated.iter().map(|one| {
        let named = |(heading, field): &(_, &Field<_>)| (*heading, field.shown(&one.machine));
        let settings = shown.iter().map(named);
        iter::once(("DRAM", dram(one))).chain(settings).collect()
    });
    let names: Vec<Vec<(&str, String)>> = names.collect();
    let varied = (0..names[0].len()).filter(|&column| column == 0 || varies(&names, column));
    let varied: Vec<usize> = varied.collect();
    let figures = figures(simulated);
    let headings = varied.iter().map(|&column| names[0][column].0);
    let headings = headings.chain(figures.iter().map(|(name, _)| *name));
    let mut table = table(&headings.collect::<Vec<_>>());
    for (one, names) in simulated.iter().zip(&names) {
        let settings = varied.iter().map(|&column| names[column].1.clone());
        let figures = figures.iter().map(|(_, figure)| figure(&one.outcome));
        table.add_row(settings.chain(figures));
    }
    table
}

/// Returns the figures of the table: those of prefetching only if some machine fetched ahead, those
/// of control only if some machine had a policy of it, those of lines only if slow memory served
/// them somewhere, what was drawn only if some memory had a limit, and those of time only if some
/// machine had a clock.
fn figures(simulated: &[&Simulated]) -> Vec<(&'static str, Figure)> {
    let all: [(_, Figure); 16] = [
        ("misses", |o| o.counts.misses().to_string()),
        ("miss ratio", |o| format!("{:.4}", o.miss_ratio())),
        (PREFETCHED, |o| o.story.issued.to_string()),
        (ACCURACY, |o| percent(o.story.accuracy())),
        ("read", |o| pages(o.counts.reads)),
        ("written", |o| pages(o.counts.writebacks)),
        (LINES_READ, |o| {
            (o.counts.slow_reads + o.counts.move_reads).to_string()
        }),
        (LINES_WRITTEN, |o| {
            (o.counts.slow_writes + o.counts.move_writes).to_string()
        }),
        (TIME, |o| timed(o, |o| o.time().to_string())),
        (SLOWDOWN, |o| timed(o, |o| format!("{:.2}", o.slowdown()))),
        (DRAM_HELD, |o| {
            controlled(o, |c| Some(Unit::Bytes.shown(&c.dram_mean.0.value())))
        }),
        (STALLS, |o| {
            controlled(o, |c| Some(format!("{:.2} %", 100.0 * c.stalls)))
        }),
        (WORST, |o| {
            controlled(o, |c| Some(percent(Some(c.stalls_worst?))))
        }),
        (FAST_DRAWN, |o| {
            Unit::Rate.shown(&o.rate(o.drawn.fast).value())
        }),
        (SLOW_DRAWN, |o| {
            Unit::Rate.shown(&o.rate(o.drawn.slow).value())
        }),
        (LIFETIME, |o| Unit::Years.shown(&o.lifetime.even.value())),
    ];
    let fetched = simulated.iter().any(|one| one.outcome.story.issued > 0);
    let has_clock = simulated.iter().any(|one| one.outcome.timed);
    let is_controlled = simulated.iter().any(|one| one.outcome.control.is_some());
    let serves_lines = simulated.iter().any(|one| one.machine.migration.bypasses());
    let mut drawn = simulated.iter().map(|one| one.outcome.drawn);
    let is_limited = (
        drawn.clone().any(|drawn| drawn.fast.is_some()),
        drawn.any(|drawn| drawn.slow.is_some()),
    );
    let all = all.into_iter();
    all.filter(|(name, _)| is_limited.0 || *name != FAST_DRAWN)
        .filter(|(name, _)| is_limited.1 || *name != SLOW_DRAWN)
        .filter(|(name, _)| fetched || ![PREFETCHED, ACCURACY].contains(name))
        .filter(|(name, _)| serves_lines || ![LINES_READ, LINES_WRITTEN].contains(name))
        .filter(|(name, _)| is_controlled || ![DRAM_HELD, STALLS, WORST].contains(name))
        .filter(|(name, _)| has_clock || ![TIME, SLOWDOWN, LIFETIME].contains(name))
        .collect()
}

/// Formats a figure of a control policy, which a machine may not have.
fn controlled(outcome: &Outcome, figure: fn(&Controlled) -> Option<String>) -> String {
    let figure = outcome.control.as_ref().and_then(figure);
    figure.unwrap_or_else(|| Unit::None.shown(&Value::Null))
}

/// Formats a figure of time, which a machine without a clock does not have.
fn timed(outcome: &Outcome, figure: Figure) -> String {
    match outcome.timed {
        true => figure(outcome),
        false => Unit::None.shown(&Value::Null),
    }
}

const LINES_READ: &str = "lines read";
const LINES_WRITTEN: &str = "lines written";
const DRAM_HELD: &str = "DRAM held";
const STALLS: &str = "stalls";
const WORST: &str = "worst second";
const TIME: &str = "time";
const SLOWDOWN: &str = "slowdown";
const FAST_DRAWN: &str = "drawn from DRAM";
const SLOW_DRAWN: &str = "drawn from slow memory";
const LIFETIME: &str = "lifetime if even";
const PREFETCHED: &str = "prefetched";
const ACCURACY: &str = "accuracy";

/// Returns whether a setting differs by itself, and not only because it follows from the memory or
/// the fault cost.
fn varies(names: &[Vec<(&str, String)>], column: usize) -> bool {
    let leads = ["memory", "fault cost"];
    let same_leads = |one: &[(&str, String)], other: &[(&str, String)]| {
        let mut pairs = one.iter().zip(other);
        leads.contains(&one[column].0)
            || pairs.all(|(one, other)| !leads.contains(&one.0) || one.1 == other.1)
    };
    names.iter().any(|one| {
        let mut others = names.iter();
        others.any(|other| one[column].1 != other[column].1 && same_leads(one, other))
    })
}

/// Returns DRAM as it was asked for, with its size if it is a share.
fn dram(one: &Simulated) -> String {
    match one.dram {
        Dram::Ratio(_) => format!("{} ({})", one.dram, pages(one.machine.dram_pages as u64)),
        _ => one.dram.to_string(),
    }
}

/// Returns the size of a number of pages.
fn pages(pages: u64) -> String {
    Bytes::of_pages(pages).to_string()
}

/// Returns the time of one machine by cause.
fn breakdown(one: &Simulated) -> Table {
    let parts = parts(&one.outcome.times);
    let total: Nanos = parts.iter().map(|(_, time)| *time).sum();
    let mut table = table(&["where the time went", "time", "share"]);
    for (name, time) in parts.into_iter().filter(|(_, time)| *time > Nanos::ZERO) {
        let share = time.0 as f64 / total.0.max(1) as f64;
        table.add_row([name.to_owned(), time.to_string(), percent(Some(share))]);
    }
    table
}

/// Returns the parts of the time of all threads, with their names.
pub(crate) fn parts(times: &Times) -> [(&'static str, Nanos); 16] {
    [
        ("compute", times.compute),
        ("waiting for reads", times.read),
        ("waiting for room (writes)", times.evict),
        ("trap", times.trap),
        ("kernel", times.kernel),
        ("copy", times.copy),
        ("map", times.map),
        ("unmap", times.unmap),
        ("handing pages to the device", times.write_out),
        ("TLB shoot-down", times.shootdown),
        ("prefetching", times.prefetch),
        ("waiting for other threads", times.idle),
        ("lines of slow memory", times.slow_lines),
        ("waiting for channels of DRAM", times.fast_wait),
        ("waiting for channels of slow memory", times.slow_wait),
        ("samples", times.sample),
    ]
}

/// Returns the fates of the predictions of one machine.
fn story(one: &Simulated) -> Text {
    let (story, latencies) = (&one.outcome.story, &one.outcome.latencies);
    let mut table = table(&["what became of predictions", "pages", "share"]);
    let ends = ends().map(|count| (count.end, (count.get)(story)));
    for (name, pages) in ends.chain([("untouched at the end", one.outcome.untouched)]) {
        let share = pages as f64 / story.predicted.max(1) as f64;
        table.add_row([name.to_owned(), pages.to_string(), percent(Some(share))]);
    }
    let mean = |time: Option<f64>| Unit::Nanos.shown(&time.value());
    let shares = format!(
        "accuracy {}, coverage {}, timeliness {}; a fault took {}, a read of the device {}\n",
        percent(story.accuracy()),
        percent(story.coverage(one.outcome.counts.full_misses)),
        percent(story.timeliness()),
        mean(latencies.fault()),
        mean(latencies.device()),
    );
    Text::default().table(table).prose(shares)
}

/// Returns a share in percent.
fn percent(share: Option<f64>) -> String {
    Unit::Share.shown(&share.value())
}
