//! Results as people read them: tables with sentences between them.

use std::fmt;

use comfy_table::Table;

/// A part of a text.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// A table, without the end of its last line.
    Table(Table),
    /// Sentences, with all their line ends.
    Prose(String),
}

/// Tables and sentences in the order in which they are read. Displayed, it is what a terminal
/// shows.
#[derive(Clone, Debug, Default)]
pub struct Text(Vec<Part>);

impl Text {
    /// Adds a table and the end of its last line.
    pub fn table(mut self, table: Table) -> Self {
        self.0.push(Part::Table(table));
        self.prose("\n")
    }

    /// Adds sentences, which bring their line ends.
    pub fn prose(mut self, prose: impl Into<String>) -> Self {
        self.0.push(Part::Prose(prose.into()));
        self
    }

    /// Adds another text.
    pub fn text(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Returns the parts in their order.
    pub(crate) fn parts(&self) -> &[Part] {
        &self.0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        self.0.iter().try_for_each(|part| match part {
            Part::Table(table) => table.fmt(f),
            Part::Prose(prose) => f.write_str(prose),
        })
    }
}
