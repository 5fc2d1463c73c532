//! Says what was read of traces otherwise than it stands in them.

use std::path::Path;

use terrace_results::counted::{self, Counted};
use terrace_trace::tally::Tallies;

use crate::screen::say;

/// Returns what was read otherwise, by the names of traces and the places where they were read, and
/// says it.
pub fn counted<'a>(
    traces: impl Iterator<Item = (&'a Path, &'a Path)>,
    tallies: &Tallies,
    quiet: bool,
) -> Vec<Counted> {
    let all = counted::counted(traces, tallies);
    if !quiet {
        let said = all.iter().map(Counted::sentence);
        said.for_each(|sentence| say(&format!("terrace: {sentence}\n")));
    }
    all
}
