//! The probe, compiled once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

static PROBE: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a directory");
    let program = directory.path().join("probe");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inherited/probe.c");
    let mut compiler = Command::new("cc");
    let made = compiler
        .args(["-O1", "-o"])
        .args([&program, &source])
        .status();
    assert!(made.expect("cc is installed").success());
    (directory, program)
});

/// Returns its path.
pub fn path() -> &'static str {
    PROBE.1.to_str().expect("a plain name")
}

/// Removes it, which no destructor does.
pub fn clean() {
    let _ = fs::remove_dir_all(PROBE.0.path());
}
