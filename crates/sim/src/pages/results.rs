//! Results of a simulated machine: their names, units and meanings, declared once.
//!
//! To add one: a count in `count.rs`, or an entry here.

use terrace_base::Nanos;
use terrace_base::schema::{Field, Tree, Unit, Value};
use terrace_policy::prefetch::{Constituent, LifeStory};

use super::count::{Counts, Times};
use super::dram::Dram;
use super::options::effective;
use super::outcome::{Lifetime, Outcome, ProgramTime};
use super::settings::PageMachine;

/// A machine as it was asked for and simulated. All figures are virtual, and leave the warm-up out.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// DRAM as it was asked for.
    pub dram: Dram,
    /// The machine.
    pub machine: PageMachine,
    /// What was found on it.
    pub outcome: Outcome,
}

/// Returns the fields of a run in the document `terrace.sim.pages/1`.
pub fn run() -> Vec<Field<Simulated>> {
    let settings = effective().into_iter().map(|field| {
        let path = format!("settings.{}", field.path);
        field.json(path).of(|one: &Simulated| &one.machine)
    });
    let results = results()
        .into_iter()
        .map(|field| field.of(|one: &Simulated| &one.outcome));
    let warning = Field::new(
        "warning",
        Unit::None,
        "why the figures are not those of a steady state; null where they may be",
        Simulated::warning,
    );
    settings.chain(results).chain([warning]).collect()
}

/// Declares a field of an outcome.
fn figure<T: terrace_base::schema::Typed>(
    name: &'static str,
    unit: Unit,
    help: &'static str,
    get: impl Fn(&Outcome) -> T + Send + Sync + 'static,
) -> Field<Outcome> {
    Field::new(name, unit, help, get)
}

/// Returns the fields of an outcome, in the order of JSON.
pub fn results() -> Vec<Field<Outcome>> {
    let counts = Counts::fields().into_iter().flat_map(|field| {
        let derived = derived(&field.name);
        let shootdowns = field.name == "shootdowns";
        let field = field.of(|outcome: &Outcome| &outcome.counts);
        let field = if shootdowns {
            field.behind("device_latency_ns")
        } else {
            field
        };
        [field].into_iter().chain(derived)
    });
    counts.chain(times()).chain(tier()).collect()
}

/// Returns the figures that stand behind a count of which they are made.
fn derived(count: &str) -> Vec<Field<Outcome>> {
    match count {
        "writes" => vec![figure(
            "misses",
            Unit::None,
            "touches of pages not in DRAM: the sum of the next four",
            |o| o.counts.misses(),
        )],
        "rescues" => vec![figure(
            "miss_ratio",
            Unit::Ratio,
            "misses an access, 0 to 1",
            |o| o.miss_ratio(),
        )],
        "reads" => prefetching(),
        _ => Vec::new(),
    }
}

/// Returns the fields of a life story (Fedorov 2016, figures 5.12 and 5.13).
pub fn life_story() -> impl Iterator<Item = Field<LifeStory>> {
    LifeStory::COUNTS.iter().map(|count| {
        let column = match count.name {
            "predicted" => "predictions".to_owned(),
            "issued" => "prefetches".to_owned(),
            end @ ("used" | "late" | "wasted") => format!("prefetches_{end}"),
            end => format!("predictions_{end}"),
        };
        let help = count.help.trim_ascii();
        Field::new(column, Unit::None, help, count.get).json(count.name)
    })
}

/// Returns what became of predictions, as a whole and by the constituents of a combination.
fn prefetching() -> Vec<Field<Outcome>> {
    let story = life_story().map(|field| field.of(|outcome: &Outcome| &outcome.story));
    let further = [
        figure(
            "untouched",
            Unit::None,
            "pages in DRAM, or on their way, and not touched at the end",
            |o| o.untouched,
        )
        .column("prefetches_untouched"),
        figure(
            "accuracy",
            Unit::Share,
            "share of the fetched pages with a known end that were touched",
            |o| o.story.accuracy(),
        ),
        figure(
            "coverage",
            Unit::Share,
            "share of the full misses without prefetching that were predicted",
            |o| o.story.coverage(o.counts.full_misses),
        ),
        figure(
            "timeliness",
            Unit::Share,
            "share of the touched pages that had arrived by then",
            |o| o.story.timeliness(),
        ),
        figure(
            "constituents",
            Unit::None,
            "the same by the constituents of a combination that named the pages",
            |o| {
                o.constituents
                    .iter()
                    .map(constituent)
                    .collect::<Vec<Value>>()
            },
        )
        .column("")
        .json("constituents?"),
    ];
    let fields = story.chain(further);
    fields
        .map(|field| {
            let path = format!("prefetch.{}", field.path);
            field.json(path)
        })
        .collect()
}

/// Returns the life story of the pages that some constituents named (Fedorov 2016, figure 5.10).
fn constituent(one: &Constituent) -> Value {
    let names = Field::new("names", Unit::None, "constituents", |c: &Constituent| {
        c.names.clone()
    });
    let story = life_story().map(|field| field.of(|c: &Constituent| &c.story));
    let accuracy = Field::new("accuracy", Unit::Share, "accuracy", |c: &Constituent| {
        c.story.accuracy()
    });
    let fields: Vec<_> = [names].into_iter().chain(story).chain([accuracy]).collect();
    Tree::of(&fields, one).into()
}

