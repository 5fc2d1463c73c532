//! Results of simulations of all levels.

use terrace_sim::Simulation;

use crate::counted::Counted;
use crate::document::Document;
use crate::text::Text;

/// A simulation with a document of its results.
pub trait Reported: Simulation {
    /// The results as JSON, rows and a page.
    type Document: Document;

    /// Returns the document of what was found with the traces of these names.
    fn document(
        traces: Vec<String>,
        counted: Vec<Counted>,
        results: Self::Results,
    ) -> Self::Document;

    /// Returns the tables for people.
    fn text(document: &Self::Document) -> Text;
}
