//! The JSON of `terrace tcam bench --json`: schema `terrace.tcam.bench/1`. All figures are
//! measured.

use schemars::JsonSchema;
use serde::Serialize;

use super::Input;
use terrace_results::document::Document;
use terrace_results::html::{Axis, Page, Plot, Unit};
use terrace_results::number::count;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace tcam bench --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct BenchDocument {
    /// `terrace.tcam.bench/1`.
    pub schema: &'static str,
    /// The routing table.
    pub table: Input,
    /// Routes in it.
    pub routes: u64,
    /// Addresses that each looked up, all with the same answers.
    pub lookups: u64,
    /// What was measured, the simulated TCAM first.
    pub measured: Vec<Measured>,
}

/// Figures of one way to look up.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Measured {
    /// `tcam`, or the name of the crate.
    pub name: &'static str,
    /// Seconds to load the table.
    pub load_s: f64,
    /// Lookups in a second on one core: the median of the repetitions.
    pub lookups_per_second: f64,
}

impl BenchDocument {
    /// Returns the document of measurements.
    pub fn new(table: Input, routes: u64, lookups: u64, measured: Vec<Measured>) -> Self {
        Self {
            schema: "terrace.tcam.bench/1",
            table,
            routes,
            lookups,
            measured,
        }
    }

    /// Returns a table of the measurements.
    pub fn to_text(&self) -> Text {
        let mut rows = table(&["measured", "load", "lookups a second"]);
        for one in &self.measured {
            rows.add_row([
                one.name.to_owned(),
                format!("{:.3} s", one.load_s),
                format!("{:.2} M", one.lookups_per_second / 1e6),
            ]);
        }
        let head = format!(
            "{} routes, {} random addresses on one core, the same answers from all\n\n",
            count(self.routes),
            count(self.lookups)
        );
        Text::default().prose(head).table(rows).prose(
            "The simulated TCAM looks at one hash table once for each prefix length, to say what the chip would answer; \
             tries\nare made for speed. The chip itself answers once a cycle.\n",
        )
    }
}

impl Document for BenchDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.measured)
    }

    fn page(&self) -> Page {
        let names = Axis::names("", self.measured.iter().map(|one| one.name));
        let plot = Plot::bars("Lookups a second", names, Axis::new("lookups", Unit::Count))
            .note("Measured on one core; the TCAM is a software model.")
            .values(
                "lookups",
                self.measured.iter().map(|one| one.lookups_per_second),
            );
        Page::new("terrace tcam bench").plot(plot)
    }
}
