//! What the command tells the library in the program.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use terrace_base::{Bytes, Error, Result};
use terrace_policy::{prefetch, replacement, write};
use terrace_region::Settings;

use crate::library::LIBRARY;
use crate::memory::{Memory, catalogue};

/// The variable of the environment that holds a task.
pub const VARIABLE: &str = "TERRACE_EXTEND";

/// The variable that has the library keep small blocks where it would extend them, and extend
/// nothing: in programs that are recorded. Its value is the least size of a mapping that would be
/// extended, in bytes.
const RECORDED: &str = "TERRACE_EXTEND_RECORDED";

/// Returns the library for a program that is recorded with the heap of small blocks, and its
/// variable.
///
/// # Errors
/// Returns a failure if the library is missing.
pub fn for_recorded(least: Bytes) -> Result<(PathBuf, (&'static str, String))> {
    Ok((LIBRARY.find()?, (RECORDED, least.0.to_string())))
}

/// Returns the least size of a mapping that would be extended, in a program of [`for_recorded`].
pub fn least_of_recorded() -> Option<Bytes> {
    std::env::var(RECORDED).ok()?.parse().ok().map(Bytes)
}

/// What the library is to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The file of the board.
    pub board: PathBuf,
    /// The bound of DRAM; `None` if the footprint is to be measured and nothing evicted.
    pub dram: Option<Bytes>,
    /// The slow memory, as [`Memory::parse`] reads it.
    pub memory: String,
    /// A file of memories beside the built-in ones.
    pub memories: Option<PathBuf>,
    /// The replacement policy with its settings.
    pub replacement: String,
    /// The share of its pages whose next touch it is shown; `None` for none.
    pub references: Option<f64>,
    /// The predictor with its settings; `None` for none.
    pub prefetch: Option<String>,
    /// The write scheme with its settings.
    pub write: String,
    /// Whether every scheme is asked what it would write.
    pub judge: bool,
    /// The least size of a mapping that is extended.
    pub least: Bytes,
    /// Whether small blocks of malloc are extended as well.
    pub small: bool,
}

impl Task {
    /// Returns the task in the environment, if there is one.
    pub fn given() -> Option<Self> {
        let text = std::env::var(VARIABLE).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the text of the variable.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("plain data serializes")
    }

    /// Returns the settings of the extended memory.
    ///
    /// # Errors
    /// Returns a usage error if one of them has a wrong value, and a failure if the slow memory
    /// cannot be opened.
    pub fn settings(&self) -> Result<Settings> {
        let memory = Memory::parse(&self.memory)?;
        let slow = memory.open_taken(&catalogue(self.memories.as_deref())?)?;
        Ok(Settings {
            dram: self.dram.unwrap_or(UNBOUNDED),
            replacement: replacement::Spec::parse(&self.replacement).map_err(Error::usage)?,
            references: self.references.filter(|_| self.dram.is_some()),
            prefetch: match &self.prefetch {
                Some(predictor) => Some(prefetch::Spec::parse(predictor).map_err(Error::usage)?),
                None => None,
            },
            write: write::Spec::parse(&self.write).map_err(Error::usage)?,
            slow,
            judge: self.judge && self.dram.is_some(),
        })
    }
}

/// More than a machine has.
const UNBOUNDED: Bytes = Bytes(1 << 46);
