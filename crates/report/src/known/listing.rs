//! Entries as text of a given width and as JSON.

use comfy_table::{ContentArrangement, Row, Table, presets};
use schemars::JsonSchema;
use serde::Serialize;

use super::{KINDS, Known};
use terrace_results::document::Document;
use terrace_results::html::Page;
use terrace_results::rows::Rows;

/// The JSON of `terrace list --json` and `terrace explain --json`.
#[derive(Serialize, JsonSchema)]
pub struct ListDocument<'a> {
    /// `terrace.list/1` or `terrace.explain/1`.
    schema: &'static str,
    /// The entries that were listed or explained.
    entries: &'a [Known],
}

/// Returns the kinds as text.
pub fn kinds() -> String {
    columns(KINDS.map(|(name, summary)| [name, summary]), 80)
        + "\n`terrace list KIND` lists one of these, `terrace explain NAME` tells more of what is in it.\n"
}

/// Returns entries as text, a line each, below the options that take them.
pub fn listed(all: &[Known], width: u16) -> String {
    let mut text = String::new();
    for part in all.chunk_by(|one, next| one.option == next.option) {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(option) = part[0].option {
            text += &format!("{option}:\n");
        }
        let rows = part.iter().map(|known| [&known.name, &known.summary]);
        text += &columns(rows, width);
    }
    text
}

impl<'a> ListDocument<'a> {
    /// Returns the document of `terrace list`.
    pub fn listed(entries: &'a [Known]) -> Self {
        let schema = "terrace.list/1";
        Self { schema, entries }
    }

    /// Returns the document of `terrace explain`.
    pub fn explained(entries: &'a [Known]) -> Self {
        let schema = "terrace.explain/1";
        Self { schema, entries }
    }
}

impl Document for ListDocument<'_> {
    fn rows(&self) -> Rows {
        Rows::flat(self.entries)
    }

    fn page(&self) -> Page {
        let names: Vec<&str> = self.entries.iter().map(|known| &*known.name).collect();
        Page::new(format!("terrace: {}", names.join(", ")))
    }
}

/// Returns the full description of entries.
pub fn explained(all: &[Known], width: u16) -> String {
    let all: Vec<String> = all.iter().map(|known| one(known, width)).collect();
    all.join("\n")
}

fn one(known: &Known, width: u16) -> String {
    let told = [
        ("what", Some(known.summary.as_str())),
        ("option", known.option),
        ("paper", known.paper),
        ("when", known.when),
        ("left open", known.open),
        ("compared with", known.compared),
    ];
    let rows = told
        .into_iter()
        .filter_map(|(what, text)| Some([what, text?]));
    let mut text = format!("{}\n{}", known.name, columns(rows, width));
    if let [first, ..] = &known.settings[..] {
        let example = format!("{}:{}={}", known.name, first.key, first.default);
        text += &format!("\nSettings, given as {example}\n");
        let rows = known.settings.iter().map(|setting| {
            let default = match &*setting.default {
                "" => "must be given".to_owned(),
                default => format!("default {default}"),
            };
            [setting.key, &default, &setting.values, setting.meaning].map(str::to_owned)
        });
        text += &columns(rows, width);
    }
    if !known.figures.is_empty() {
        text += "\nFigures, with their sources\n";
        let rows = known.figures.iter();
        let rows = rows.map(|figure| [figure.name, &figure.value, &figure.source]);
        text += &columns(rows, width);
    }
    if !known.fields.is_empty() {
        text += "\nColumns or fields\n";
        let rows = known.fields.iter().map(|field| {
            let read = if field.is_read { "read" } else { "not read" };
            [field.name, read, field.meaning]
        });
        text += &columns(rows, width);
    }
    if !known.layouts.is_empty() {
        text += "\nLayouts of tables whose first line does not say it, given as --columns NAME; \
                 others one by one, as\n--columns time=1,object=2,size=3,op=4\n";
        let rows = known.layouts.iter();
        text += &columns(
            rows.map(|layout| [layout.name, layout.columns, layout.of]),
            width,
        );
    }
    if let Some(example) = known.example {
        text += "\nExample\n";
        text.extend(example.lines().map(|line| format!("  {line}\n")));
    }
    text
}

/// Returns rows in columns without lines; the last column is wrapped at the width.
fn columns(rows: impl IntoIterator<Item: Into<Row>>, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table.add_rows(rows);
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}
