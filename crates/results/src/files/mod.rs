//! Simulations of a page cache, flash and a disk: as tables, and as JSON of the schema
//! `terrace.sim.files/1`.
//!
//! All times are virtual: a simple model predicts them; they are not measured. The fields are
//! declared in [`terrace_sim::files::results`] and [`terrace_sim::files::options`].

mod page;
mod table;

pub use table::text;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{self, Field, Tree};
use terrace_sim::files::{FilesMachine, FilesSimulation, Run, Simulated, options, results};

use crate::counted::Counted;
use crate::simulation::Reported;
use crate::text::Text;

/// Schema of the document; the number increases with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.files/1";

/// Simulations of the same requests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FilesDocument {
    /// `terrace.sim.files/1`.
    pub schema: &'static str,
    /// Traces as they were named.
    pub traces: Vec<String>,
    /// What was left out of the traces, cut, or taken for something else, with counts.
    pub counted: Vec<Counted>,
    /// Settings and results, with the fields of [`results::simulation`].
    #[serde(flatten, serialize_with = "tree")]
    #[schemars(schema_with = "described")]
    pub simulated: Simulated,
}

impl FilesDocument {
    /// Returns the document of simulations of these traces.
    pub fn new(traces: Vec<String>, counted: Vec<Counted>, simulated: Simulated) -> Self {
        Self {
            schema: SCHEMA,
            traces,
            counted,
            simulated,
        }
    }
}

impl Reported for FilesSimulation {
    type Document = FilesDocument;

    fn document(
        traces: Vec<String>,
        counted: Vec<Counted>,
        results: Self::Results,
    ) -> FilesDocument {
        FilesDocument::new(traces, counted, results)
    }

    fn text(document: &FilesDocument) -> Text {
        text(&document.simulated)
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    schema::described(&results::simulation())
}

fn tree<S: Serializer>(simulated: &Simulated, serializer: S) -> Result<S::Ok, S::Error> {
    Tree::of(&results::simulation(), simulated).serialize(serializer)
}

/// Returns the settings in which machines differ.
fn differing(runs: &[Run]) -> Vec<Field<FilesMachine>> {
    let mut fields = options::effective();
    fields.retain(|field| {
        let first = field.value(&runs[0].machine);
        runs.iter().any(|run| field.value(&run.machine) != first)
    });
    fields
}

/// Returns the name of a machine among others: what differs.
fn name(run: &Run, differing: &[Field<FilesMachine>]) -> String {
    let words = differing.iter().map(|field| {
        let name = field.name.replace('_', " ");
        let name = ["pages", "bytes", "ns"].iter().fold(&*name, |name, unit| {
            name.strip_suffix(unit).unwrap_or(name).trim_end()
        });
        format!("{name} {}", field.shown(&run.machine))
    });
    words.collect::<Vec<_>>().join(", ")
}
