//! The simulator and extended memory agree: the same program, the same DRAM, the same replacement.
//! Needs `cc`, `qemu-x86_64`, and root for userfaultfd.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use terrace_policy::write::REGISTRY;

mod common;
use common::needs;
use common::schema::checked;

/// The largest difference, of the larger of two figures.
const NEAR: f64 = 0.05;

/// Touches a large block in all ways that matter to a write scheme, half of the time a fifth of it.
/// What the program holds beside it is small, and stays in DRAM.
const PROGRAM: &str = r#"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 3000, ROUNDS = 15000 };
static unsigned long state = 1;
static unsigned long next(unsigned long below) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (state >> 33) % below;
}
int main(int argc, char **argv) {
    char *block = aligned_alloc(PAGE, PAGES * PAGE), copy[PAGE];
    int self = open(argv[0], O_RDONLY);
    long sum = 0;
    // The last sixth is read alone, and stays zeros.
    for (long p = 0; p < PAGES; p++) {
        char *page = block + p * PAGE;
        if (p >= PAGES * 5 / 6) sum += page[7];
        else for (int i = 0; i < PAGE; i += 8) *(long *)(page + i) = p % 3 ? (long)next(1ul << 30) * next(1ul << 30) : p;
    }
    for (long round = 0; round < ROUNDS; round++) {
        long number = next(PAGES / (round % 2 ? 1 : 5));
        char *page = block + number * PAGE;
        if (number >= PAGES * 5 / 6) { sum += page[round % PAGE]; continue; }
        switch (next(7)) {
        case 0: sum += page[next(PAGE)]; break;
        case 1: *(long *)(page + next(PAGE / 8) * 8) = round; break;
        case 2: memcpy(copy, page, PAGE); memcpy(page, copy, PAGE); break;
        case 3: memset(page, 0, PAGE); break;
        case 4: memset(page, round, PAGE); break;
        case 5: for (int i = 0; i < PAGE; i += 8) *(long *)(page + i) = next(1ul << 30); break;
        case 6: if (pread(self, page, 1000, next(8000)) < 0) return 9; page[0]++; break;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Frees and allocates small blocks at random, and reads and writes them, most of them of the first
/// fifth. The table of blocks is static, and stays in DRAM.
const SMALL: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 60000, ROUNDS = 40000 };
static unsigned long state = 1;
static long *blocks[BLOCKS];
static unsigned long next(unsigned long below) {
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (state >> 33) % below;
}
static long *block(void) {
    long bytes = 16 + 16 * next(15), *made = malloc(bytes);
    memset(made, bytes, bytes);
    return made;
}
int main(void) {
    long sum = 0;
    for (long b = 0; b < BLOCKS; b++) blocks[b] = block();
    for (long round = 0; round < ROUNDS; round++) {
        long number = next(BLOCKS / (round % 4 ? 5 : 1));
        switch (next(3)) {
        case 0: sum += blocks[number][1]; break;
        case 1: blocks[number][1] = round; break;
        case 2: free(blocks[number]); blocks[number] = block(); break;
        }
    }
    printf("%ld\n", sum);
    return 0;
}
"#;

/// Runs terrace in a directory, with results in a file; returns these.
fn results(directory: &Path, arguments: &[&str], program: &[&str]) -> Value {
    let json = directory.join("results.json");
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"));
    terrace.current_dir(directory).args(arguments);
    terrace.arg("--json").arg(&json).args(program);
    let output = terrace.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    checked(serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap())
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("no number: {value}"))
}

/// A directory with a compiled program.
fn compiled(source: &str) -> TempDir {
    ["cc", "qemu-x86_64"].into_iter().for_each(needs);
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("program.c"), source).unwrap();
    let mut cc = Command::new("cc");
    cc.current_dir(directory.path());
    cc.args(["-O1", "-o", "program", "program.c"]);
    assert!(cc.status().unwrap().success());
    directory
}

