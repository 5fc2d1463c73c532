//! `terrace sim`: real traces through the binary, and wrong input.

use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

mod common;
use common::command::{self, generate, terrace, text};
use common::shared_data;

fn simulate(arguments: &[&str]) -> Value {
    command::simulate("pages", arguments)
}

#[test]
fn replacement_policies_take_settings() {
    let directory = tempfile::tempdir().unwrap();
    let options = ["--accesses", "50k", "--footprint", "4M"];
    let zipf = generate(&directory, "zipf", &options);
    let policies = "lru,cflru:window=0.3,cflru,2q:kin=0.5,kout=1";
    let found = simulate(&["--dram", "25%", "--replacement", policies, &zipf]);
    let runs = found["runs"].as_array().unwrap().iter();
    let names: Vec<_> = runs
        .map(|run| run["settings"]["replacement"].as_str())
        .collect();
    let expected = ["lru", "cflru:window=0.3", "cflru", "2q:kin=0.5,kout=1"];
    assert_eq!(names, expected.map(Some));
    let told = terrace(&["explain", "cflru"]);
    assert!(
        text(&told.stdout).contains("window"),
        "{}",
        text(&told.stdout)
    );
}

#[test]
fn a_simulation_says_all_it_found() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "100K", "--footprint", "16M"],
    );
    let found = simulate(&["--dram", "25%", "--memory", "flash", &zipf]);
    assert_eq!(found["schema"], "terrace.sim.pages/1");
    let run = &found["runs"][0];
    let number = |key: &str| {
        run[key]
            .as_f64()
            .unwrap_or_else(|| panic!("{key}: {}", run[key]))
    };
    assert_eq!(number("accesses"), 100e3);
    let footprint = number("footprint_pages");
    assert_eq!(
        run["settings"]["dram_pages"].as_f64().unwrap(),
        (footprint / 4.0).floor()
    );
    let parts = ["first_touches", "full_misses", "partial_misses", "rescues"];
    assert_eq!(number("misses"), parts.map(number).iter().sum::<f64>());
    assert!((number("miss_ratio") - number("misses") / 100e3).abs() < 1e-12);
    assert!(number("slowdown") > 10.0, "{run}");
    assert!((number("time_ns") / number("all_dram_ns") - number("slowdown")).abs() < 1e-9);
    assert!(
        number("writebacks") > 0.0 && number("lifetime_years") > 0.0,
        "{run}"
    );
    // What trace info says of LRU is what the simulation finds.
    let info = terrace(&["trace", "info", "--json=-", &zipf]);
    let info: Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!(
        info["footprint_pages"].as_f64().unwrap_or(footprint),
        footprint
    );
}

/// Same trace, settings and seed: the same bytes out, on any number of processors.
#[test]
fn the_same_bytes_come_out() {
    let directory = TempDir::new().unwrap();
    let gups = generate(
        &directory,
        "gups",
        &["--accesses", "10K", "--footprint", "1M"],
    );
    let run = |threads: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args([
                "sim",
                "pages",
                "--json",
                "--dram",
                "10%,50%",
                "--prefetch",
                "off,stream,readahead",
            ])
            .args(["--replacement", "lru,random,arc", &gups, &gups])
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
    assert_eq!(found["runs"].as_array().unwrap().len(), 18);
}

#[test]
fn a_table_shows_what_differs_and_a_note_what_is_cold() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "20K", "--footprint", "16M"],
    );
    let output = terrace(&[
        "sim",
        "pages",
        "--dram",
        "50%",
        "--inclusion",
        "inclusive,exclusive",
        &zipf,
    ]);
    let table = text(&output.stdout);
    assert!(
        table.contains("| inclusion |") && table.contains("exclusive"),
        "{table}"
    );
    assert!(!table.contains("replacement"), "all have the same: {table}");
    assert!(table.contains("simulated"), "{table}");
    assert!(table.contains("note: "), "{table}");
    let alone = text(&terrace(&["sim", "pages", "--dram", "50%", &zipf]).stdout);
    assert!(alone.contains("where the time went"), "{alone}");
}

