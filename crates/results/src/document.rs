//! The common part of all results: JSON, rows of a table, and a page of HTML.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Serialize;

use crate::html::Page;
use crate::rows::Rows;

/// Results of a command. They serialize as their JSON; the schema documents every field, and
/// `terrace-report` names the kinds of them (`kinds`).
pub trait Document: Serialize + JsonSchema {
    /// Returns the rows of the CSV and Parquet files.
    fn rows(&self) -> Rows;

    /// Returns the page without the text.
    fn page(&self) -> Page;

    /// Returns indented JSON with a line end.
    fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("plain data serializes");
        text.push('\n');
        text
    }

    /// Returns the rows as CSV.
    ///
    /// # Errors
    /// See [`Rows::csv`].
    fn csv(&self) -> terrace_base::Result<Vec<u8>> {
        self.rows().csv()
    }

    /// Returns the rows as a Parquet file.
    ///
    /// # Errors
    /// See [`Rows::parquet`].
    fn parquet(&self) -> terrace_base::Result<Vec<u8>> {
        self.rows().parquet("results", &[])
    }
}

/// Returns the words of a command.
pub fn words(command: &[OsString]) -> Vec<String> {
    let words = command.iter().map(|word| word.to_string_lossy().into());
    words.collect()
}

/// Returns the reason why a text is not such a document.
pub fn reason(error: &serde_json::Error) -> String {
    match error.is_eof() {
        true => format!("it ends at line {} although more must follow", error.line()),
        false => error.to_string(),
    }
}
