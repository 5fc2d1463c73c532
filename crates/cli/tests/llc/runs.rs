//! Traces and programs through the binary.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::command::{file, generate, gups, number, simulate, terrace, text};

#[test]
fn counts_are_the_same_without_a_memory() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let runs = |memory| {
        let options = [
            "--policy",
            "lru,ari,opt",
            "--llc",
            "1M",
            "--warmup",
            "50000",
        ];
        let mut found = simulate(&[&options[..], &["--memory", memory, &gups]].concat());
        let mut runs = found["runs"].take();
        for run in runs.as_array_mut().unwrap() {
            run["memories"] = Value::Null;
            run["mpki"] = Value::Null;
        }
        runs
    };
    let without = runs("none");
    assert_eq!(without, runs("dram"));
    let absent = |run: &Value| number(run, "misses") + number(run, "writeback_misses");
    let policies = without.as_array().unwrap();
    assert!(
        policies
            .iter()
            .all(|run| absent(&policies[2]) <= absent(run))
    );
    let found = simulate(&["--memory", "none", &gups]);
    assert_eq!(found["runs"][0]["memories"], serde_json::json!([]));
    assert_eq!(found["settings"]["memories"], serde_json::json!([]));
}

#[test]
fn what_knows_the_future_takes_no_turns() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let output = terrace(&["sim", "mix", "--policy", "opt", &gups, &gups]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("knows all requests beforehand"), "{said}");
}

#[test]
fn a_simulation_says_all_it_found() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let found = simulate(&[
        "--policy",
        "lru,nhm:n=4,insert=lh",
        "--memory",
        "dram,pcm-row,dram/pcm-row",
        "--llc",
        "1M",
        "--warmup",
        "100000",
        "--epoch",
        "10000",
        &gups,
    ]);
    assert_eq!(found["schema"], "terrace.sim.llc/1");
    assert_eq!(number(&found, "accesses"), 400e3);
    let settings = &found["settings"];
    assert_eq!(number(&settings["l1"], "sets"), 512.0);
    assert_eq!(number(&settings["l2"], "sets"), 512.0);
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2);
    for (run, policy) in runs.iter().zip(["lru", "nhm:n=4,insert=lh"]) {
        assert_eq!(run["policy"], policy);
        let ends = ["hits", "misses", "writeback_misses"].map(|key| number(run, key));
        assert_eq!(ends.iter().sum::<f64>(), number(run, "accesses"));
        assert_eq!(
            number(run, "dirtied") + number(run, "dirty_at_begin"),
            number(run, "writebacks") + number(run, "dirty_at_end"),
        );
        let positions = run["hits_by_position"].as_array().unwrap();
        let hits: f64 = positions.iter().map(|hits| hits.as_f64().unwrap()).sum();
        assert_eq!((positions.len(), hits), (16, number(run, "hits")));
        let epochs = run["epochs"].as_array().unwrap();
        let parts = epochs.iter().map(|epoch| number(epoch, "accesses"));
        assert!(
            parts
                .take(epochs.len() - 1)
                .all(|accesses| accesses == 10e3)
        );
        let sum = |key| -> f64 { epochs.iter().map(|epoch| number(epoch, key)).sum() };
        for key in ["accesses", "misses", "writebacks"] {
            assert_eq!(sum(key), number(run, key) + number(&run["warmup"], key));
        }
        let ends = [
            "hits",
            "misses",
            "bypasses",
            "evictions_clean",
            "evictions_dirty",
        ];
        for (epochs, run) in ends.map(|key| (sum(key), number(run, key))) {
            assert!(epochs >= run);
        }
        let memories = run["memories"].as_array().unwrap();
        for memory in memories {
            assert!(
                number(memory, "time_ns") > 0.0 && number(memory, "ipc") > 0.0,
                "{memory}"
            );
            assert!(number(&memory["energy"], "total") > 0.0, "{memory}");
        }
        assert!(
            number(&memories[0], "ipc") > number(&memories[1], "ipc"),
            "PCM is slower"
        );
        assert!(memories[2]["dram_cache"].is_object(), "{}", memories[2]);
        assert!(number(&memories[1], "lifetime_years") > 0.0);
        assert!(run["warning"].is_null(), "{}", run["warning"]);
    }
}

