//! What was read of traces otherwise than it stands in them.

use serde::Serialize;

use crate::html::Page;

/// A count of what was left out, cut, or taken for something else while a trace was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

impl Page {
    /// Adds a sentence for each count.
    pub(crate) fn counted(self, counted: &[Counted]) -> Self {
        let add = |page: Self, one: &Counted| page.remark(&one.sentence());
        counted.iter().fold(self, add)
    }
}
