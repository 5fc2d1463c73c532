//! The reference of the book is made of what the command says: its help, its lists, and the
//! schemas of its results.
//!
//! `make reference` writes it; the test fails if it is not up to date.

mod common;
#[path = "reference/fields.rs"]
mod fields;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::help::listed;
use serde_json::Value;

const NOTE: &str = "<!-- Written by `make reference`; do not edit it. -->";

/// The pages of the reference by their names, which are relative to its directory.
type Pages = BTreeMap<String, String>;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/reference")
}

/// Returns what the command prints.
fn printed(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(words)
        // The width of help.
        .env_remove("COLUMNS")
        .output()
        .expect("terrace runs");
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Returns the commands that a help lists, but for `help` itself.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    listed(help).into_iter().filter(|name| *name != "help")
}

/// Appends the help of a command and of the commands below it.
fn describe(words: &[&str], page: &mut String) {
    let help = printed(&[words, &["--help"]].concat());
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let level = "#".repeat(words.len());
    let name = words.join(" ");
    writeln!(
        page,
        "{level} terrace {name}\n\n```text\n{}\n```\n",
        lines.join("\n")
    )
    .unwrap();
    for below in commands(&help) {
        describe(&[words, &[below]].concat(), page);
    }
}

fn pages_of_commands(pages: &mut Pages) {
    for name in commands(&printed(&["--help"])) {
        let mut page = format!("{NOTE}\n\n");
        describe(&[name], &mut page);
        pages.insert(format!("commands/{name}.md"), page);
    }
}

/// Returns a text whose options are marked as code, and no other word as a tag.
fn marked(text: &str) -> String {
    let is_of_option = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let word = |word: &str| match word.starts_with("--") {
        true => {
            let end = word
                .find(|letter| !is_of_option(letter))
                .unwrap_or(word.len());
            format!("`{}`{}", &word[..end], &word[end..])
        }
        false => word.replace('<', "&lt;"),
    };
    let words: Vec<String> = text.split(' ').map(word).collect();
    words.join(" ")
}

/// Returns a text that begins with a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// Returns a cell of a table.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::String(text) => marked(text).replace('|', "\\|"),
        other => other.to_string(),
    }
}

/// Appends a table of objects with these keys, which are its heads as well.
fn tabulate(page: &mut String, rows: &[Value], columns: &[(&str, &str)]) {
    if rows.is_empty() {
        return;
    }
    let heads: Vec<&str> = columns.iter().map(|(_, head)| *head).collect();
    writeln!(
        page,
        "| {} |\n|{}",
        heads.join(" | "),
        "---|".repeat(heads.len())
    )
    .unwrap();
    for row in rows {
        let cells: Vec<String> = columns.iter().map(|(key, _)| cell(&row[key])).collect();
        writeln!(page, "| {} |", cells.join(" | ")).unwrap();
    }
    page.push('\n');
}

/// Appends an entry of a list.
fn explain(page: &mut String, entry: &Value) {
    let text = |key: &str| entry[key].as_str();
    let (name, summary) = (text("name").expect("a name"), cell(&entry["summary"]));
    writeln!(page, "## {name}\n\n{}.\n", capital(&summary)).unwrap();
    let about = [
        ("option", "Option"),
        ("paper", "Source"),
        ("when", "When to use it"),
        ("open", "Left open by the source"),
        ("compared", "Compared with"),
    ];
    let said = about.iter().filter(|(key, _)| !entry[key].is_null());
    let said: Vec<String> = said
        .map(|(key, head)| format!("- {head}: {}\n", cell(&entry[key])))
        .collect();
    if !said.is_empty() {
        writeln!(page, "{}", said.concat()).unwrap();
    }
    let rows = |key: &str| entry[key].as_array().cloned().unwrap_or_default();
    let settings = [
        ("key", "Setting"),
        ("default", "Default"),
        ("values", "Values"),
        ("meaning", "Meaning"),
    ];
    tabulate(page, &rows("settings"), &settings);
    let figures = [("name", "Figure"), ("value", "Value"), ("source", "Source")];
    tabulate(page, &rows("figures"), &figures);
    let fields = [
        ("name", "Column"),
        ("is_read", "Is read"),
        ("meaning", "Meaning"),
    ];
    tabulate(page, &rows("fields"), &fields);
    let layouts = [("name", "Layout"), ("columns", "`--columns`"), ("of", "Of")];
    tabulate(page, &rows("layouts"), &layouts);
    if let Some(example) = text("example") {
        writeln!(page, "```text\n{}\n```\n", example.trim_end()).unwrap();
    }
}

