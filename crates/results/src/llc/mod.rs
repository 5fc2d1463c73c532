//! Simulations of last-level caches: as a table, and as JSON of the schema `terrace.sim.llc/1`.
//!
//! All times are virtual: a simple model predicts them for a machine of these settings; they are
//! not measured. The fields are declared in [`terrace_sim::llc::results`] and
//! [`terrace_sim::llc::options`].

mod page;
mod table;

pub use table::text;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{self, Tree};
use terrace_sim::llc::{LlcSimulation, Run, Simulated, Unkept, results};

use crate::convert::Lost;
use crate::counted::Counted;
use crate::simulation::Reported;
use crate::text::Text;

/// Schema of the document; the number increases with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.llc/1";

/// Simulations of the same requests.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LlcDocument {
    /// `terrace.sim.llc/1`.
    pub schema: &'static str,
    /// Traces as they were named, one per program; null where a program was run.
    pub traces: Option<Vec<String>>,
    /// Program that was run, with its arguments; null where traces were read.
    pub program: Option<Vec<String>>,
    /// What was left out of the traces, cut, or taken for something else, with counts.
    pub counted: Vec<Counted>,
    /// What the traces of `--requests` and `--traffic` do not say, as their format has no room.
    pub lost: Vec<Lost>,
    /// Settings and results, with the fields of [`results::simulation`].
    #[serde(flatten, serialize_with = "tree")]
    #[schemars(schema_with = "described")]
    pub simulated: Simulated,
}

/// Source of the simulated accesses.
#[derive(Clone, Debug)]
pub enum Input {
    /// Names of traces.
    Traces(Vec<String>),
    /// Program and its arguments.
    Program(Vec<String>),
}

impl LlcDocument {
    /// Returns the document of a pass, and of what trace files that were written do not say.
    pub fn new(
        input: Input,
        counted: Vec<Counted>,
        (simulated, unkept): (Simulated, Vec<Unkept>),
    ) -> Self {
        let (traces, program) = match input {
            Input::Traces(traces) => (Some(traces), None),
            Input::Program(program) => (None, Some(program)),
        };
        let lost = unkept.iter().flat_map(|unkept| &unkept.lost);
        Self {
            schema: SCHEMA,
            traces,
            program,
            counted,
            lost: lost.map(Lost::from).collect(),
            simulated,
        }
    }
}

impl Reported for LlcSimulation {
    type Document = LlcDocument;

    fn document(traces: Vec<String>, counted: Vec<Counted>, results: Self::Results) -> LlcDocument {
        LlcDocument::new(Input::Traces(traces), counted, results)
    }

    fn text(document: &LlcDocument) -> Text {
        text(&document.simulated)
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    schema::described(&results::simulation())
}

fn tree<S: Serializer>(simulated: &Simulated, serializer: S) -> Result<S::Ok, S::Error> {
    Tree::of(&results::simulation(), simulated).serialize(serializer)
}

/// Whether all caches have the same size and ways.
fn same_size(runs: &[Run]) -> bool {
    runs.iter().all(|run| run.size() == runs[0].size())
}

/// Returns the name of a cache among others: its policy, and its size if the sizes differ.
fn name(run: &Run, runs: &[Run]) -> String {
    let (policy, size) = (&run.outcome.llc.policy, run.size());
    match same_size(runs) {
        true => policy.to_string(),
        false => format!("{policy} {} {}-way", size.bytes, size.ways),
    }
}
