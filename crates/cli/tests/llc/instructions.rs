//! Policies that learn by instructions, and traces that do not say which they were.

use std::fmt::Write;

use tempfile::TempDir;

use crate::command::{file, gups, number, simulate, terrace, text};

const LEARNING: [&str; 4] = ["dblk", "hawkeye", "mockingjay", "ship"];

/// Accesses to many lines, of which only those from `first` on say which instruction made them.
fn trace(directory: &TempDir, name: &str, accesses: u64, first: u64) -> String {
    let mut rows = "address,write,ip\n".to_owned();
    for access in 0..accesses {
        let ip = if access < first {
            0
        } else {
            0x400 + access % 7
        };
        let address = access % 10_000 * 64;
        writeln!(rows, "{address},{},{ip}", access % 3 / 2).unwrap();
    }
    let file = file(directory, name);
    std::fs::write(&file, rows).unwrap();
    file
}

/// Checks that every policy that learns by instructions is refused, and which trace is to blame.
fn refused(options: &[&str], trace: &str) {
    for policy in LEARNING {
        // Beside others it is refused as well.
        let policies = format!("lru,{policy},ari");
        let arguments = [&["sim", "llc", "--policy", &policies], options].concat();
        let output = terrace(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{policy}: {said}");
        let sentence = format!(
            "terrace: {policy} learns by the instructions that ask, and {trace} does not say which they were\n"
        );
        assert_eq!(said, sentence);
        assert_eq!(text(&output.stdout), "");
    }
}

#[test]
fn they_need_a_trace_with_instructions() {
    let directory = TempDir::new().unwrap();
    let without = trace(&directory, "without.csv", 1000, 1000);
    let gups = gups(&directory);
    refused(&[&without], &without);
    refused(&[&gups, &without], &without);
    let all = simulate(&["--policy", &LEARNING.join(","), &gups]);
    assert_eq!(all["runs"].as_array().unwrap().len(), LEARNING.len());
    let others = "ari,dip,drrip,fifo,lru,nhm,nru,opt,plru,random,rlr";
    let all = simulate(&["--policy", others, &without]);
    assert_eq!(number(&all, "accesses"), 1000.0);
}

/// The instructions may be said long after the beginning.
#[test]
fn the_whole_trace_is_looked_at() {
    let directory = TempDir::new().unwrap();
    let late = trace(&directory, "late.csv", 150_000, 149_000);
    let found = simulate(&["--policy", "ship", &late]);
    assert_eq!(number(&found, "accesses"), 150e3);
    refused(&["--limit", "149000", &late], &late);
}

/// Requests that were kept have the instructions that the trace had.
#[test]
fn requests_keep_them() {
    let directory = TempDir::new().unwrap();
    let off = ["--l1", "off", "--l2", "off"];
    let kept = |trace: &str| {
        let requests = file(&directory, "requests.parquet");
        simulate(&["--requests", &requests, trace]);
        requests
    };
    let requests = kept(&gups(&directory));
    simulate(&[&off[..], &["--policy", "hawkeye", &requests]].concat());
    let requests = kept(&trace(&directory, "without.csv", 1000, 1000));
    refused(&[&off[..], &[&requests]].concat(), &requests);
}