#[test]
fn a_table_compares_policies_and_warns() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let output = terrace(&[
        "sim",
        "llc",
        "--policy",
        "lru,nhm:n=4",
        "--llc",
        "1M",
        &gups,
    ]);
    let table = text(&output.stdout);
    for part in [
        "simulated",
        "L1 64.0 KiB 2-way",
        "nhm:n=4",
        "behind it dram",
        "+0.0 %",
        "note: the warm-up is too short",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let alone = text(&terrace(&["sim", "llc", "--ways", "4", &gups]).stdout);
    assert!(alone.contains("lines used more recently"), "{alone}");
}

#[test]
fn requests_and_traffic_are_traces() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let (requests, traffic) = (
        file(&directory, "requests.parquet"),
        file(&directory, "traffic.parquet"),
    );
    let direct = simulate(&[
        "--llc",
        "1M",
        "--requests",
        &requests,
        "--traffic",
        &traffic,
        &gups,
    ]);
    let later = simulate(&["--llc", "1M", "--l1", "off", "--l2", "off", &requests]);
    let (direct, later) = (&direct["runs"][0], &later["runs"][0]);
    for key in [
        "accesses",
        "hits",
        "misses",
        "writebacks",
        "loads",
        "stores",
        "hits_by_position",
    ] {
        assert_eq!(direct[key], later[key], "{key}");
    }
    let info = terrace(&["trace", "info", "--json=-", &traffic]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(
        number(&info, "accesses"),
        number(direct, "misses") + number(direct, "writebacks")
    );
    let again = terrace(&["sim", "llc", &requests]);
    assert_eq!(again.status.code(), Some(2));
    assert!(
        text(&again.stderr).contains("--l1 off --l2 off"),
        "{}",
        text(&again.stderr)
    );
}

/// Same traces, settings and seed: the same bytes out, on any number of processors.
#[test]
fn the_same_bytes_come_out() {
    let directory = TempDir::new().unwrap();
    let trace = |kernel, accesses, footprint| {
        let options = ["--accesses", accesses, "--footprint", footprint];
        generate(&directory, kernel, &options)
    };
    let (gups, stencil) = (trace("gups", "120K", "2M"), trace("stencil", "90K", "1M"));
    let run = |threads: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args([
                "sim",
                "llc",
                "--json",
                "-",
                "--policy",
                "lru,random,nru,nhm",
            ])
            .args([
                "--llc",
                "192K,768K",
                "--ways",
                "8,12",
                "--cores",
                "4",
                &gups,
                &stencil,
            ])
            .env("RAYON_NUM_THREADS", threads)
            .output()
            .expect("terrace runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    };
    let one = run("1");
    assert_eq!(one, run("2"));
    assert_eq!(one, run("5"));
    let found: Value = serde_json::from_slice(&one).unwrap();
    assert_eq!(found["runs"].as_array().unwrap().len(), 16);
    assert_eq!(found["settings"]["cores"], 4);
    assert!(number(&found, "accesses") > 210e3, "the shorter began anew");
}

#[test]
fn a_share_of_the_accesses_can_be_the_warm_up() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let found = simulate(&["--warmup", "25%", &gups]);
    assert_eq!(found["settings"]["warmup_accesses"], 100_000);
    let run = &found["runs"][0];
    let share = number(&run["warmup"], "accesses") / number(run, "accesses");
    assert!((0.3..0.4).contains(&share), "{share}");
}

/// A program is recorded and simulated at once; its output and exit code are its own.
#[test]
fn a_program_is_simulated_while_it_runs() {
    crate::common::needs("qemu-x86_64");
    let directory = TempDir::new().unwrap();
    let json = file(&directory, "found.json");
    let program = ["sh", "-c", "echo said; exit 3"];
    let output = terrace(&[&["sim", "llc", "--json", &json, "--"], &program[..]].concat());
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "said\n");
    assert!(
        text(&output.stderr).contains("| lru"),
        "{}",
        text(&output.stderr)
    );
    let found: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(found["program"][2], "echo said; exit 3");
    assert!(number(&found, "accesses") > 10e3 && found["counts_instructions"] == true);
}
