//! The command, started with arguments, and what it reads and writes.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use super::schema::checked;

pub fn terrace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.args(arguments).output().expect("terrace runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The JSON of `terrace sim pages` or `terrace sim llc`.
pub fn simulate(what: &str, arguments: &[&str]) -> Value {
    let output = terrace(&[&["sim", what, "--json=-"], arguments].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    checked(serde_json::from_slice(&output.stdout).expect("JSON"))
}

/// A file in a directory that goes away.
pub fn file(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).display().to_string()
}

/// A generated trace.
pub fn generate(directory: &TempDir, kind: &str, options: &[&str]) -> String {
    let file = file(directory, &format!("{kind}.parquet"));
    let output = terrace(&[&["trace", "gen", kind, "-o", &file], options].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    file
}

/// A figure of a result.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {}", value[key]))
}
