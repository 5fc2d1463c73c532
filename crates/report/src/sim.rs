//! Simulations of pages: as a table, and as JSON of the schema `terrace.sim.pages/1`.
//!
//! All times are virtual: what a machine of these settings would take, not what one has taken.

use serde::Serialize;
use terrace_base::{Bytes, Nanos};
use terrace_policy::PAGE_BYTES;
use terrace_sim::pages::{Dram, Effective};
use terrace_sim::pages::{Energy, Lifetime, Outcome, ProgramTime, Settings, Times};

use crate::constituent::Constituent;
use crate::json::pretty;
use crate::table::table;

/// The schema of the document; the number grows with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.pages/1";

/// Simulations of the same traces.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `terrace.sim.pages/1`.
    pub schema: &'static str,
    /// The traces, a program each, all on the machine together.
    pub traces: Vec<String>,
    /// One for each machine.
    pub runs: Vec<Run>,
}

/// What became of the programs on one machine. All figures leave the warm-up out.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The machine, with everything that was not asked for filled in.
    pub settings: Effective,
    /// Touches of pages: the accesses of the traces; one that crosses a page border counts twice.
    pub accesses: u64,
    /// Those that wrote.
    pub writes: u64,
    /// Touches of pages that were not in DRAM: the sum of the next four.
    pub misses: u64,
    /// First touches of a page, which read nothing.
    pub first_touches: u64,
    /// Misses for which the page had to be read from the tier.
    pub full_misses: u64,
    /// Misses on a page that was being read already.
    pub partial_misses: u64,
    /// Misses on a page in the eviction buffer, which read nothing.
    pub rescues: u64,
    /// Misses an access, 0 to 1.
    pub miss_ratio: f64,
    /// Pages that left DRAM.
    pub evictions: u64,
    /// Those of them that left for a page fetched ahead, which delayed nobody.
    pub background_evictions: u64,
    /// Pages written to the tier.
    pub writebacks: u64,
    /// Pages read from the tier.
    pub reads: u64,
    /// Pages fetched ahead, and what became of them; the rest was in DRAM, untouched, at the end.
    pub prefetch: Prefetches,
    /// TLB shoot-downs.
    pub shootdowns: u64,
    /// What a fault on a page of the tier took on average, from the touch to the page being mapped,
    /// in nanoseconds (Fedorov 2016, figure 5.4); null where there was none.
    pub fault_latency_ns: Option<f64>,
    /// What a read of the device took on average, waiting in its queue included, in nanoseconds.
    pub device_latency_ns: Option<f64>,
    /// Virtual run time of all programs, in nanoseconds.
    pub time_ns: Nanos,
    /// The same on a machine with DRAM for everything.
    pub all_dram_ns: Nanos,
    /// `time_ns` divided by `all_dram_ns`.
    pub slowdown: f64,
    /// The run time of each program.
    pub programs: Vec<ProgramTime>,
    /// Where the time of all threads went, in nanoseconds, added up over the threads.
    pub times_ns: Times,
    /// Years until the tier wears out at this rate with all cells written evenly (Awad 2016,
    /// figures 2 and 9; Fedorov 2016, 2.4.5); null where nothing is written or no endurance known.
    pub lifetime_years: Option<f64>,
    /// The same with start-gap, and without levelling.
    pub lifetime: Lifetime,
    /// What the tier consumed, in joules; null where no powers are known.
    pub energy: Option<Energy>,
    /// Pages that were touched.
    pub footprint_pages: u64,
    /// Pages of the tier that were in use.
    pub tier_pages_used: u64,
    /// The access at which the first page had to leave DRAM; null where all fitted.
    pub dram_full_at: Option<u64>,
    /// Why the figures are not to be taken as those of a steady state; null where they may be.
    pub warning: Option<String>,
}

