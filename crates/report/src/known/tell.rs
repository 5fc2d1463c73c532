//! Entries as text of a given width and as JSON.

use comfy_table::{ContentArrangement, Table, presets};
use serde::Serialize;

use super::{KINDS, Known};
use crate::document::Document;
use crate::html::Page;
use crate::rows::Rows;

/// The JSON of `terrace list --json` and `terrace explain --json`.
#[derive(Serialize)]
pub struct ListDocument<'a> {
    /// `terrace.list/1` or `terrace.explain/1`.
    schema: &'static str,
    /// The entries that were listed or explained.
    entries: &'a [Known],
}

/// Lists the kinds.
pub fn kinds() -> String {
    let mut table = columns(
        KINDS.map(|(name, summary)| vec![name.into(), summary.into()]),
        80,
    );
    table.push_str("\n`terrace list KIND` lists one of these, `terrace explain NAME` tells more of what is in it.\n");
    table
}

/// Lists entries, one line each, below the options that take them.
pub fn listed(all: &[Known], width: u16) -> String {
    let mut text = String::new();
    for part in all.chunk_by(|one, next| one.option == next.option) {
        if !text.is_empty() {
            text.push('\n');
        }
        if let Some(option) = part[0].option {
            text.push_str(&format!("{option}:\n"));
        }
        let rows = part
            .iter()
            .map(|known| vec![known.name.clone(), known.summary.clone()]);
        text.push_str(&columns(rows, width));
    }
    text
}

impl<'a> ListDocument<'a> {
    /// Returns the document of what `terrace list` lists.
    pub fn listed(entries: &'a [Known]) -> Self {
        let schema = "terrace.list/1";
        Self { schema, entries }
    }

    /// Returns the document of what `terrace explain` explains.
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

/// Describes entries in full.
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
    ];
    let told = told.into_iter();
    let rows = told.filter_map(|(what, text)| Some(vec![what.to_owned(), text?.to_owned()]));
    let mut text = format!("{}\n{}", known.name, columns(rows, width));
    if let [first, ..] = &known.settings[..] {
        let example = format!("{}:{}={}", known.name, first.key, first.default);
        text.push_str(&format!("\nSettings, given as {example}\n"));
        let rows = known.settings.iter().map(|setting| {
            let default = match setting.default.is_empty() {
                true => "must be given".into(),
                false => format!("default {}", setting.default),
            };
            vec![
                setting.key.to_owned(),
                default,
                setting.values.clone(),
                setting.meaning.to_owned(),
            ]
        });
        text.push_str(&columns(rows, width));
    }
    if !known.figures.is_empty() {
        text.push_str("\nFigures, with their sources\n");
        let rows = known.figures.iter();
        let rows = rows.map(|figure| {
            vec![
                figure.name.into(),
                figure.value.clone(),
                figure.source.clone(),
            ]
        });
        text.push_str(&columns(rows, width));
    }
    text
}

/// Lays rows out in columns without lines; the last column is wrapped at the width.
fn columns(rows: impl IntoIterator<Item = Vec<String>>, width: u16) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    table.add_rows(rows);
    let lines = table.lines().map(|line| line.trim_end().to_owned() + "\n");
    lines.collect()
}
