//! `terrace schema`: each kind of results has a JSON Schema, and results are what it says.
//!
//! Tests of commands that need root check the documents of these by `common::schema` themselves.

mod common;

use serde_json::Value;

use common::command::{file, generate, terrace, text};
use common::schema::{checked, schema};

/// Returns the kinds that `terrace schema` lists.
fn kinds() -> Vec<String> {
    let listed = text(&terrace(&["schema"]).stdout);
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    names.map(str::to_owned).collect()
}

/// Objects with fields of which the names are not known before: pages that a kernel did not move
/// are counted by its error, and a pool's item has the fields of what it is.
const OPEN: [&str; 4] = [
    "run/runs[]/nodes/failed",
    "bench/rows[]/comparison/runs[]/nodes/failed",
    "heap.dump",
    "heap.object/record",
];

/// Checks a part of a schema: it says what it is, and allows no field that is not declared.
fn check(place: &str, part: &Value) {
    let known = ["type", "const", "enum", "oneOf", "anyOf"];
    assert!(
        known.iter().any(|key| part.get(key).is_some()),
        "{place}: {part}"
    );
    let is_open = OPEN.contains(&place);
    let closed = ["additionalProperties", "unevaluatedProperties"];
    if part.get("properties").is_some() || is_open {
        let is_closed = closed.iter().any(|key| part[key] == false);
        assert_ne!(is_closed, is_open, "{place}: {part}");
    }
    for (name, property) in part["properties"].as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        check(&place, property);
        // An object is known by its fields, a value of one field by that field.
        let says = |part: &Value| part["description"].is_string();
        let is_object = property.get("properties").is_some();
        assert!(
            is_object || says(property) || says(part),
            "{place}: {property}"
        );
    }
    if let Some(items) = part.get("items") {
        check(&format!("{place}[]"), items);
    }
    let is_list = part["type"].as_str() == Some("array");
    let says = part.get("items").is_some() || part.get("prefixItems").is_some();
    assert!(!is_list || says, "{place}: {part}");
    for branch in ["oneOf", "anyOf"] {
        let branches = part[branch].as_array().into_iter().flatten();
        branches
            .filter(|branch| branch.get("properties").is_some())
            .for_each(|branch| check(place, branch));
    }
}

#[test]
fn every_schema_is_one_and_says_what_each_field_is() {
    let kinds = kinds();
    assert!(kinds.len() > 30, "{kinds:?}");
    for kind in kinds {
        let schema = schema(&kind);
        assert_eq!(
            schema["$schema"],
            "https://json-schema.org/draft/2020-12/schema"
        );
        assert_eq!(schema["title"], format!("terrace.{kind}/1"));
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{kind}: {error}"));
        check(&kind, &schema);
    }
}

#[test]
fn units_and_meanings_are_those_of_the_declarations() {
    let run = schema("run");
    let way = &run["properties"]["runs"]["items"]["properties"];
    assert_eq!(way["wall_s"]["unit"], "s");
    assert_eq!(way["tier_read_bytes"]["unit"], "bytes");
    let pages = schema("sim.pages");
    let settings = &pages["properties"]["runs"]["items"]["properties"]["settings"]["properties"];
    let kernel = &settings["fault"]["properties"]["kernel"];
    assert_eq!(kernel["unit"], "ns");
    assert_eq!(
        kernel["description"],
        "the kernel's way to the device and back"
    );
    let shape = schema("sim.llc")["properties"]["settings"]["properties"]["l1"].clone();
    assert_eq!(shape["description"], "shape of the first private level");
    assert_eq!(shape["type"], serde_json::json!(["object", "null"]));
}

#[test]
fn a_kind_that_is_not_there_is_refused_with_those_that_are() {
    let output = terrace(&["schema", "magic"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("there is no kind of results `magic`; there are run, "),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_field_that_is_not_declared_is_seen() {
    let mut document: Value =
        serde_json::from_slice(&terrace(&["list", "fault-costs", "--json"]).stdout).unwrap();
    document["entries"][0]["novelty"] = 1.into();
    let found = std::panic::catch_unwind(|| checked(document));
    let why = found.unwrap_err().downcast::<String>().expect("a text");
    assert!(
        why.contains("/entries/0") && why.contains("novelty"),
        "{why}"
    );
}

#[test]
fn results_are_what_their_schemas_say() {
    let directory = tempfile::tempdir().expect("a directory");
    let zipf = ["--accesses", "20K", "--footprint", "1M", "--writes", "30"];
    let trace = generate(&directory, "zipf", &zipf);
    let (part, sweep) = (file(&directory, "part.csv"), file(&directory, "sweep"));
    for line in [
        format!("trace info --json=- {trace}"),
        format!("trace convert {trace} {part} --json"),
        format!("sim pages --dram 25%,100% --prefetch off,stream --json=- {trace}"),
        format!("sim pages --dram 25% --memory none --json=- {trace}"),
        format!("sim pages --dram 8M --control none,fixed:dram=64K,every=1ms --json=- {trace}"),
        format!("sim curve --json=- {trace}"),
        format!("sim llc --policy lru,nhm,opt --pages jit --json=- {trace}"),
        format!("sim mix --slice 1ms --time 2ms --warmup 0ns --json=- {trace} {trace}"),
        format!("sim files --dram 64K --flash-size off,512K --json=- {trace}"),
        format!("sweep --dram 25%,50% -o {sweep} {trace} --json"),
        "tcam circuit --json".to_owned(),
        "doctor --json".to_owned(),
        "explain pcm --json".to_owned(),
    ] {
        let arguments: Vec<&str> = line.split(' ').collect();
        let output = terrace(&arguments);
        let document = serde_json::from_slice(&output.stdout);
        let said = text(&output.stderr);
        checked(document.unwrap_or_else(|error| panic!("{line}: {error}: {said}")));
    }
}