/// Records the program with these options as trace.parquet.
fn record(directory: &Path, options: &[&str]) -> Output {
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"));
    terrace.current_dir(directory);
    terrace.args(["record", "-q", "-o", "trace.parquet"]);
    terrace.args(options).args(["--", "./program"]);
    terrace.output().unwrap()
}

#[test]
fn what_is_extended_is_recorded_and_nothing_else() {
    let directory = compiled(PROGRAM);
    let directory = directory.path();
    let recorded = record(directory, &["--extended", "--level", "pages"]);
    assert!(recorded.status.success(), "{recorded:?}");
    let simulation = ["sim", "pages", "-q", "--dram", "25%", "trace.parquet"];
    let simulated = results(directory, &simulation, &[]);
    let footprint = number(&simulated["runs"][0]["footprint_pages"]);
    // The C library's page before the block is in its mapping.
    assert!((3000.0..=3002.0).contains(&footprint), "{footprint}");

    let refused = record(directory, &["--extended", "--filter", "l1l2"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("give only one of them"), "{said}");
    let refused = record(directory, &["--small-blocks"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{said}");
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn a_simulation_of_what_is_extended_is_what_extended_memory_does() {
    agree(PROGRAM, &[], 0, &["600p", "1500p"]);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn so_is_one_of_small_blocks() {
    // The first part of the heap, 4 MiB, is extended when there is a second, and all of it is in
    // DRAM then.
    agree(SMALL, &["--small-blocks"], 1024, &["800p", "1600p"]);
}

/// Compares a simulation of what a program has extended with what extended memory does, with these
/// options of both. So many pages are touched before they are extended, and are first touches in
/// the simulation alone.
fn agree(source: &str, options: &[&str], before: u64, shares: &[&str]) {
    let directory = compiled(source);
    let directory = directory.path();
    let recorded = record(
        directory,
        &[&["--extended", "--contents"], options].concat(),
    );
    assert!(recorded.status.success(), "{recorded:?}");
    for dram in shares {
        let schemes: Vec<&str> = REGISTRY.iter().map(|entry| entry.name).collect();
        let extension = [
            "extend",
            "-q",
            "--dram",
            dram,
            "--replacement",
            "fifo",
            "--prefetch",
            "off",
        ];
        let program = [options, &["--", "./program"]].concat();
        let extended = results(directory, &extension, &program);
        let measured = &extended["measured"];
        let staging = extended["settings"]["staging_pages"].to_string();
        let simulation = [
            "sim",
            "pages",
            "-q",
            "--dram",
            dram,
            "--replacement",
            "fifo",
            "--staging",
            &staging,
        ];
        let writes = [
            "--unwritten",
            "zeros",
            "--levelling",
            "none",
            "--write",
            &schemes.join(","),
            "trace.parquet",
        ];
        let simulated = results(directory, &[&simulation[..], &writes].concat(), &[]);
        let simulated = &simulated["runs"][0];

        let mut differences = Vec::new();
        let mut compare = |what: &str, simulated: f64, measured: f64| {
            eprintln!("{dram} {what}: simulated {simulated}, measured {measured}");
            let difference = (simulated - measured).abs() / simulated.max(measured).max(1.0);
            if difference > NEAR {
                differences.push(format!(
                    "{what}: simulated {simulated}, measured {measured}"
                ));
            }
        };
        // A page that was never written and has left is fetched in the simulation, whose machine
        // does not look at contents; extended memory fills it with zeros once more.
        let faults =
            |of: &Value, fetches: &str| number(&of["first_touches"]) + number(&of[fetches]);
        compare(
            "faults",
            faults(simulated, "full_misses") - before as f64,
            faults(measured, "fetches"),
        );
        for (entry, measured) in REGISTRY.iter().zip(extended["schemes"].as_array().unwrap()) {
            assert_eq!(measured["scheme"], entry.name);
            let rows = simulated["schemes"].as_array().unwrap();
            let row = rows.iter().find(|row| row["name"] == entry.name).unwrap();
            compare(
                entry.name,
                number(&row["bytes"]),
                number(&measured["bytes"]),
            );
        }
        assert!(differences.is_empty(), "--dram {dram}: {differences:#?}");
    }
}
