//! Command-line option for the placement of pages in frames.

use terrace_base::{Error, Result};
use terrace_sim::llc::Placement;

/// Reads the name of a placement with its settings.
///
/// # Errors
/// A usage error where the text is not a placement.
pub fn parse_placement(text: &str) -> Result<Placement> {
    Placement::parse(text).map_err(Error::usage)
}
