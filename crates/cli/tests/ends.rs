//! However a recording or a validation ends, nothing of it stays. Needs `qemu-x86_64`.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

mod common;
use common::{machine, names, needs, wait_for};

/// Whether the process runs: one that was killed may be left to a parent who does not ask for it.
fn runs(pid: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let state = status.lines().find_map(|line| line.strip_prefix("State:"));
    state.is_some_and(|state| !state.contains('Z') && !state.contains('X'))
}

/// Kills a recording of this script, which prints the numbers of its processes in a line and goes
/// on; then all of them must end.
fn kill(script: &str) {
    needs("qemu-x86_64");
    let directory = tempfile::tempdir().unwrap();
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["record", "-q", "-o"])
        .arg(directory.path().join("trace.parquet"))
        .args(["--", "sh", "-c", script])
        .env_remove("SUDO_UID")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pids = String::new();
    let mut printed = BufReader::new(terrace.stdout.take().unwrap());
    printed.read_line(&mut pids).unwrap();
    let pids: Vec<_> = pids.split_whitespace().collect();
    assert!(!pids.is_empty() && pids.iter().all(|pid| runs(pid)));
    terrace.kill().unwrap();
    terrace.wait().unwrap();
    wait_for("its processes to end", || !pids.iter().any(|pid| runs(pid)));
    assert_eq!(
        directory.path().read_dir().unwrap().count(),
        0,
        "a file was left"
    );
}

#[test]
fn a_killed_recording_leaves_neither_program_nor_file() {
    kill("echo $$; exec sleep 60");
}

#[test]
fn what_the_program_forked_ends_with_a_killed_recording() {
    // One in a session of its own, one that its parent has left.
    kill(
        "setsid sleep 61 & a=$!; b=$( (sleep 62 >/dev/null & echo $!) ); sleep 1; echo $$ $a $b; sleep 63",
    );
}

/// The fourth run, which is the recorded one, goes on until it is killed.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_killed_validation_leaves_no_trace() {
    let machine = machine();
    needs("qemu-x86_64");
    let state = &machine.state;
    let temporary = tempfile::tempdir().unwrap();
    let readings = state.path().join("readings");
    let measured = machine.terrace(&["calibrate", "--json", readings.to_str().unwrap()]);
    assert!(measured.status.success(), "{measured:?}");
    let found = names(state.path());

    let runs = state.path().join("runs");
    let script = format!(
        "echo $$ >>{0}; test $(wc -l <{0}) -lt 4 || exec sleep 60",
        runs.display()
    );
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["validate", "-q", "--repeat", "1", "--dram", "32M"])
        .arg("--calibration")
        .arg(&readings)
        .args(["--", "sh", "-c", &script])
        .env("TERRACE_STATE_DIR", state.path())
        .env("TMPDIR", temporary.path())
        .env_remove("SUDO_UID")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let mut last = None;
    wait_for("the fourth run", || {
        let runs = fs::read_to_string(&runs).unwrap_or_default();
        last = runs.lines().nth(3).map(str::to_owned);
        last.is_some()
    });
    let last = last.expect("it runs");
    terrace.kill().unwrap();
    terrace.wait().unwrap();
    wait_for("the last run to end", || !self::runs(&last));
    fs::remove_file(&runs).unwrap();
    assert_eq!(names(temporary.path()), [""; 0]);
    assert_eq!(names(state.path()), found);
}
