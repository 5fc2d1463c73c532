//! How our JSON looks.

use serde::Serialize;

/// A document of plain data as text, indented, with a line end.
pub(crate) fn pretty(document: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(document).expect("plain data serializes");
    text.push('\n');
    text
}