/// Returns the kinds of lists with what each is of.
fn kinds() -> Vec<(String, String)> {
    let list = printed(&["list"]);
    let mut kinds: Vec<(String, String)> = Vec::new();
    for line in list.lines().take_while(|line| !line.is_empty()) {
        match line.trim().split_once("  ") {
            Some((kind, of)) => kinds.push((kind.to_owned(), of.trim().to_owned())),
            None => {
                let (_, of) = kinds.last_mut().expect("a kind");
                write!(of, " {}", line.trim()).unwrap();
            }
        }
    }
    kinds
}

fn pages_of_lists(pages: &mut Pages) {
    let list: Value = serde_json::from_str(&printed(&["list", "--json"])).expect("JSON");
    let entries = list["entries"].as_array().expect("entries");
    for (kind, of) in kinds() {
        let mut page = format!("{NOTE}\n\n# {}\n\nIn this list: {of}.\n\n", title(&kind));
        let of_kind = entries.iter().filter(|entry| entry["kind"] == *kind);
        let of_kind: Vec<Value> = of_kind.cloned().collect();
        assert!(!of_kind.is_empty(), "{kind}");
        match kind == "columns" {
            true => tabulate(
                &mut page,
                &of_kind,
                &[("name", "Column"), ("summary", "Meaning")],
            ),
            false => of_kind.iter().for_each(|entry| explain(&mut page, entry)),
        }
        pages.insert(format!("{kind}.md"), page);
    }
}

/// Adds a page for each kind of results.
fn pages_of_fields(pages: &mut Pages) {
    for line in printed(&["schema"]).lines() {
        let (kind, command) = line.split_once("  ").expect("a kind and a command");
        let schema: Value = serde_json::from_str(&printed(&["schema", kind])).expect("JSON");
        let page = fields::page(kind, command.trim(), &schema);
        pages.insert(format!("fields/{kind}.md"), format!("{NOTE}\n\n{page}"));
    }
}

/// Returns the title of a page of a list.
fn title(kind: &str) -> String {
    capital(&kind.replace('-', " "))
}

fn pages() -> Pages {
    let mut pages = Pages::new();
    pages_of_commands(&mut pages);
    pages_of_lists(&mut pages);
    pages_of_fields(&mut pages);
    for page in pages.values_mut() {
        page.truncate(page.trim_end().len());
        page.push('\n');
    }
    pages
}

/// Returns the pages that the book has.
fn present(directory: &Path, below: &str, pages: &mut Pages) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => present(&entry.path(), &format!("{name}/"), pages),
            false => drop(pages.insert(name, fs::read_to_string(entry.path()).unwrap())),
        }
    }
}

/// Writes the pages into the book, and takes away what was there.
fn write(pages: &Pages) {
    let _ = fs::remove_dir_all(directory());
    for (name, page) in pages {
        let path = directory().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, page).unwrap();
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let (made, mut there) = (pages(), Pages::new());
    if std::env::var_os("TERRACE_WRITE_REFERENCE").is_some() {
        write(&made);
    }
    present(&directory(), "", &mut there);
    for name in made.keys().chain(there.keys()) {
        assert!(
            made.get(name) == there.get(name),
            "{name} of the book's reference is not what the command says: run `make reference`"
        );
    }
}
