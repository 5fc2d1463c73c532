//! The unit of systemd: systemd takes it, and it leaves the daemon little to do harm with.

use std::path::{Path, PathBuf};
use std::process::Command;

fn unit(name: &str) -> PathBuf {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    packaging.join(name)
}

/// Runs `systemd-analyze`; `None` where it is not installed.
fn analyze(arguments: &[&str], unit: &Path) -> Option<String> {
    let output = Command::new("systemd-analyze")
        .args(arguments)
        .arg(unit)
        .output();
    let Ok(output) = output else {
        eprintln!("left out: systemd-analyze is not installed");
        return None;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{wrong}");
    Some(said)
}

#[test]
fn systemd_takes_the_units() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["terraced.service", "terraced-tier.service"] {
        let text = std::fs::read_to_string(unit(name)).unwrap();
        // The programs need not be installed here.
        let text = text.replace("/usr/sbin/terraced", "/bin/true");
        let text = text.replace("/usr/bin/terrace reload", "/bin/true");
        let copy = directory.path().join(name);
        std::fs::write(&copy, text).unwrap();
        analyze(&["verify"], &copy);
    }
}

#[test]
fn the_unit_exposes_little() {
    let limits = ["security", "--offline=true", "--threshold=50"];
    analyze(&limits, &unit("terraced.service"));
}
