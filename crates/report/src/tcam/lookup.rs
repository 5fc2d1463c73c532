//! The JSON of `terrace tcam lookup --json`: schema `terrace.tcam.lookup/1`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Input;
use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;
use terrace_results::table::table;
use terrace_results::text::Text;

/// The JSON of `terrace tcam lookup --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LookupDocument {
    /// `terrace.tcam.lookup/1`.
    pub schema: &'static str,
    /// The routing table.
    pub table: Input,
    /// An answer for each address, in their order.
    pub answers: Vec<Answer>,
}

/// What the TCAM answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The address that was looked up.
    pub address: String,
    /// The longest prefix that contains it; null without one.
    pub prefix: Option<String>,
    /// The number of its next hop.
    pub port: Option<u32>,
    /// The next hop, as the table calls it.
    pub next_hop: Option<String>,
    /// The flash block in which the route lies.
    pub block: Option<u32>,
    /// The row in it.
    pub row: Option<u32>,
}

impl LookupDocument {
    /// Returns the document of answers.
    pub fn new(table: Input, answers: Vec<Answer>) -> Self {
        Self {
            schema: "terrace.tcam.lookup/1",
            table,
            answers,
        }
    }

    /// Returns a table of the answers.
    pub fn to_text(&self) -> Text {
        let mut table = table(&["address", "prefix", "next hop", "block", "row"]);
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        let number = |value: Option<u32>| value.map_or("-".to_owned(), |value| value.to_string());
        for answer in &self.answers {
            table.add_row([
                answer.address.clone(),
                text(&answer.prefix),
                text(&answer.next_hop),
                number(answer.block),
                number(answer.row),
            ]);
        }
        Text::default().table(table)
    }
}

impl Document for LookupDocument {
    fn rows(&self) -> Rows {
        Rows::flat(&self.answers)
    }

    fn page(&self) -> Page {
        Page::new("terrace tcam lookup")
    }
}
