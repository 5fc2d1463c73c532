//! Collects everything that can be named from its declarations.

use terrace_device::Catalogue;
use terrace_policy::registry::{Entry, Kind};
use terrace_policy::{llc, prefetch, replacement};
use terrace_sim::llc::placement;
use terrace_sim::pages::FaultCost;

use super::{Figure, Known, Setting};
use crate::sweep;

pub(super) fn all() -> Vec<Known> {
    let mut all = policies();
    all.extend(predictors());
    all.extend(memories());
    all.extend(fault_costs());
    all.extend(placements());
    all.extend(
        sweep::table(&[])
            .columns
            .iter()
            .map(|column| plain("columns", None, &column.name, &column.described())),
    );
    all
}

fn policies() -> Vec<Known> {
    let pages = "--replacement of sim pages, sweep";
    let pages = replacement::REGISTRY
        .iter()
        .map(move |entry| described("policies", pages, entry));
    let lines = "--policy of sim llc";
    let lines = llc::REGISTRY
        .iter()
        .map(|entry| described("policies", lines, entry));
    pages.chain(lines).collect()
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
            "the kernel's readahead: the aligned block of the tier around each fault",
        ),
    ];
    all.extend(prefetch::REGISTRY.iter().map(|entry| {
        let option = match entry.knows_future() {
            true => "--prefetch of sim pages, sweep",
            false => "--prefetch of run, bench, sim pages, sweep, validate",
        };
        described("predictors", option, entry)
    }));
    all
}

fn memories() -> Vec<Known> {
    let of_pages = Some("--memory of sim pages, sweep");
    let of_lines = Some("--memory of sim llc");
    let of_both = Some("--memory of sim pages, sweep, sim llc");
    let catalogue = Catalogue::builtin();
    let known = catalogue.iter().map(|technology| {
        let option = match (technology.timing().is_ok(), technology.has_lines()) {
            (true, true) => of_both,
            (true, false) => of_pages,
            (false, true) => of_lines,
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
        .map(|(name, summary)| plain("fault-costs", option, name, summary))
        .collect()
}

fn placements() -> Vec<Known> {
    let option = "--pages of sim llc";
    let all = placement::Make::ENTRIES.iter();
    all.map(|entry| described("placements", option, entry))
        .collect()
}

fn plain(kind: &'static str, option: Option<&'static str>, name: &str, summary: &str) -> Known {
    Known {
        name: name.to_owned(),
        kind,
        option,
        summary: summary.to_owned(),
        paper: None,
        when: None,
        settings: Vec::new(),
        figures: Vec::new(),
    }
}

fn described<M: Kind>(kind: &'static str, option: &'static str, entry: &Entry<M>) -> Known {
    let settings = entry.settings().into_iter().map(|setting| Setting {
        key: setting.key,
        default: setting.default,
        values: setting.values,
        meaning: setting.meaning,
    });
    Known {
        paper: Some(entry.paper),
        when: Some(entry.when),
        settings: settings.collect(),
        ..plain(kind, Some(option), entry.name, entry.summary)
    }
}
