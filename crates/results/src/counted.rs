//! What was read of traces otherwise than it stands in them.

use std::collections::HashSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use terrace_trace::tally::Tallies;

use crate::html::Page;

/// A count of what was left out, cut, or taken for something else while a trace was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counted {
    /// The trace, as it was named.
    pub trace: String,
    /// How often.
    pub count: u64,
    /// What, as the end of a sentence.
    pub what: &'static str,
}

impl Counted {
    /// Returns the sentence.
    pub fn sentence(&self) -> String {
        format!("in `{}` {} {}", self.trace, self.count, self.what)
    }
}

/// Returns what was read otherwise than it stands in traces, each by its name and the place where
/// it was read.
pub fn counted<'a>(
    traces: impl Iterator<Item = (&'a Path, &'a Path)>,
    tallies: &Tallies,
) -> Vec<Counted> {
    let mut seen = HashSet::new();
    let traces = traces.filter(|(_, place)| seen.insert(*place));
    let all = traces.flat_map(|(name, place)| {
        let counts = tallies.of(place).into_iter();
        counts.map(|(what, count)| Counted {
            trace: name.display().to_string(),
            count,
            what,
        })
    });
    all.collect()
}

impl Page {
    /// Adds a sentence for each count.
    pub fn counted(self, counted: &[Counted]) -> Self {
        let add = |page: Self, one: &Counted| page.remark(&one.sentence());
        counted.iter().fold(self, add)
    }
}
