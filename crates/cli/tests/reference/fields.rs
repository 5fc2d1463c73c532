//! Pages of the fields of results, from their schemas.

use std::fmt::Write;

use serde_json::Value;

use crate::marked;

/// Returns the page of a kind of results: its fields in a table, each by its place.
pub fn page(kind: &str, command: &str, schema: &Value) -> String {
    let mut page = match command.strip_suffix(": each line") {
        Some(command) => format!("# {kind}\n\nThe fields of each line of `{command}`.\n"),
        None => format!("# {kind}\n\nThe fields of `{command}`.\n"),
    };
    let about = text(schema, "description");
    // What the first sentence says already.
    let rest = match about.starts_with("The JSON of ") {
        true => about.split_once(". ").map_or("", |(_, rest)| rest),
        false => about,
    };
    if !rest.is_empty() {
        write!(page, "\n{}\n", prose(rest)).unwrap();
    }
    writeln!(
        page,
        "\n`terrace schema {kind}` prints them as JSON Schema."
    )
    .unwrap();
    add(&mut page, "", &[schema]);
    page
}

/// Appends a table of the fields of an object, whose schemas hold together or one of them, and one
/// for each object in it under its place.
fn add(page: &mut String, place: &str, schemas: &[&Value]) {
    let fields = schemas.iter().flat_map(|schema| {
        let fields = schema["properties"].as_object().into_iter().flatten();
        fields.map(|(name, field)| (name.as_str(), field, text(schema, "description")))
    });
    let fields: Vec<_> = fields.collect();
    let mut others = schemas.iter().map(|schema| &schema["additionalProperties"]);
    let other = others.find(|other| other.is_object());
    if fields.is_empty() && other.is_none() {
        return;
    }
    if !place.is_empty() {
        writeln!(page, "\n## `{place}`").unwrap();
    }
    page.push_str("\n| Field | Type | Unit | Meaning |\n|---|---|---|---|\n");
    for (name, field, of_object) in &fields {
        let meaning = match text(field, "description") {
            "" if fields.len() == schemas.len() => of_object,
            meaning => meaning,
        };
        row(page, name, field, meaning);
    }
    if let Some(other) = other {
        row(page, "*", other, "Any other field.");
    }
    let before = match place {
        "" => String::new(),
        place => format!("{place}."),
    };
    for (name, field, _) in &fields {
        let place = format!("{before}{name}");
        add(page, &format!("{place}[]"), &with_parts(&field["items"]));
        add(page, &place, &with_parts(field));
    }
}

/// Returns a schema with those of which one holds.
fn with_parts(schema: &Value) -> Vec<&Value> {
    [schema]
        .into_iter()
        .chain(parts(schema))
        .filter(|part| is_object(part))
        .collect()
}

fn is_object(schema: &Value) -> bool {
    schema.get("properties").is_some() || schema["additionalProperties"].is_object()
}

fn row(page: &mut String, name: &str, field: &Value, meaning: &str) {
    let meaning = prose(meaning).replace("\n\n", " ").replace('|', "\\|");
    let unit = text(field, "unit");
    writeln!(page, "| `{name}` | {} | {unit} | {meaning} |", kind(field)).unwrap();
}

/// Returns what a schema says under a key.
fn text<'s>(schema: &'s Value, key: &str) -> &'s str {
    schema[key].as_str().unwrap_or_default()
}

/// Returns a text whose options are marked as code where they are not yet.
fn prose(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(at, part)| match at % 2 {
        0 => marked(part),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// Returns the schemas of which one holds.
fn parts(field: &Value) -> impl Iterator<Item = &Value> {
    let all = ["oneOf", "anyOf"].into_iter();
    all.flat_map(|key| field[key].as_array().into_iter().flatten())
}

/// Returns the type of a field in words.
fn kind(field: &Value) -> String {
    let names = match &field["type"] {
        Value::String(name) => vec![name.as_str()],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut words: Vec<String> = Vec::new();
    for name in names {
        words.push(match (name, field["items"].as_object()) {
            ("array", Some(_)) => format!("list of {}", kind(&field["items"])),
            ("array", None) => "list".to_owned(),
            ("string", _) => "text".to_owned(),
            ("boolean", _) => "yes or no".to_owned(),
            (name, _) => name.to_owned(),
        });
    }
    words.extend(parts(field).map(kind));
    words.dedup();
    words.join(" or ")
}