#[test]
fn a_block_that_dram_cannot_hold_is_noted() {
    let directory = TempDir::new().unwrap();
    let options = ["--accesses", "20K", "--footprint", "16M"];
    let zipf = generate(&directory, "zipf", &options);
    let warning = |kind: &str, cluster: &str| {
        let readahead = ["--prefetch", kind, "--page-cluster", cluster];
        let found = simulate(&[&["--dram", "100p"], &readahead[..], &[&zipf]].concat());
        found["runs"][0]["warning"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let noted = "readahead reads up to 128 pages at once, and DRAM has 100";
    assert!(warning("readahead:fixed", "7").starts_with(noted));
    // A window of addresses has at most 32 pages.
    for (kind, cluster) in [("readahead:fixed", "6"), ("readahead", "7")] {
        let other = warning(kind, cluster);
        assert!(!other.contains("readahead"), "{other}");
    }
}

#[test]
fn a_technology_of_one_s_own() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "20K", "--footprint", "1M"],
    );
    let file = directory.path().join("mine.toml");
    std::fs::write(
        &file,
        "[mine]\nlike = \"pcm\"\npage_read = { value = \"3us\", source = \"me\" }\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let found = simulate(&[
        "--dram",
        "10p",
        "--memories",
        file,
        "--memory",
        "mine",
        &zipf,
    ]);
    assert_eq!(found["runs"][0]["settings"]["read_ns"], 3000);
    assert_eq!(found["runs"][0]["settings"]["write_ns"], 1500);
}

/// Without a clock the counts are those of a machine whose faults wait for what is written; there
/// are no times.
#[test]
fn counts_alone_are_those_of_a_machine_with_a_clock() {
    let directory = TempDir::new().unwrap();
    let options = ["--accesses", "50K", "--footprint", "8M", "--writes", "30"];
    let zipf = generate(&directory, "zipf", &options);
    let machine = ["--dram", "10%,50%", "--replacement", "lru,s3fifo,linux"];
    let buffer = ["--eviction-buffer", "0", "--memory", "none,pcm", &zipf];
    let found = simulate(&[&machine[..], &buffer].concat());
    let runs = found["runs"].as_array().unwrap();
    let (counted, timed) = runs.split_at(6);
    let counts = ["misses", "full_misses", "evictions", "writebacks", "reads"];
    for (counted, timed) in counted.iter().zip(timed) {
        assert_eq!(counted["settings"]["memory"], "none");
        for name in counts {
            assert_eq!(counted[name], timed[name], "{name}");
        }
        for name in ["time_ns", "slowdown", "lifetime_years", "fault_latency_ns"] {
            assert!(counted[name].is_null() && !timed[name].is_null(), "{name}");
        }
        assert!(counted["times_ns"]["read"].is_null());
    }
    let shown = terrace(&[
        "sim", "pages", "-q", "--dram", "10%", "--memory", "none", &zipf,
    ]);
    let shown = text(&shown.stdout);
    assert!(
        shown.contains("miss ratio") && !shown.contains("slowdown"),
        "{shown}"
    );
}

#[test]
fn wrong_input_has_its_sentence() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "1K", "--footprint", "1M"],
    );
    let empty = directory.path().join("empty.csv");
    std::fs::write(&empty, "address,write\n").unwrap();
    let empty = empty.to_str().unwrap();
    let torn = directory.path().join("torn.parquet");
    let whole = std::fs::read(&zipf).unwrap();
    std::fs::write(&torn, &whole[..whole.len() / 2]).unwrap();
    let torn = torn.to_str().unwrap();
    for (arguments, code, says) in [
        (vec!["--dram", "1M"], 2, "TRACE"),
        (vec![&*zipf], 2, "--dram"),
        (vec!["--dram", "0%", &zipf], 2, "no share of the footprint"),
        (
            vec!["--dram", "1M", "/does/not/exist"],
            1,
            "/does/not/exist",
        ),
        (vec!["--dram", "1M", "/"], 1, "/"),
        (vec!["--dram", "1M", torn], 1, "torn.parquet"),
        (vec!["--dram", "25%", empty], 1, "no access"),
        (vec!["--dram", "1M", "--memory", "cheese", &zipf], 2, "pcm"),
        (vec!["--dram", "1M", "--memory", "fram", &zipf], 2, "fram"),
        (
            vec![
                "--dram",
                "25%",
                "--migration",
                "never",
                "--slow-line",
                "1ns",
                "--staging",
                "5",
                &zipf,
            ],
            2,
            "--staging and --prefetch-cache are parts of DRAM",
        ),
        (
            vec!["--dram", "1M", "--replacement", "best", &zipf],
            2,
            "lru",
        ),
        (
            vec!["--dram", "1M", "--prefetch", "psychic", &zipf],
            2,
            "stream",
        ),
        (
            vec!["--dram", "1M", "--fault-cost", "-5", &zipf],
            2,
            "fault cost",
        ),
        (vec!["--dram", "1M", "--threads", "0", &zipf], 2, "thread"),
        (
            vec!["--dram", "1M", "--channels", "0", &zipf],
            2,
            "channels",
        ),
        (
            vec!["--dram", "1M", "--replacement", "belady", &zipf, &zipf],
            2,
            "future",
        ),
        (
            vec!["--dram", "1M", "--prefetch", "oracle", &zipf, &zipf],
            2,
            "needs one trace",
        ),
        (vec!["--dram", "1000000T", &zipf], 2, "DRAM"),
        (
            vec!["--dram", "1M", "--memory", "none", &zipf, &zipf],
            2,
            "name one trace",
        ),
        (
            vec![
                "--dram",
                "1M",
                "--memory",
                "none",
                "--prefetch",
                "stream",
                &zipf,
            ],
            2,
            "--prefetch needs one",
        ),
    ] {
        let output = terrace(&[&["sim", "pages"], &arguments[..]].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains(says), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    }
}

