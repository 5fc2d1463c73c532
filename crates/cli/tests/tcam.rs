//! `terrace tcam` from files to results.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

mod common;
use common::command::{terrace, text};
use common::schema::checked;
use common::shared_data;

/// A table, and updates of which half change nothing.
fn files() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let routes: String = (0..40)
        .map(|index| format!("10.{index}.0.0/16 a\n"))
        .collect();
    let updates: String = (0..40)
        .map(|index| format!("{index}.5 + 10.{index}.0.0/16 {}\n", ["a", "b"][index % 2]))
        .collect();
    std::fs::write(
        directory.path().join("table.txt"),
        format!("10.0.0.0/8 z\n{routes}"),
    )
    .unwrap();
    std::fs::write(
        directory.path().join("updates.txt"),
        format!("{updates}41 - 10.1.0.0/16\n"),
    )
    .unwrap();
    directory
}

fn path(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).display().to_string()
}

fn json(arguments: &[&str]) -> Value {
    let output = terrace(arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    checked(serde_json::from_slice(&output.stdout).unwrap())
}

fn replay(table: &Path, updates: &Path, options: &[&str]) -> Value {
    let (table, updates) = (table.display().to_string(), updates.display().to_string());
    let files = [
        "tcam",
        "replay",
        "--json=-",
        "--table",
        &table,
        "--updates",
        &updates,
    ];
    json(&[&files, options].concat())
}

#[test]
fn a_replay_says_what_is_written_to_flash() {
    let files = files();
    let (table, updates) = (
        files.path().join("table.txt"),
        files.path().join("updates.txt"),
    );
    let found = |policy: &str| {
        let options = ["--shadow-rows", "8", "--policy", policy, "--checked", "1"];
        let found = replay(&table, &updates, &options);
        assert_eq!(found["schema"], "terrace.tcam.replay/1");
        assert_eq!(found["settings"]["policy"], policy);
        assert_eq!(found["settings"]["update_times"], "trace");
        let totals = &found["totals"];
        let figures = [
            "routes_loaded",
            "announcements",
            "withdrawals",
            "lookups_checked",
            "skipped",
            "flushed",
        ];
        figures.map(|name| totals[name].as_u64().unwrap())
    };
    assert_eq!(found("thesis"), [41, 40, 1, 41, 0, 40]);
    assert_eq!(found("unchanged"), [41, 40, 1, 41, 20, 16]);
}

#[test]
fn a_replay_counts_the_moves_of_conventional_tcams() {
    let files = files();
    // A /12 above the /8 and below the /16s, for which both ways of sorting move an entry.
    let (table, updates) = (
        files.path().join("table.txt"),
        files.path().join("more.txt"),
    );
    std::fs::write(&updates, "1 + 10.0.0.0/12 a\n2 + 10.240.0.0/16 a\n").unwrap();
    let found = replay(&table, &updates, &["--orderings", "--checked", "1"]);
    let orderings = found["orderings"].as_array().unwrap().iter();
    let moves = orderings.map(|row| {
        let figures = ["moves", "moves_most"].map(|name| row[name].as_u64().unwrap());
        (row["ordering"].as_str().unwrap(), figures)
    });
    assert_eq!(
        moves.collect::<Vec<_>>(),
        [
            ("sorted-end", [3, 2]),
            ("sorted-middle", [1, 1]),
            ("partial", [0, 0]),
            ("hermes", [0, 0])
        ]
    );
    let found = replay(&table, &updates, &[]);
    assert_eq!(found["orderings"], serde_json::json!([]));
}

#[test]
fn a_lookup_says_where_the_route_lies() {
    let files = files();
    let table = path(&files, "table.txt");
    let found = json(&[
        "tcam",
        "lookup",
        "--json=-",
        "--table",
        &table,
        "10.3.2.1",
        "10.99.0.1",
        "11.0.0.1",
    ]);
    let answers = found["answers"].as_array().unwrap();
    let of = |index: usize, field: &str| answers[index][field].clone();
    assert_eq!(
        [of(0, "prefix"), of(0, "next_hop"), of(0, "row")],
        ["10.3.0.0/16".into(), "a".into(), Value::from(3)]
    );
    assert_eq!([of(1, "prefix"), of(1, "next_hop")], ["10.0.0.0/8", "z"]);
    assert_eq!(
        [of(2, "prefix"), of(2, "block")],
        [Value::Null, Value::Null]
    );
}

#[test]
fn tries_give_the_same_answers() {
    let files = files();
    let table = path(&files, "table.txt");
    let found = json(&[
        "tcam",
        "bench",
        "--json=-",
        "--lookups",
        "1000",
        "--table",
        &table,
    ]);
    let names = found["measured"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].clone());
    assert_eq!(
        names.collect::<Vec<_>>(),
        ["tcam", "prefix-trie", "treebitmap"]
    );
}

#[test]
fn what_cannot_be_is_a_sentence() {
    let files = files();
    let (table, updates) = (path(&files, "table.txt"), path(&files, "updates.txt"));
    for (options, code, why) in [
        (
            &["--policy", "best"][..],
            2,
            "there is no update policy `best`; there are: thesis, unchanged",
        ),
        (&["--policy", "coalesce:share=7"], 2, "from 0 to 0.9"),
        (
            &["--levelling", "best"],
            2,
            "there is no wear levelling `best`",
        ),
        (&["--rows", "0"], 2, "0 rows of a flash block"),
        (
            &["--blocks", "1"],
            2,
            "takes 2 flash blocks of 256 rows, and the TCAM has 1",
        ),
        (
            &["--flash-writes-per-second", "nan"],
            2,
            "NaN writes of a block",
        ),
        (&["--checked", "2"], 2, "from 0 to 1"),
        (
            &["--blocks", "2", "--shadow-rows", "1"],
            1,
            "all 2 flash blocks are in use",
        ),
    ] {
        let replay = ["tcam", "replay", "--table", &table, "--updates", &updates];
        let output = terrace(&[&replay, options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{options:?}: {said}");
        assert!(said.contains(why), "{options:?}: {said}");
    }
}

/// The bars of the day, the whole way from files to figures.
#[test]
#[ignore = "needs the routing tables of other people; run by make test-data"]
fn shared_data_flash_writes_of_a_day() {
    let file = |part: &str| shared_data(&format!("bgp/ris-20260511-as3333-{part}-ipv4.parquet"));
    for (policy, flushed) in [("thesis", 628_736), ("unchanged", 25_088)] {
        let found = replay(&file("initial"), &file("updates"), &["--policy", policy]);
        assert_eq!(
            found["totals"]["flushed"].as_u64(),
            Some(flushed),
            "{policy}"
        );
        assert_eq!(found["settings"]["update_times"], "even");
    }
}
