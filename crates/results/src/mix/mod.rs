//! Simulations of tasks that take turns: as tables, and as JSON of the schema `terrace.sim.mix/1`.
//!
//! All times are virtual: a simple model predicts them; they are not measured. The fields are
//! declared in [`terrace_sim::mix::results`] and [`terrace_sim::mix::options`].

mod page;
mod table;

pub use table::text;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};
use terrace_base::schema::{self, Tree};
use terrace_sim::mix::{MixSimulation, Run, Simulated, results};

use crate::counted::Counted;
use crate::simulation::Reported;
use crate::text::Text;

/// Schema of the document; the number increases with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.mix/1";

/// Simulations of the same tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MixDocument {
    /// `terrace.sim.mix/1`.
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

impl MixDocument {
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

impl Reported for MixSimulation {
    type Document = MixDocument;

    fn document(traces: Vec<String>, counted: Vec<Counted>, results: Self::Results) -> MixDocument {
        MixDocument::new(traces, counted, results)
    }

    fn text(document: &MixDocument) -> Text {
        text(&document.simulated)
    }
}

fn described(_: &mut SchemaGenerator) -> Schema {
    schema::described(&results::simulation())
}

fn tree<S: Serializer>(simulated: &Simulated, serializer: S) -> Result<S::Ok, S::Error> {
    Tree::of(&results::simulation(), simulated).serialize(serializer)
}

/// Returns the name of a machine among others: its turns, and what else differs.
fn name(run: &Run, runs: &[Run]) -> String {
    let of = |run: &Run| {
        let machine = &run.machine;
        let llc = &machine.llc;
        [
            format!("LLC {} {}-way", llc.size.bytes, llc.size.ways),
            llc.policy.to_string(),
            machine.memory.name.clone(),
            format!("partition {}", machine.partition),
        ]
    };
    let mut name = run.machine.turns.to_string();
    for (at, part) in of(run).into_iter().enumerate() {
        if runs.iter().any(|other| of(other)[at] != part) {
            name = format!("{name}, {part}");
        }
    }
    name
}