/// What became of predictions (Fedorov 2016, figures 5.12 and 5.13): each was filtered, wiped, found
/// in memory or issued, unless it waited to be at the end.
#[derive(Clone, Debug, Serialize)]
pub struct Prefetches {
    /// Pages named by the predictor; with readahead, the others of each block.
    pub predicted: u64,
    /// In memory, on their way, not in the tier, or named already.
    pub filtered: u64,
    /// Pushed out of the secondary queue by others; with readahead, there was no room.
    pub wiped: u64,
    /// Found in memory, or on their way, when their turn came.
    pub in_memory: u64,
    /// Fetched.
    pub issued: u64,
    /// Touched after they had arrived.
    pub used: u64,
    /// Touched before they had arrived.
    pub late: u64,
    /// Evicted untouched.
    pub wasted: u64,
    /// In DRAM, or on their way, and not touched at the end.
    pub untouched: u64,
    /// The share of those with a known end that were touched; null where there are none.
    pub accuracy: Option<f64>,
    /// The share of the full misses that there would have been that were foreseen.
    pub coverage: Option<f64>,
    /// The share of those touched that had arrived by then.
    pub timeliness: Option<f64>,
    /// The same by those of a combination that named the pages, alone or together; left out of other
    /// predictors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constituents: Vec<Constituent>,
}

impl Prefetches {
    fn of(outcome: &Outcome) -> Self {
        let story = outcome.counts.story();
        Self {
            predicted: story.predicted,
            filtered: story.filtered,
            wiped: story.wiped,
            in_memory: story.in_memory,
            issued: story.issued,
            used: story.used,
            late: story.late,
            wasted: story.wasted,
            untouched: outcome.untouched,
            accuracy: story.accuracy(),
            coverage: story.coverage(outcome.counts.full_misses),
            timeliness: story.timeliness(),
            constituents: outcome.constituents.iter().map(Constituent::from).collect(),
        }
    }
}

impl Run {
    /// What was found on a machine.
    pub fn of(settings: &Settings, outcome: &Outcome) -> Self {
        let counts = outcome.counts;
        Self {
            settings: Effective::of(settings),
            accesses: counts.accesses,
            writes: counts.writes,
            misses: counts.misses(),
            first_touches: counts.first_touches,
            full_misses: counts.full_misses,
            partial_misses: counts.partial_misses,
            rescues: counts.rescues,
            miss_ratio: outcome.miss_ratio(),
            evictions: counts.evictions,
            background_evictions: counts.background_evictions,
            writebacks: counts.writebacks,
            reads: counts.reads,
            prefetch: Prefetches::of(outcome),
            fault_latency_ns: outcome.latencies.fault(),
            device_latency_ns: outcome.latencies.device(),
            shootdowns: counts.shootdowns,
            time_ns: outcome.time(),
            all_dram_ns: outcome.all_dram(),
            slowdown: outcome.slowdown(),
            programs: outcome.programs.clone(),
            times_ns: outcome.times,
            lifetime_years: outcome.lifetime.levelled,
            lifetime: outcome.lifetime,
            energy: outcome.energy,
            footprint_pages: outcome.footprint_pages,
            tier_pages_used: outcome.tier_pages_used,
            dram_full_at: outcome.full_at,
            warning: warning(settings, outcome),
        }
    }
}

/// Why figures are not to be taken for those of a steady state, or of a machine that can be, in a
/// sentence.
fn warning(settings: &Settings, outcome: &Outcome) -> Option<String> {
    let buffer = settings.eviction_buffer;
    if let Some(pages) = settings.tier.pages
        && pages < outcome.tier_pages_used
    {
        return Some(format!(
            "the tier is too small: {pages} pages, and {} were in use; figures are as if they fitted",
            outcome.tier_pages_used
        ));
    }
    if outcome.warmup.is_none() {
        return Some(format!(
            "the warm-up is too long: the trace ended before its {} accesses, so the figures are of the whole",
            settings.warmup
        ));
    }
    match (outcome.is_cold(), outcome.full_at) {
        (None, _) => Some("DRAM never filled: everything fitted".to_owned()),
        (Some(true), Some(full)) => Some(format!(
            "the warm-up is too short: DRAM was full only after {full} accesses, so the figures are partly of a machine that was filling; give --warmup {full} or more, or a longer trace",
        )),
        _ if buffer * 4 > settings.dram_pages => Some(format!(
            "the eviction buffer is large: {buffer} pages beside {} of DRAM",
            settings.dram_pages
        )),
        _ => None,
    }
}

