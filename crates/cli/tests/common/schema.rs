//! Documents are what `terrace schema` says of their kind.

use std::collections::HashMap;
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::Value;

/// Returns the JSON Schema of a kind of results.
pub fn schema(kind: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["schema", kind])
        .output()
        .expect("terrace runs");
    assert!(output.status.success(), "{kind}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn validator(kind: &str) -> Arc<Validator> {
    static KNOWN: LazyLock<Mutex<HashMap<String, Arc<Validator>>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(|e| e.into_inner());
    let new = || jsonschema::validator_for(&schema(kind)).expect("a schema");
    let of_kind = known.entry(kind.to_owned());
    Arc::clone(of_kind.or_insert_with(|| Arc::new(new())))
}

/// Returns the document after a check that it is one of its kind, with no field that the schema
/// lacks.
pub fn checked(document: Value) -> Value {
    let name = document["schema"].as_str().expect("a schema").to_owned();
    let kind = name
        .strip_prefix("terrace.")
        .and_then(|name| name.strip_suffix("/1"));
    checked_as(kind.unwrap_or(&name), document)
}

/// The same of a document that does not say its kind.
pub fn checked_as(kind: &str, document: Value) -> Value {
    let errors: Vec<String> = validator(kind)
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0], "a document of the kind {kind}");
    document
}
