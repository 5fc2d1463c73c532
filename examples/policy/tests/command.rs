//! A policy of another crate in simulations, sweeps, lists and explanations.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Four pages in order, five times.
fn passes(directory: &Path) {
    let mut trace = "address\n".to_owned();
    for page in [1, 2, 3, 4].repeat(5) {
        writeln!(trace, "{}", page * 4096).expect("a string takes it");
    }
    fs::write(directory.join("passes.csv"), trace).expect("there is room");
}

fn terrace(directory: &Path, arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace-mru"));
    command
        .args(arguments.split(' '))
        .current_dir(directory)
        .output()
        .expect("the command runs")
}

fn said(directory: &Path, arguments: &str) -> String {
    let output = terrace(directory, arguments);
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn it_is_simulated_beside_ours() {
    let place = tempfile::tempdir().expect("a directory");
    passes(place.path());
    let asked = "sim pages passes.csv --dram 3p --replacement lru,mru --json=-";
    let found: Value = serde_json::from_str(&said(place.path(), asked)).expect("JSON");
    let misses = |run: usize| found["runs"][run]["misses"].as_u64();
    // By hand: 1 2 3 4, then 3, 2, 1 and 4, and 3.
    assert_eq!((misses(0), misses(1)), (Some(20), Some(9)));
    assert_eq!(found["runs"][1]["settings"]["replacement"], "mru");
}

#[test]
fn it_is_swept() {
    let place = tempfile::tempdir().expect("a directory");
    passes(place.path());
    let asked = "sweep passes.csv --dram 3p --replacement mru,fifo --warmup 0 --quiet -o found.csv";
    said(place.path(), asked);
    let found = fs::read_to_string(place.path().join("found.csv")).expect("results");
    let mut rows = found.lines().map(|row| row.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("names");
    let column = |name| head.iter().position(|one| *one == name).expect(name);
    let (replacement, misses) = (column("replacement"), column("misses"));
    let rows: Vec<_> = rows
        .map(|row| (row[replacement].to_owned(), row[misses].to_owned()))
        .collect();
    assert_eq!(
        rows,
        [("mru".into(), "9".into()), ("fifo".into(), "20".into())]
    );
}

#[test]
fn it_is_listed_explained_and_named_in_errors() {
    let place = tempfile::tempdir().expect("a directory");
    let listed = said(place.path(), "list policies");
    assert!(
        listed.contains("mru") && listed.contains("touched last"),
        "{listed}"
    );
    assert!(said(place.path(), "explain mru").contains("Chou and DeWitt"));
    passes(place.path());
    let refused = terrace(
        place.path(),
        "sim pages passes.csv --dram 3p --replacement mro",
    );
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(text.contains("mru"), "{text}");
    let settings = terrace(
        place.path(),
        "sim pages passes.csv --dram 3p --replacement mru:depth=1",
    );
    assert_eq!(settings.status.code(), Some(2), "{settings:?}");
}
