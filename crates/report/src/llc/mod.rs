//! Simulations of last-level caches: as a table, and as JSON of the schema `terrace.sim.llc/1`.
//! Every field is documented here.
//!
//! All times are virtual: a simple model predicts them for a machine of these settings; they are
//! not measured. Figures exclude the warm-up unless stated otherwise.

mod memory;
mod run;
mod settings;
mod table;

pub use memory::Memory;
pub use run::{Epoch, Run};
pub use settings::Effective;
pub use table::text;

use serde::Serialize;
use terrace_sim::llc::{Faults, LevelCounts, LlcMachine, Pass};

/// Schema of the document; the number increases with every change that breaks readers.
const SCHEMA: &str = "terrace.sim.llc/1";

/// Simulations of the same requests.
#[derive(Debug, Serialize)]
pub struct LlcDocument {
    /// `terrace.sim.llc/1`.
    pub schema: &'static str,
    /// Traces as they were named, one per program; null where a program was run.
    pub traces: Option<Vec<String>>,
    /// Program that was run, with its arguments; null where traces were read.
    pub program: Option<Vec<String>>,
    /// Effective settings, with defaults filled in.
    pub settings: Effective,
    /// Simulated accesses, warm-up included.
    pub accesses: u64,
    /// Instructions of all cores, warm-up included; estimated at three per access where a trace
    /// does not count them.
    pub instructions: u64,
    /// Whether all traces count instructions.
    pub counts_instructions: bool,
    /// Counts of the first private levels of all cores together, warm-up included; null where the
    /// level is off.
    pub l1: Option<LevelCounts>,
    /// Counts of the second private levels, in the same way.
    pub l2: Option<LevelCounts>,
    /// First touches of pages by each program; null where addresses stay virtual.
    pub pages: Option<Vec<Pages>>,
    /// Results of each last-level cache.
    pub runs: Vec<Run>,
}

/// First touches of pages by a program.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Pages {
    /// Pages that the program touched.
    pub touched: u64,
    /// Touched pages whose frame does not follow the frame of the page touched first before (Kannan
    /// 2013, 4.1).
    pub contiguity_misses: u64,
}

/// Source of the simulated accesses.
#[derive(Clone, Debug)]
pub enum Input {
    /// Names of traces.
    Traces(Vec<String>),
    /// Program and its arguments.
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

impl LlcDocument {
    /// Returns the document of a pass.
    pub fn of(settings: &LlcMachine, input: &Input, pass: &Pass) -> Self {
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
}
