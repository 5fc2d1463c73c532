//! Simulations of last-level caches: as a table, and as JSON of the schema `terrace.sim.llc/1`.
//! Every field is documented here.
//!
//! All times are virtual: what a machine of these settings would take by a simple model, not what one
//! has taken. Figures leave the warm-up out, unless they say otherwise.

mod memory;
mod run;
mod settings;
mod table;

pub use memory::Memory;
pub use run::Run;
pub use settings::{Effective, hierarchy};
pub use table::text;

use serde::Serialize;
use terrace_sim::llc::{Faults, LevelCounts, Pass, Settings};

use crate::json::pretty;

/// The schema of the document; the number grows with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.llc/1";

/// Simulations of the same requests.
#[derive(Debug, Serialize)]
pub struct Document {
    /// `terrace.sim.llc/1`.
    pub schema: &'static str,
    /// The traces, a program each, as they were named; null where a program was run.
    pub traces: Option<Vec<String>>,
    /// The program that was run, with its arguments; null where traces were read.
    pub program: Option<Vec<String>>,
    /// The settings, with everything that was not asked for filled in.
    pub settings: Effective,
    /// Accesses that were simulated, warm-up included.
    pub accesses: u64,
    /// Instructions of all cores, warm-up included; estimated, at three an access, where a trace does
    /// not count them.
    pub instructions: u64,
    /// Whether all traces count instructions.
    pub counts_instructions: bool,
    /// What the first private levels of all cores did together, warm-up included; null where there is
    /// none.
    pub l1: Option<LevelCounts>,
    /// The same of the second.
    pub l2: Option<LevelCounts>,
    /// First touches of pages by each program; null where addresses stay virtual.
    pub pages: Option<Vec<Pages>>,
    /// One for each last-level cache.
    pub runs: Vec<Run>,
}

/// A program's first touches of pages.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pages {
    /// Pages that it touched.
    pub touched: u64,
    /// Those whose frame does not follow that of the page touched first before (Kannan 2013, 4.1).
    pub contiguity_misses: u64,
}

/// What was simulated.
#[derive(Clone, Debug)]
pub enum Input {
    /// Traces, by name.
    Traces(Vec<String>),
    /// A program and its arguments.
    Program(Vec<String>),
}

impl Pages {
    fn of(faults: &Faults) -> Self {
        Self {
            touched: faults.pages,
            contiguity_misses: faults.contiguity_misses,
        }
    }
}

impl Document {
    /// Of what was found in a pass.
    pub fn of(settings: &Settings, input: &Input, pass: &Pass) -> Self {
        let (traces, program) = match input {
            Input::Traces(traces) => (Some(traces.clone()), None),
            Input::Program(program) => (None, Some(program.clone())),
        };
        Self {
            schema: SCHEMA,
            traces,
            program,
            settings: Effective::of(settings, pass),
            accesses: pass.accesses,
            instructions: pass.instructions.iter().sum(),
            counts_instructions: pass.counts_instructions,
            l1: pass.private[0],
            l2: pass.private[1],
            pages: (!pass.pages.is_empty()).then(|| pass.pages.iter().map(Pages::of).collect()),
            runs: pass
                .outcomes
                .iter()
                .map(|outcome| Run::of(outcome, settings, pass))
                .collect(),
        }
    }

    /// As indented JSON with a line end.
    pub fn to_json(&self) -> String {
        pretty(self)
    }
}