/// A machine as it was asked for and simulated, for the table.
pub struct Simulated {
    /// DRAM as it was asked for.
    pub dram: Dram,
    /// The result.
    pub run: Run,
}

impl Document {
    /// Of these traces on these machines.
    pub fn new(traces: Vec<String>, runs: Vec<Run>) -> Self {
        Self {
            schema: SCHEMA,
            traces,
            runs,
        }
    }

    /// As indented JSON with a line end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}

/// The table for people: what all machines share in a line, what differs in columns; of a single
/// machine, where its time went.
pub fn text(simulated: &[Simulated]) -> String {
    let Some(first) = simulated.first() else {
        return String::new();
    };
    let mut text = format!(
        "{} accesses to {} pages ({}), simulated\n\n",
        first.run.accesses,
        first.run.footprint_pages,
        Bytes(first.run.footprint_pages * PAGE_BYTES)
    );
    text.push_str(&comparison(simulated));
    if let [only] = simulated {
        text.push('\n');
        text.push_str(&breakdown(&only.run));
        if only.run.prefetch.issued > 0 {
            text.push('\n');
            text.push_str(&story(&only.run));
        }
    }
    text.push_str(&notes(simulated));
    text
}

/// The first warning of those that differ only in figures.
fn notes(simulated: &[Simulated]) -> String {
    let mut warnings: Vec<&str> = Vec::new();
    for warning in simulated
        .iter()
        .filter_map(|one| one.run.warning.as_deref())
    {
        let kind = |text: &str| text.chars().take_while(|c| *c != ':').collect::<String>();
        if warnings.iter().all(|known| kind(known) != kind(warning)) {
            warnings.push(warning);
        }
    }
    warnings
        .iter()
        .map(|warning| format!("\nnote: {warning}\n"))
        .collect()
}

fn comparison(simulated: &[Simulated]) -> String {
    let names: Vec<Vec<(&str, String)>> = simulated.iter().map(named).collect();
    let varied: Vec<usize> = (0..names[0].len())
        .filter(|&column| column == 0 || varies(&names, column))
        .collect();
    let prefetches = simulated.iter().any(|one| one.run.prefetch.issued > 0);
    let mut figures = vec!["misses", "miss ratio"];
    if prefetches {
        figures.extend(["prefetched", "accuracy"]);
    }
    figures.extend(["read", "written", "time", "slowdown", "lifetime"]);
    let head: Vec<&str> = varied
        .iter()
        .map(|&column| names[0][column].0)
        .chain(figures)
        .collect();
    let mut table = table(&head);
    for (one, names) in simulated.iter().zip(&names) {
        let run = &one.run;
        let mut row: Vec<String> = varied
            .iter()
            .map(|&column| names[column].1.clone())
            .collect();
        row.extend([run.misses.to_string(), format!("{:.4}", run.miss_ratio)]);
        if prefetches {
            row.extend([
                run.prefetch.issued.to_string(),
                percent(run.prefetch.accuracy),
            ]);
        }
        row.extend([
            Bytes(run.reads * PAGE_BYTES).to_string(),
            Bytes(run.writebacks * PAGE_BYTES).to_string(),
            run.time_ns.to_string(),
            format!("{:.2}", run.slowdown),
            run.lifetime_years.map_or("-".to_owned(), years),
        ]);
        table.add_row(row);
    }
    format!("{table}\n")
}

/// Whether a setting differs of itself, and not only because the memory or the cost of a fault,
/// from which it follows, does.
fn varies(names: &[Vec<(&str, String)>], column: usize) -> bool {
    let leads = ["memory", "fault cost"];
    let same_leads = |one: &[(&str, String)], other: &[(&str, String)]| {
        let differs = |(one, other): (&(&str, String), &(&str, String))| {
            leads.contains(&one.0) && one.1 != other.1
        };
        leads.contains(&one[column].0) || !one.iter().zip(other).any(differs)
    };
    names.iter().any(|one| {
        names
            .iter()
            .any(|other| one[column].1 != other[column].1 && same_leads(one, other))
    })
}

/// The settings that a table can show, DRAM first.
fn named(one: &Simulated) -> Vec<(&'static str, String)> {
    let settings = &one.run.settings;
    let dram = match one.dram {
        Dram::Ratio(_) => format!("{} ({})", one.dram, Bytes(settings.dram_pages * PAGE_BYTES)),
        _ => one.dram.to_string(),
    };
    vec![
        ("DRAM", dram),
        ("memory", settings.memory.clone()),
        ("replacement", settings.replacement.to_owned()),
        ("prefetch", settings.prefetch.to_owned()),
        ("prefetch cache", settings.prefetch_cache.to_string()),
        ("work", word(&settings.work)),
        ("inclusion", word(&settings.inclusion)),
        ("buffer", settings.eviction_buffer.to_string()),
        ("read latency", Nanos(settings.read_ns).to_string()),
        ("write latency", Nanos(settings.write_ns).to_string()),
        ("channels", settings.channels.to_string()),
        ("devices", settings.devices.to_string()),
        ("order", settings.order.to_owned()),
        ("fault cost", settings.fault.name.clone()),
        ("shoot-down", word(&settings.fault.shootdown)),
        (
            "threads",
            settings
                .threads
                .map_or("-".to_owned(), |threads| threads.to_string()),
        ),
        ("instruction", format!("{} ps", settings.instruction_ps)),
        ("access", Nanos(settings.access_ns).to_string()),
        (
            "tier",
            settings
                .tier_pages
                .map_or("-".to_owned(), |p| Bytes(p * PAGE_BYTES).to_string()),
        ),
        ("warm-up", settings.warmup.to_string()),
        ("seed", settings.seed.to_string()),
    ]
}

/// A setting's name as the command line has it.
pub(crate) fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        other => unreachable!("a setting without fields is a name: {other:?}"),
    }
}

