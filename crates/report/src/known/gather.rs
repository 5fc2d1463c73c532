//! Collects everything that can be named from its declarations.

use terrace_device::Catalogue;
use terrace_policy::registry::{Entry, Kind};
use terrace_policy::{
    admission, control, eviction, llc, migration, prefetch, replacement, sched, write,
};
use terrace_sim::llc::placement;
use terrace_sim::pages::{FaultCost, levelling};
use terrace_trace::Format;
use terrace_trace::formats::csv;
use terrace_trace::layout::Known as Layouts;

use super::{Field, Figure, Known, Layout, Setting};
use terrace_results::sweep;

pub(super) fn all() -> Vec<Known> {
    let columns = sweep::table(&[]).columns.into_iter();
    let columns = columns.map(|one| plain("columns", None, &one.name, &one.described()));
    let (pages, lines) = (
        "--replacement of sim pages, sweep, extend, mount",
        "--policy of sim llc, sim mix",
    );
    let schemes = "--write of sim pages, sweep, extend";
    let levellings = "--levelling of sim pages, sweep";
    let blocks = "--levelling of tcam replay";
    let turns = "--turn of sim mix, --slice of sched";
    let admitted = "--admission of sim files, mount";
    let early = "--eviction of run, sim pages, sweep";
    [
        entries::<replacement::Make>("policies", |_| pages),
        entries::<llc::Make>("policies", |_| lines),
        entries::<eviction::Make>("policies", |_| early),
        predictors(),
        memories(),
        entries::<write::Make>("write-schemes", |_| schemes),
        entries::<levelling::Make>("wear-levellings", |_| levellings),
        entries::<sched::Make>("turn-policies", |_| turns),
        entries::<admission::Make>("admission", |_| admitted),
        entries::<migration::Make>("migration", |_| "--migration of sim pages, sweep"),
        entries::<control::Make>("control", |_| "--control of sim pages, sweep"),
        fault_costs(),
        entries::<placement::Make>("placements", |_| "--pages of sim llc, sim mix"),
        entries::<terrace_tcam::policy::Make>("update-policies", |_| "--policy of tcam replay"),
        entries::<terrace_tcam::levelling::Make>("block-levellings", |_| blocks),
        formats(),
        columns.collect(),
    ]
    .concat()
}

fn predictors() -> Vec<Known> {
    let mut all = vec![
        plain(
            "predictors",
            Some("--prefetch of run, sim pages, sweep, validate"),
            "off",
            "nothing: the kernel as it is, or single pages on demand in simulations",
        ),
        plain(
            "predictors",
            Some("--prefetch of sim pages, sweep, validate"),
            "readahead",
            "the kernel's readahead: a window of addresses around each fault, the wider the more of it is used; \
             readahead:slots: of places, where a swap area rotates; readahead:fixed: the whole block of \
             places (before Linux 3.14)",
        ),
    ];
    let option = |entry: &Entry<prefetch::Make>| match entry.knows_future() {
        true => "--prefetch of sim pages, sweep",
        false => "--prefetch of run, bench, sim pages, sweep, validate",
    };
    all.extend(entries("predictors", option));
    all
}

fn memories() -> Vec<Known> {
    let catalogue = Catalogue::builtin();
    let known = catalogue.iter().map(|technology| {
        let option = match (technology.timing().is_ok(), technology.has_lines()) {
            (true, true) => Some("--memory of sim pages, sweep, sim llc, sim mix"),
            (true, false) => Some("--memory of sim pages, sweep"),
            (false, true) => Some("--memory of sim llc, sim mix"),
            (false, false) => None,
        };
        let figures = technology.figures().into_iter();
        let figures = figures.map(|(name, value, source)| Figure {
            name,
            value,
            source: source.to_owned(),
        });
        Known {
            figures: figures.collect(),
            ..plain("memories", option, &technology.name, &technology.summary)
        }
    });
    known.collect()
}

fn fault_costs() -> Vec<Known> {
    let option = Some("--fault-cost of sim pages, sweep");
    let presets = FaultCost::PRESETS.into_iter();
    presets
        .map(|(name, summary, _)| plain("fault-costs", option, name, summary))
        .collect()
}

fn formats() -> Vec<Known> {
    let known = Format::ALL.iter().map(|format| {
        let option = match format.is_written() {
            true => "--format, --from and --to of commands that read or write traces",
            false => "--format, --from of commands that read traces",
        };
        let fields = format.fields().iter().map(|field| Field {
            name: field.name,
            meaning: field.meaning,
            is_read: field.is_read,
        });
        let layouts = Layouts::ALL.iter().filter(|_| *format == csv::FORMAT);
        Known {
            fields: fields.collect(),
            layouts: layouts.copied().map(Layout::from).collect(),
            example: Some(format.example()),
            ..plain("formats", Some(option), format.name(), format.help())
        }
    });
    known.collect()
}

fn plain(kind: &'static str, option: Option<&'static str>, name: &str, summary: &str) -> Known {
    Known {
        name: name.to_owned(),
        kind,
        option,
        summary: summary.to_owned(),
        ..Known::default()
    }
}

/// Returns the entries of a registry; `option` names the option that takes an entry.
fn entries<M: Kind>(kind: &'static str, option: impl Fn(&Entry<M>) -> &'static str) -> Vec<Known> {
    let known = Entry::all().into_iter().map(|entry| Known {
        paper: Some(entry.paper),
        when: Some(entry.when),
        open: Some(entry.evidence.open).filter(|open| !open.is_empty()),
        compared: Some(match entry.evidence.compared {
            "" => "not compared",
            compared => compared,
        }),
        settings: entry.settings().into_iter().map(Setting::from).collect(),
        ..plain(kind, Some(option(entry)), entry.name, entry.summary)
    });
    known.collect()
}