/// Epochs of a timeline add up to what the result says.
#[test]
fn a_timeline_adds_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (trace, out) = (path("walk.parquet"), path("timeline.csv"));
    let made = terrace(&[
        "trace",
        "gen",
        "sequential",
        "--accesses",
        "300000",
        "--footprint",
        "1M",
        "-o",
        &trace,
    ]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let output = terrace(&[
        "sim",
        "pages",
        "--dram",
        "50%",
        "--prefetch",
        "readahead,stream,oracle",
        "--devices",
        "2",
        "--prefetch-cache",
        "16",
        "--timeline",
        &out,
        "--timeline-epoch",
        "50",
        "--json=-",
        &trace,
    ]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let csv = std::fs::read_to_string(&out).unwrap();
    for (index, prefetch) in ["readahead", "stream", "oracle"].iter().enumerate() {
        let run = &document["runs"][index];
        let number = (index + 1).to_string();
        let rows: Vec<Vec<&str>> = csv
            .lines()
            .map(|line| line.split(',').collect())
            .filter(|row: &Vec<&str>| row[0] == number)
            .collect();
        assert!(
            rows.len() > 1 && rows.iter().all(|row| row[3] == *prefetch),
            "{csv}"
        );
        for (column, name) in [(7, "issued"), (8, "used"), (9, "late"), (10, "wasted")] {
            let sum: u64 = rows
                .iter()
                .map(|row| row[column].parse::<u64>().unwrap())
                .sum();
            assert_eq!(run["prefetch"][name], sum, "{prefetch}: {name}");
        }
        let accuracy = run["prefetch"]["accuracy"].as_f64().unwrap();
        assert!(*prefetch != "oracle" || accuracy > 0.9, "{accuracy}");
        assert!(run["fault_latency_ns"].as_f64().unwrap() > 0.0);
        assert_eq!(run["settings"]["devices"], 2);
    }
}

/// libCacheSim's figures: the whole way from file to figure.
#[test]
#[ignore = "needs the traces of other people; run by make test-data"]
fn shared_data_misses_are_those_of_libcachesim() {
    let trace = shared_data("cloudPhysicsIO.oracleGeneral.bin");
    let ratios = std::fs::read_to_string(shared_data("cloudPhysicsIO.miss-ratios.csv")).unwrap();
    let found = simulate(&[
        "--dram",
        "500p,5000p,20000p",
        "--replacement",
        "lru,fifo,belady",
        // libCacheSim's figures are of objects as units.
        "--keys",
        trace.to_str().unwrap(),
    ]);
    let mut compared = 0;
    for row in ratios.lines() {
        let fields: Vec<_> = row.split(',').collect();
        for run in found["runs"].as_array().unwrap() {
            let settings = &run["settings"];
            if fields[0].to_lowercase() == settings["replacement"].as_str().unwrap()
                && fields[1].parse().ok() == settings["dram_pages"].as_u64()
            {
                assert_eq!(
                    format!("{:.4}", run["miss_ratio"].as_f64().unwrap()),
                    fields[3],
                    "{row}"
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 9);
}
