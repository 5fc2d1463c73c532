//! What write schemes wrote in a simulation: a table, and the plots of a page.

use comfy_table::Table;
use terrace_base::Bytes;
use terrace_base::schema::{Typed, Unit};
use terrace_sim::pages::{SchemeOutcome, Simulated};

use crate::html::{self, Axis, Plot};
use crate::table::table;

/// Returns the schemes of a machine, each under each wear levelling.
pub(crate) fn comparison(one: &Simulated) -> Table {
    let headings = [
        "scheme",
        "levelling",
        "pages",
        "written",
        "of page",
        "cells of page",
        "moved",
        "mean wear",
        "p99",
        "most",
        "first line lasts",
        "if even",
    ];
    let mut table = table(&headings);
    for scheme in &one.outcome.schemes {
        let years = |years: Option<f64>| Unit::Years.shown(&years.value());
        let share = |share: Option<f64>| Unit::Share.shown(&share.value());
        let [_, _, p99, _, most] = scheme.wear_quantiles;
        table.add_row([
            scheme.scheme.clone(),
            scheme.levelling.clone(),
            Unit::None.shown(&scheme.pages.value()),
            Bytes(scheme.bytes).to_string(),
            share(scheme.bytes_share()),
            share(scheme.cells_share()),
            Bytes(64 * scheme.moved_lines).to_string(),
            format!("{:.3}", scheme.wear_mean),
            format!("{p99:.2}"),
            format!("{most:.2}"),
            years(scheme.first_years),
            years(scheme.even_years),
        ]);
    }
    table
}

/// Explains the columns of [`comparison`].
pub(crate) const LEGEND: &str = "\
Of page: bytes as a share of writing every page that leaves DRAM, all of it; cells of page: cells programmed, \
moves of the levelling included. Wear is in writes of a line, that is of all its 512 cells. The first line \
lasts until then if this run is repeated and the levelling goes on (its spares used up, if it has some); if even: all \
lines, if they wore evenly.\n";

/// Returns the name of a scheme under a levelling, on the machine with this name.
fn name(machine: &str, scheme: &SchemeOutcome) -> String {
    let words = [machine, &scheme.scheme, &scheme.levelling];
    let words = words.into_iter().filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the plots of what was written, and of the wear of lines, for machines with their names.
pub(crate) fn plots(machines: &[(String, &Simulated)]) -> [Plot; 2] {
    let all = machines.iter().flat_map(|(machine, one)| {
        let schemes = one.outcome.schemes.iter();
        schemes.map(move |scheme| (name(machine, scheme), scheme))
    });
    let all: Vec<(String, &SchemeOutcome)> = all.collect();
    // Where lines are written there are no pages to take shares of.
    let of_pages = all.iter().filter(|(_, one)| one.left.is_some());
    let of_pages: Vec<_> = of_pages.collect();
    let names = Axis::names("", of_pages.iter().map(|(name, _)| name.as_str()));
    let share = Axis::new("share of whole pages", html::Unit::Share);
    let written = Plot::bars("Written by scheme", names, share)
        .note(
            "As a share of writing every page that leaves DRAM, all of it: bytes of the scheme, and cells that were \
             programmed, moves of the levelling included.",
        )
        .values("bytes", of_pages.iter().filter_map(|(_, one)| one.bytes_share()))
        .values("cells", of_pages.iter().filter_map(|(_, one)| one.cells_share()));
    let rank = Axis::new("lines, the most worn first", html::Unit::Count).log();
    let writes = Axis::new("writes of a line", html::Unit::Count).log();
    let wear = Plot::lines("Wear over lines", rank, writes)
        .note("Writes of the nth most worn line, a write being that of all its cells; the most worn one fails first.");
    let wear = all.iter().fold(wear, |plot, (name, one)| {
        let ranks = one.ranks.iter().map(|rank| (rank.rank as f64, rank.writes));
        plot.series(name, ranks)
    });
    [written, wear]
}
