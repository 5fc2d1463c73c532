//! The results of a sweep as flat tables: Parquet and CSV of the same columns.
//!
//! All times are virtual: what machines of these settings would take, not what one has taken.

mod parquet;
mod passes;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{Field, Tree, fields};
use terrace_sim::pages::{Simulated, results};

use crate::counted::Counted;
use crate::json_schema;
use crate::rows::Rows;
use crate::sim::{self, asked};
use crate::text::Text;
pub use parquet::{may_replace, parquet};
pub use passes::{Collected, Passes};

/// A row of the tables: one machine and one trace.
#[derive(Clone, Debug)]
pub struct Row {
    /// The trace, as it was named.
    pub trace: String,
    /// The machine and what was found.
    pub simulated: Simulated,
}

impl Row {
    /// Returns a row for each trace and machine; `traces` are the names.
    pub fn all(traces: &[String], simulated: Vec<Vec<Simulated>>) -> Vec<Self> {
        let rows = traces.iter().zip(simulated).flat_map(|(trace, runs)| {
            runs.into_iter().map(|simulated| Self {
                trace: trace.clone(),
                simulated,
            })
        });
        rows.collect()
    }
}

/// The JSON of `terrace sweep --json`: schema `terrace.sweep/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SweepDocument {
    /// `terrace.sweep/1`.
    pub schema: &'static str,
    /// What was left out of the traces, cut, or taken for something else, with counts; not of
    /// machines that an earlier command has simulated.
    pub counted: Vec<Counted>,
    /// One for each trace and machine: settings and results.
    #[serde(serialize_with = "trees")]
    #[schemars(schema_with = "described")]
    pub runs: Vec<Row>,
}

impl SweepDocument {
    /// Returns the document of these rows.
    pub fn new(counted: Vec<Counted>, runs: Vec<Row>) -> Self {
        Self {
            schema: "terrace.sweep/1",
            counted,
            runs,
        }
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    json_schema::list_of(&fields())
}

fn trees<S: Serializer>(rows: &[Row], serializer: S) -> Result<S::Ok, S::Error> {
    let fields = fields();
    serializer.collect_seq(rows.iter().map(|row| Tree::of(&fields, row)))
}

/// Returns the fields: the trace, the effective settings of the machine, and what was found.
fn fields() -> Vec<Field<Row>> {
    let mut fields = fields! { Row;
        /// the trace, as it was named
        "trace" None |row| row.trace.clone();
    };
    let run = [asked(), results::run()].into_iter().flatten();
    fields.extend(run.map(|field| field.of(|row: &Row| &row.simulated)));
    fields
}

/// Returns the tables for people: one for each trace, all of which have as many rows.
pub fn text(rows: &[Row], traces: &[String]) -> Text {
    let machines = rows.len() / traces.len().max(1);
    let traces = traces.iter().zip(rows.chunks(machines.max(1)));
    let tables = traces.enumerate().map(|(index, (trace, rows))| {
        let between = if index == 0 { "" } else { "\n" };
        let simulated = rows.iter().map(|row| &row.simulated);
        Text::default()
            .prose(format!("{between}{trace}: "))
            .text(sim::text(simulated))
    });
    tables.fold(Text::default(), Text::text)
}

/// Returns the table of the rows; each write scheme has a row of its own.
pub fn table(rows: &[Row]) -> Rows {
    let rows = rows.iter().flat_map(|row| {
        let schemes = row.simulated.by_scheme().into_iter();
        schemes.map(|simulated| Row {
            trace: row.trace.clone(),
            simulated,
        })
    });
    Rows::of(fields(), &rows.collect::<Vec<_>>())
}
