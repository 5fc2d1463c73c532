//! Conversion of a trace, as JSON of the schema `terrace.convert/1`.

use schemars::JsonSchema;
use serde::Serialize;
use terrace_trace::lost::Loss;

use crate::counted::Counted;
use crate::document::Document;
use crate::html::Page;
use crate::rows::Rows;

/// What became of a trace that was written in another format, or in part.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConvertDocument {
    /// `terrace.convert/1`.
    pub schema: &'static str,
    /// The trace that was read, as it was named.
    pub input: String,
    /// The trace that was written, as it was named.
    pub output: String,
    /// Accesses that were written.
    pub accesses: u64,
    /// What was left out of the input, cut, or taken for something else, with counts.
    pub counted: Vec<Counted>,
    /// What the format of the output has no room for.
    pub lost: Vec<Lost>,
    /// What a whole trace says and the part of it that was written cannot, in sentences.
    pub left_out: Vec<String>,
}

/// What the format of a trace has no room for.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Lost {
    /// Its kind, as `writes`.
    pub kind: &'static str,
    /// Of how many accesses, or how many things.
    pub count: u64,
    /// The count in words.
    pub what: String,
}

impl From<&Loss> for Lost {
    fn from(loss: &Loss) -> Self {
        Self {
            kind: loss.kind.name(),
            count: loss.count,
            what: loss.to_string(),
        }
    }
}

impl Document for ConvertDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.lost)
    }

    fn page(&self) -> Page {
        let title = format!("terrace trace convert: {} to {}", self.input, self.output);
        Page::new(title).counted(&self.counted).settings("", &self)
    }
}