/// Where the time of one machine went.
fn breakdown(run: &Run) -> String {
    let times = &run.times_ns;
    let parts = [
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
    ];
    let total: Nanos = parts.iter().map(|(_, time)| *time).sum();
    let mut table = table(&["where the time went", "time", "share"]);
    for (name, time) in parts.into_iter().filter(|(_, time)| *time > Nanos::ZERO) {
        let share = 100.0 * time.0 as f64 / total.0.max(1) as f64;
        table.add_row([name.to_owned(), time.to_string(), format!("{share:.1} %")]);
    }
    format!("{table}\n")
}

/// What became of the predictions of one machine.
fn story(run: &Run) -> String {
    let prefetch = &run.prefetch;
    let mut table = table(&["what became of predictions", "pages", "share"]);
    for (name, pages) in [
        ("filtered before the queue", prefetch.filtered),
        ("wiped from the queue", prefetch.wiped),
        ("in memory at their turn", prefetch.in_memory),
        ("used", prefetch.used),
        ("late", prefetch.late),
        ("wasted", prefetch.wasted),
        ("untouched at the end", prefetch.untouched),
    ] {
        let share = 100.0 * pages as f64 / prefetch.predicted.max(1) as f64;
        table.add_row([name.to_owned(), pages.to_string(), format!("{share:.1} %")]);
    }
    let mean = |nanos: Option<f64>| {
        nanos.map_or("-".to_owned(), |nanos| {
            Nanos(nanos.round() as u64).to_string()
        })
    };
    format!(
        "{table}\naccuracy {}, coverage {}, timeliness {}; a fault took {}, a read of the device {}\n",
        percent(prefetch.accuracy),
        percent(prefetch.coverage),
        percent(prefetch.timeliness),
        mean(run.fault_latency_ns),
        mean(run.device_latency_ns),
    )
}

/// A share as it is read.
fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}

/// Years, or days where it is less than one.
pub(crate) fn years(years: f64) -> String {
    match years {
        y if y >= 1000.0 => format!("{y:.0} years"),
        y if y >= 1.0 => format!("{y:.1} years"),
        y if y * 365.25 >= 1.5 => format!("{:.0} days", y * 365.25),
        y => format!("{:.1} hours", y * 365.25 * 24.0),
    }
}
