//! `terrace bench`: lists, wrong input, and where it may, a tiny suite that is really run.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

mod common;
use common::command::{terrace, text};
use common::schema::checked;
use common::{example, machine};

/// Checks that the arguments end with this code and a text that has `why` in it.
fn refused(code: i32, arguments: &[&str], why: &str) {
    let output = terrace(arguments);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(why), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
}

/// A suite of a program that walks over 96 MiB, one that fails, and one that cannot be prepared.
fn suite() -> TempDir {
    // Under the target directory: a temporary directory may be DRAM, where no tier can be.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
    let suite = format!(
        r#"
dram = ["50%"]
repeat = 1

[packages]
coreutils = ["true"]
no-such-package = ["no-such-program"]

[[program]]
name = "walk"
description = "walks"
needs = ["coreutils"]
prepare = ["sh", "-c", "echo prepared > prepared"]
command = ["sh", "-c", "grep -q prepared prepared && exec {} 96 3 2"]
footprint = "96M"
bar = 0.001

[[program]]
name = "broken"
description = "fails"
command = ["sh", "programs/broken.sh"]
footprint = "8M"

[[program]]
name = "unprepared"
description = "cannot be prepared"
prepare = ["sh", "-c", "echo no input >&2; exit 3"]
command = ["true"]

[[program]]
name = "needy"
description = "needs what is not there"
needs = ["no-such-package"]
command = ["true"]
"#,
        example("walk")
    );
    fs::write(folder.path().join("suite.toml"), suite).unwrap();
    fs::create_dir(folder.path().join("programs")).unwrap();
    let broken = folder.path().join("programs/broken.sh");
    fs::write(broken, "echo for a good reason\nexit 7\n").unwrap();
    folder
}

#[test]
fn suites_and_their_programs_are_listed() {
    let output = terrace(&["bench", "--list"]);
    assert!(output.status.success());
    let list = text(&output.stdout);
    assert!(list.contains("live ") && list.contains("osvpp "), "{list}");

    let output = terrace(&["bench", "live", "--list"]);
    assert_eq!(text(&output.stdout).lines().count(), 11);
    let output = terrace(&["bench", "osvpp", "--list", "--only", "kmeans"]);
    assert_eq!(text(&output.stdout).lines().count(), 1);

    let folder = suite();
    let output = terrace(&["bench", folder.path().to_str().unwrap(), "--list"]);
    let list = text(&output.stdout);
    assert!(list.starts_with("walk        96.0 MiB  walks\n"), "{list}");
    assert!(list.contains("\nneedy              ?  "), "{list}");
}

#[test]
fn the_table_of_a_file_of_results() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../benches/live/results.json"
    );
    let output = terrace(&["bench", "--table", file]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let table = text(&output.stdout);
    assert!(table.contains("| column-pass "), "{table}");
    assert!(table.contains("| mean of 11 "), "{table}");
}

#[test]
fn what_cannot_be_is_refused() {
    refused(2, &["bench"], "SUITE is missing");
    refused(2, &["bench", "/no/such/suite"], "or one of live, osvpp");
    refused(
        2,
        &["bench", "live", "--only", "x"],
        "no program `x`; there are: column-pass",
    );
    refused(2, &["bench", "live", "--dram", "x"], "is not a size");
    refused(2, &["bench", "live", "--repeat", "0"], "from 1 to 1000");
    refused(2, &["bench", "live", "--prefetch", "off"], "there are: ");
    let nowhere = ["bench", "live", "--json", "/no/such/file"];
    refused(2, &nowhere, "`/no/such/file`: there is no directory for it");
    refused(2, &["bench", "live", "--table", "x"], "exclude each other");
    refused(2, &["bench", "--table", "/no/such/file"], "cannot read");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("suite.toml");
    fs::write(&file, "dram = [\"25%\"]\nrepeat = many\n").unwrap();
    let name = folder.path().to_str().unwrap();
    refused(2, &["bench", name], "suite.toml, line 2");
    refused(
        2,
        &["bench", "--table", file.to_str().unwrap()],
        "is no file of",
    );
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_suite_is_run_and_failures_are_rows() {
    let machine = machine();
    let folder = suite();
    let name = folder.path().to_str().unwrap();
    refused(1, &["bench", name], "apt-get install no-such-package");

    let file = folder.path().join("results.json");
    let output = machine
        .command(&[
            "bench",
            name,
            "--only",
            "walk",
            "--only",
            "broken",
            "--only",
            "unprepared",
        ])
        .args([
            "--prefetch",
            "stream",
            "--prefetch",
            "spatial:degree=4",
            "--json",
        ])
        .arg(&file)
        .output()
        .expect("terrace runs");
    let (table, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{table}{said}");
    assert!(said.contains("walk: preparing"), "{said}");
    assert!(
        table.contains(
            "| FAILED: all-dram: the program ended with code 7; its last line: for a good reason |"
        ),
        "{table}"
    );

    let results = checked(serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap());
    assert_eq!(results["schema"], "terrace.bench/1");
    let rows = results["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["error"], Value::Null, "{said}");
    let ways = rows[0]["comparison"]["runs"].as_array().unwrap();
    let ways = ways
        .iter()
        .map(|way| (way["way"].as_str().unwrap(), way["predictor"].as_str()));
    let expected = [
        ("all-dram", None),
        ("kernel", None),
        ("kernel-cpf", None),
        ("terrace", Some("stream")),
        ("terrace", Some("spatial:degree=4")),
    ];
    assert_eq!(ways.collect::<Vec<_>>(), expected);
    let why = rows[2]["error"].as_str().unwrap();
    assert_eq!(
        why,
        "its preparation ended with code 3; its last line: no input"
    );
}
