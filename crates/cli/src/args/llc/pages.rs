//! Which frames pages get, on the command line.

use terrace_base::{Error, Result};
use terrace_sim::llc::Placement;

/// Reads a placement as people write it.
///
/// # Errors
/// A usage error where it is none.
pub fn parse_placement(text: &str) -> Result<Placement> {
    Placement::parse(text).map_err(Error::usage)
}

/// What `--help` says of it.
pub fn placement_help() -> String {
    let mut text = String::from("Which frames of memory pages get when they are first touched:");
    for (name, keys, summary) in Placement::WAYS {
        text.push_str(&format!("\n- {name}: {summary}"));
        if !keys.is_empty() {
            text.push_str(&format!(" [{keys}]"));
        }
    }
    text.push_str(
        "\nFree memory lies in runs of contiguous frames in random order, of 16 unless said otherwise.",
    );
    text
}
