//! Replays as people read them.

use comfy_table::Table;
use terrace_base::schema::years;

use super::replay::{Chip, LengthRow, OrderingRow, ReplayDocument, Totals};
use terrace_results::number::count;
use terrace_results::table::table;
use terrace_results::text::Text;

impl ReplayDocument {
    /// Returns a table of prefix lengths, and the figures of the whole chip.
    pub fn to_text(&self) -> Text {
        let text = Text::default()
            .prose(self.head())
            .table(lengths(&self.lengths))
            .prose("\n")
            .table(totals(&self.totals))
            .prose("\n")
            .table(chip(&self.chip))
            .prose(self.notes());
        match self.orderings.is_empty() {
            true => text,
            false => text.prose("\n").table(orderings(&self.orderings)),
        }
    }

    fn head(&self) -> String {
        let (settings, totals) = (&self.settings, &self.totals);
        let buffers = match settings.buffers {
            Some(buffers) => format!("and {buffers} more"),
            None => "and as many more as needed".to_owned(),
        };
        format!(
            "{} routes and {} updates in {}, simulated; policy {}\n\
             {} flash blocks of {} rows ({}, levelling {}), {} writes a second; \
             a shadow block of {} rows for each length, {buffers}\n\n",
            count(totals.routes_loaded),
            count(totals.counts.announcements + totals.counts.withdrawals),
            seconds(totals.elapsed_s),
            settings.policy,
            count(settings.blocks.into()),
            settings.rows,
            settings.allocation,
            settings.levelling,
            settings.flash_writes_per_second,
            settings.shadow_rows,
        )
    }

    fn notes(&self) -> String {
        let (settings, totals) = (&self.settings, &self.totals);
        let times = match settings.update_times {
            "trace" => "",
            "even" => {
                "The updates have no times; they are spread evenly, so flushes have even distances too.\n"
            }
            _ => {
                "The updates have no times; they come in bursts of a size fitted to real ones, at random times.\n"
            }
        };
        let ports = match settings.port_changes {
            0.0 => String::new(),
            share => format!(
                "The updates have no next hops; {:.1} % of the announcements change the port.\n",
                100.0 * share
            ),
        };
        format!(
            "\nFlushed: entries written to flash, as the chapter counts them; copied: written again because a block \
             was erased\nfor its holes. No entry was moved for order. {} lookups were compared with the table, all \
             right.\n{times}{ports}\
             Area and power follow from table 4.1 of Fedorov 2016, if every block is searched in every cycle; energy \
             from the\nmodel of `terrace tcam circuit`, without erasing and programming.\n",
            count(totals.lookups_checked)
        )
    }
}

fn lengths(rows: &[LengthRow]) -> Table {
    let mut table = table(&[
        "length",
        "entries",
        "blocks",
        "announced",
        "withdrawn",
        "flushed",
        "copied",
        "erased blocks",
        "bound",
    ]);
    for row in rows {
        let counts = &row.counts;
        table.add_row([
            format!("{} /{}", row.family, row.length),
            count(row.entries_loaded),
            count(row.blocks_loaded),
            count(counts.announcements),
            count(counts.withdrawals),
            count(counts.flushed),
            count(counts.copied),
            count(counts.erased),
            count(row.bound),
        ]);
    }
    table
}

fn totals(totals: &Totals) -> Table {
    let counts = &totals.counts;
    let mut table = table(&["all lengths", ""]);
    let or_dash = |seconds_of: Option<f64>| seconds_of.map_or("-".to_owned(), seconds);
    let lasts = |of: Option<f64>| of.map_or("-".to_owned(), years);
    for (name, value) in [
        ("entries flushed", count(counts.flushed)),
        (
            "announcements that did not reach flash",
            format!("{:.1} %", 100.0 * totals.filtered),
        ),
        ("fewest of any policy", count(totals.bound)),
        ("entries copied", count(counts.copied)),
        ("blocks programmed", count(counts.programmed)),
        ("blocks erased", count(counts.erased)),
        ("flushes", count(counts.flushes)),
        (
            "time between flushes, mean",
            or_dash(totals.flush_spacing_s),
        ),
        (
            "two or more of a length in a second",
            count(totals.double_flushes),
        ),
        ("seven or more", count(totals.sevenfold_flushes)),
        (
            "shadow blocks in use, at most",
            count(totals.shadow_blocks_needed.into()),
        ),
        ("updates that waited", count(counts.waited)),
        ("longest wait", seconds(totals.wait_longest_s)),
        (
            "lifetime by the chapter's estimate",
            lasts(totals.lifetime_years.estimate),
        ),
        (
            "the same, fixed shares",
            lasts(totals.lifetime_years.estimate_static),
        ),
        (
            "lifetime by simulated wear, first block",
            lasts(totals.lifetime_years.first_block),
        ),
        (
            "lifetime by simulated wear, if even",
            lasts(totals.lifetime_years.even),
        ),
    ] {
        table.add_row([name.to_owned(), value]);
    }
    table
}

/// Returns what the chip takes, beside the CMOS chip that it replaces.
fn chip(chip: &Chip) -> Table {
    let mut table = table(&["chip", "flash and shadow", "CMOS alone"]);
    for (name, flash, cmos, unit, digits) in [
        ("die", chip.die_cm2, chip.cmos_die_cm2, "cm2", 1),
        ("power", chip.power_w, chip.cmos_power_w, "W", 0),
        (
            "energy of a lookup",
            chip.lookup_nj,
            chip.cmos_lookup_nj,
            "nJ",
            0,
        ),
    ] {
        let cell = |value: f64| format!("{value:.digits$} {unit}");
        table.add_row([name.to_owned(), cell(flash), cell(cmos)]);
    }
    table
}

/// Returns what conventional TCAMs would have moved.
fn orderings(rows: &[OrderingRow]) -> Table {
    let mut table = table(&[
        "order in a conventional TCAM",
        "moves for order",
        "most for an update",
    ]);
    for row in rows {
        table.add_row([
            row.ordering.to_owned(),
            count(row.moves),
            count(row.moves_most),
        ]);
    }
    table
}

/// Returns seconds as people read them.
fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 7200.0 => format!("{:.1} hours", s / 3600.0),
        s if s >= 10.0 || s == 0.0 => format!("{s:.0} s"),
        s => format!("{s:.3} s"),
    }
}
