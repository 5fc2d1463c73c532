//! The binary, started with arguments, and what it reads and writes.

use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

pub fn terrace(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.args(arguments).output().expect("terrace runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn simulate(arguments: &[&str]) -> Value {
    let output = terrace(&[&["sim", "llc", "--json", "-"], arguments].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
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

pub fn gups(directory: &TempDir) -> String {
    generate(
        directory,
        "gups",
        &["--accesses", "400K", "--footprint", "8M"],
    )
}

/// A figure of a result.
pub fn number(value: &Value, key: &str) -> f64 {
    value[key]
        .as_f64()
        .unwrap_or_else(|| panic!("{key}: {}", value[key]))
}
