//! `terrace sim llc`, started with arguments.

use serde_json::Value;
use tempfile::TempDir;

pub use crate::common::command::{file, generate, number, terrace, text};

pub fn simulate(arguments: &[&str]) -> Value {
    crate::common::command::simulate("llc", arguments)
}

pub fn gups(directory: &TempDir) -> String {
    generate(
        directory,
        "gups",
        &["--accesses", "400K", "--footprint", "8M"],
    )
}
