//! The units of systemd: systemd takes them, and they leave little to do harm with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Units, and the most that each may be exposed, in tenths.
const UNITS: [(&str, &str); 3] = [
    ("terraced", "50"),
    ("terraced-web", "15"),
    ("terraced-tier", "70"),
];

fn packaged(name: &str) -> PathBuf {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    packaging.join(name)
}

/// Writes a unit as if it were installed, with a program that is installed here.
fn installed(unit: &str, directory: &Path) -> PathBuf {
    let packaged = packaged(&format!("{unit}.service.in"));
    let text = std::fs::read_to_string(packaged).unwrap();
    let runs = |line: &str| {
        let (key, _) = line.split_once("=@PREFIX@/")?;
        Some(format!("{key}=/bin/true\n"))
    };
    let line = |line: &str| runs(line).unwrap_or_else(|| format!("{line}\n"));
    let text: String = text.lines().map(line).collect();
    assert!(!text.contains("@PREFIX@"), "{text}");
    let path = directory.join(format!("{unit}.service"));
    std::fs::write(&path, text).unwrap();
    path
}

/// Runs `systemd-analyze`, unless it is not installed; returns what it said.
fn analyze(arguments: &[&str], unit: &Path) -> String {
    let mut command = Command::new("systemd-analyze");
    let Ok(output) = command.args(arguments).arg(unit).output() else {
        eprintln!("left out: systemd-analyze is not installed");
        return String::new();
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrong}");
    // What it passes over is said as well.
    let name = unit.file_name().unwrap().to_str().unwrap();
    assert!(!wrong.contains(name), "{wrong}");
    format!("{said}{wrong}")
}

#[test]
fn systemd_takes_the_units() {
    let directory = tempfile::tempdir().unwrap();
    for (unit, _) in UNITS {
        let unit = installed(unit, directory.path());
        // Pages of the manual need not be installed here.
        analyze(&["verify", "--man=no"], &unit);
    }
}

#[test]
fn systemd_takes_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    installed("terraced-web", directory.path());
    let socket = directory.path().join("terraced-web.socket");
    std::fs::copy(packaged("terraced-web.socket"), &socket).unwrap();
    let said = analyze(&["verify", "--man=no"], &socket);
    assert!(!said.contains("terraced-web"), "{said}");
}

#[test]
fn the_units_expose_little() {
    let directory = tempfile::tempdir().unwrap();
    for (unit, most) in UNITS {
        let unit = installed(unit, directory.path());
        let threshold = format!("--threshold={most}");
        analyze(&["security", "--offline=true", &threshold], &unit);
    }
}
