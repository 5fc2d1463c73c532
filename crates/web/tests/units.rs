//! The units of systemd: systemd takes them, and the service can do little harm.

use std::path::{Path, PathBuf};
use std::process::Command;

fn unit(name: &str) -> PathBuf {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    packaging.join(name)
}

/// Runs `systemd-analyze`, where it is installed.
fn analyze(arguments: &[&str], unit: &Path) {
    let output = Command::new("systemd-analyze")
        .args(arguments)
        .arg(unit)
        .output();
    let Ok(output) = output else {
        eprintln!("left out: systemd-analyze is not installed");
        return;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
}

#[test]
fn systemd_takes_the_units() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["terraced-web.service", "terraced-web.socket"];
    let copies = names.map(|name| directory.path().join(name));
    for (name, copy) in names.iter().zip(&copies) {
        let text = std::fs::read_to_string(unit(name)).unwrap();
        // The program need not be installed here.
        std::fs::write(copy, text.replace("/usr/bin/terraced-web", "/bin/true")).unwrap();
    }
    for copy in &copies {
        analyze(&["verify", "--man=no"], copy);
    }
}

#[test]
fn the_service_exposes_next_to_nothing() {
    let limits = ["security", "--offline=true", "--threshold=15"];
    analyze(&limits, &unit("terraced-web.service"));
}
