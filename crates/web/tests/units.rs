//! The socket of systemd: systemd takes it. The service stands with the other units of the daemon.

use std::path::{Path, PathBuf};
use std::process::Command;

fn unit(name: &str) -> PathBuf {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    packaging.join(name)
}

#[test]
fn systemd_takes_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let service = std::fs::read_to_string(unit("terraced-web.service.in")).unwrap();
    // The program need not be installed here.
    let service = service.replace("@PREFIX@/bin/terraced-web", "/bin/true");
    std::fs::write(directory.path().join("terraced-web.service"), service).unwrap();
    let socket = directory.path().join("terraced-web.socket");
    std::fs::copy(unit("terraced-web.socket"), &socket).unwrap();
    let output = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&socket)
        .output();
    let Ok(output) = output else {
        eprintln!("left out: systemd-analyze is not installed");
        return;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    // What it passes over is said as well.
    assert!(!said.contains("terraced-web"), "{said}");
}
