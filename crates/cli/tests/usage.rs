//! Bad input, each with its own sentence and exit code 2. Needs no privilege.

use std::process::{Command, Output, Stdio};

fn terrace(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(arguments)
        .output()
        .expect("terrace runs")
}

/// Checks that the arguments are refused with a text that has `why` in it.
fn refused(arguments: &[&str], why: &str) {
    let output = terrace(arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
    assert!(text.contains(why), "{arguments:?}: {text}");
    assert!(!text.contains("panicked"), "{arguments:?}: {text}");
    assert_eq!(text.lines().count(), 1, "{arguments:?}: {text}");
}

#[test]
fn no_program() {
    refused(&["run", "--dram", "64M"], "no program was given");
    refused(&["run", "--dram", "64M", "--"], "no program was given");
}

#[test]
fn a_program_that_does_not_exist_or_may_not_be_run() {
    refused(
        &["run", "--dram", "64M", "--", "/no/such/program"],
        "does not exist",
    );
    refused(
        &["run", "--dram", "64M", "--", "no-such-program"],
        "does not exist",
    );
    refused(
        &["run", "--dram", "64M", "--", "/etc/passwd"],
        "may not be run",
    );
    refused(&["run", "--dram", "64M", "--", "/"], "is a directory");
}

#[test]
fn what_cannot_be_validated() {
    refused(&["validate", "--", "/no/such/program"], "does not exist");
    refused(
        &["validate", "--prefetch", "oracle-of-delphi", "--", "true"],
        "oracle-of-delphi",
    );
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    refused(
        &["validate", "--calibration", file, "--", "true"],
        "has no readings",
    );
    refused(
        &["sim", "pages", "--machine", file, "--dram", "1M", "trace"],
        "describes no machine",
    );
    let both = ["--machine", file, "--memory", "pcm", "--dram", "1M"];
    refused(
        &[&["sim", "pages"], &both[..], &["trace"]].concat(),
        "--machine and --memory exclude each other",
    );
    refused(&["probe", "64", "1"], "for terrace calibrate");
}

#[test]
fn a_size_that_is_none() {
    for (size, why) in [
        ("0", "it is zero"),
        ("-4G", "it is negative"),
        ("much", "unknown unit"),
        ("", "no number"),
        ("8000P", "larger than this machine's"),
        ("0%", "no share of the footprint"),
        ("120%", "no share of the footprint"),
    ] {
        refused(&["run", "--dram", size, "--", "true"], why);
    }
    refused(&["run", "--", "true"], "--dram");
    refused(
        &["run", "--dram", "4M", "--footprint", "x", "--", "true"],
        "is not a size",
    );
}

#[test]
fn a_tier_that_is_none() {
    for (tier, why) in [
        ("/no/such/place", "does not exist"),
        ("/etc/passwd", "neither a directory nor a block device"),
    ] {
        refused(&["run", "--dram", "64M", "--tier", tier, "--", "true"], why);
    }
}

#[test]
fn other_options() {
    let run = |option: &str, value: &str, why: &str| {
        refused(&["run", "--dram", "64M", option, value, "--", "true"], why);
    };
    run("--prefetch", "magic", "there are: off, ");
    run("--endurance", "600", "as on the data sheet");
    run("--repeat", "0", "from 1 to 1000");
    run("--json", "/no/such/directory/file", "cannot write");
    refused(&["fly"], "`fly` is no command");
    refused(&[], "no command was given");
}

#[test]
fn help_teaches() {
    let output = terrace(&["run", "--help"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    for word in [
        "--dram",
        "--tier",
        "--compare",
        "terrace explain stream",
        "Examples:",
        "Exit code",
    ] {
        assert!(text.contains(word), "{word} is not in the help:\n{text}");
    }
}

#[test]
fn doctor_says_what_it_found_to_people_and_machines() {
    let text = String::from_utf8(terrace(&["doctor"]).stdout).unwrap();
    for name in [
        "kernel",
        "privileges",
        "memory cgroup",
        "perf",
        "free space",
    ] {
        assert!(text.contains(name), "{name} is not in:\n{text}");
    }
    let json = terrace(&["doctor", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    assert_eq!(json["schema"], "terrace.doctor/1");
    assert!(json["checks"].as_array().unwrap().len() > 8);
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    const PANICKED: Option<i32> = Some(101);
    let mut child = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .arg("doctor")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_ne!(child.wait().unwrap().code(), PANICKED);

    let script = format!("exec {} run 2>&- >&-", env!("CARGO_BIN_EXE_terrace"));
    let status = Command::new("sh").args(["-c", &script]).status().unwrap();
    assert_eq!(status.code(), Some(2));
}