/// Returns latencies, run times, and where the time went.
fn times() -> Vec<Field<Outcome>> {
    let mut times = vec![
        figure(
            "fault_latency_ns",
            Unit::Nanos,
            "mean time from the touch of a page in the tier to its being mapped",
            |o| o.latencies.fault(),
        ),
        figure(
            "device_latency_ns",
            Unit::Nanos,
            "mean time of a read of the device, waiting included",
            |o| o.latencies.device(),
        ),
        figure("time_ns", Unit::Nanos, "virtual run time", Outcome::time),
        figure(
            "all_dram_ns",
            Unit::Nanos,
            "virtual run time with DRAM for everything",
            |o| o.all_dram(),
        ),
        figure(
            "slowdown",
            Unit::Ratio,
            "time_ns divided by all_dram_ns",
            Outcome::slowdown,
        ),
        figure("programs", Unit::None, "run time of each program", |o| {
            o.programs.iter().map(program).collect::<Vec<Value>>()
        })
        .column(""),
        figure(
            "program_threads",
            Unit::None,
            "threads of the programs; the next twelve add up their time",
            |o| {
                o.programs
                    .iter()
                    .map(|program| u64::from(program.threads))
                    .sum::<u64>()
            },
        )
        .json(""),
    ];
    times.extend(Times::fields().into_iter().map(|field| {
        let path = format!("times_ns.{}", field.name);
        let column = match &*field.name {
            waiting @ ("read" | "evict") => format!("wait_{waiting}_ns"),
            part => format!("{part}_ns"),
        };
        field
            .json(path)
            .column(column)
            .of(|outcome: &Outcome| &outcome.times)
    }));
    times
}

/// Returns the run time of a program.
fn program(one: &ProgramTime) -> Value {
    let time =
        |name, help, get: fn(&ProgramTime) -> Nanos| Field::new(name, Unit::Nanos, help, get);
    let fields = [
        time("time_ns", "with the simulated memory", |program| {
            program.time_ns
        }),
        time("all_dram_ns", "with DRAM for everything", |program| {
            program.all_dram_ns
        }),
        Field::new(
            "slowdown",
            Unit::Ratio,
            "the one divided by the other",
            |program: &ProgramTime| program.slowdown,
        ),
        Field::new("threads", Unit::None, "threads", |program: &ProgramTime| {
            program.threads
        }),
    ];
    Tree::of(&fields, one).into()
}

/// Returns what the tier bore: wear, energy and pages.
fn tier() -> Vec<Field<Outcome>> {
    let lifetime = |column, path, help, get: fn(&Lifetime) -> Option<f64>| {
        figure(column, Unit::Years, help, move |o: &Outcome| {
            get(&o.lifetime)
        })
        .json(path)
    };
    let energy = |column, path, help, get: fn(&super::Energy) -> f64| {
        figure(column, Unit::Joules, help, move |o: &Outcome| {
            o.energy.as_ref().map(get)
        })
        .json(path)
    };
    let levelled = "until the tier wears out, all cells written evenly (Awad 2016, figures 2 and 9); \
                    null: nothing written, or no endurance known";
    vec![
        lifetime("lifetime_years", "lifetime_years", levelled, |l| l.levelled),
        lifetime("", "lifetime.levelled", levelled, |l| l.levelled),
        lifetime(
            "lifetime_start_gap_years",
            "lifetime.start_gap",
            "lifetime with start-gap levelling",
            |l| l.start_gap,
        ),
        lifetime(
            "lifetime_unlevelled_years",
            "lifetime.unlevelled",
            "lifetime without levelling",
            |l| l.unlevelled,
        ),
        energy(
            "energy_read_j",
            "energy?.read_j",
            "energy of reads; null: no powers known",
            |e| e.read_j,
        ),
        energy(
            "energy_write_j",
            "energy?.write_j",
            "energy of writes",
            |e| e.write_j,
        ),
        energy(
            "energy_standby_j",
            "energy?.standby_j",
            "energy of standing by",
            |e| e.standby_j,
        ),
        energy(
            "energy_refresh_j",
            "energy?.refresh_j",
            "energy of refreshing",
            |e| e.refresh_j,
        ),
        figure(
            "footprint_pages",
            Unit::Pages,
            "pages that were touched",
            |o| o.footprint_pages,
        ),
        figure(
            "tier_pages_used",
            Unit::Pages,
            "pages of the tier that were in use",
            |o| o.tier_pages_used,
        ),
        figure(
            "dram_full_at",
            Unit::None,
            "access at which the first page had to leave DRAM; null: all fitted",
            |o| o.full_at,
        ),
    ]
}

impl Simulated {
    /// Returns why the figures are not those of a steady state, or of a machine that can exist.
    pub fn warning(&self) -> Option<String> {
        let (settings, outcome) = (&self.machine, &self.outcome);
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
}
