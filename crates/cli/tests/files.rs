//! `terrace sim files`: requests through the binary, and wrong input.

use tempfile::TempDir;

mod common;
use common::command::{self, generate, number, terrace, text};

#[test]
fn flash_saves_reads_of_postmark_and_slower_flash_less() {
    let directory = TempDir::new().unwrap();
    let small = [
        "--least",
        "40000",
        "--most",
        "80000",
        "--footprint",
        "16M",
        "--transactions",
        "2000",
    ];
    let trace = generate(&directory, "postmark", &small);
    let options = [
        "--dram",
        "2M",
        "--flash-size",
        "off,8M",
        "--memory",
        "dram",
        "--admission",
        "all",
        "--flash-slow-down",
        "1,1000",
        "--writes",
        "back",
        &trace,
    ];
    let found = command::simulate("files", &options);
    assert_eq!(found["schema"], "terrace.sim.files/1");
    let runs = found["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4, "flash of each size at each factor");
    let rate = |at: usize| number(&runs[at], "read_rate");
    assert_eq!(rate(0), rate(1), "no flash is not slowed down");
    assert!(rate(2) > 1.2 * rate(0), "{} {}", rate(2), rate(0));
    assert!(rate(3) < rate(2));
    assert!(number(&runs[2], "flash_hit_rate") > 0.2);
    assert!(runs[2]["timeline"].as_array().unwrap().len() > 100);
    let table = terrace(&[&["sim", "files"][..], &options].concat());
    let table = text(&table.stdout);
    assert!(
        table.contains("flash 8.00 MiB, flash slow down 1000"),
        "{table}"
    );
}

#[test]
fn a_budget_is_kept() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "100K", "--footprint", "16M"],
    );
    let found = command::simulate(
        "files",
        &[
            "--dram",
            "1M",
            "--flash-size",
            "8M",
            "--interval",
            "2s",
            "--budget",
            "2M",
            &zipf,
        ],
    );
    let run = &found["runs"][0];
    let day = number(run, "busiest_day_bytes");
    assert!(day <= 1.05 * f64::from(2 << 20), "{day}");
    assert!(number(run, "lifetime_years") > 100.0);
}

/// Files are read as a whole by requests of 128 KiB: windows save requests, and end with files.
#[test]
fn postmark_is_read_ahead_to_the_end_of_its_files() {
    let directory = TempDir::new().unwrap();
    let small = [
        "--least",
        "100000",
        "--most",
        "400000",
        "--footprint",
        "32M",
        "--transactions",
        "1000",
    ];
    let trace = generate(&directory, "postmark", &small);
    let options = ["--dram", "4M", "--readahead", "off,128K", &trace];
    let found = command::simulate("files", &options);
    let runs = found["runs"].as_array().unwrap();
    let [off, on] = [0, 1].map(|at| move |name: &str| number(&runs[at], name));
    assert_eq!((off("ahead"), on("reads")), (0.0, off("reads")));
    assert_eq!(off("disk_requests"), off("disk_reads"));
    assert!(on("disk_requests") < off("disk_requests") / 10.0);
    assert!(on("ahead_used") > 1000.0);
    assert!(on("unused_rate") < 0.01, "{}", on("unused_rate"));
    let table = terrace(&[&["sim", "files"][..], &options].concat());
    let table = text(&table.stdout);
    assert!(table.contains("disk requests"), "{table}");
    assert!(table.contains("readahead 128 KiB"), "{table}");
}

#[test]
fn wrong_input_is_one_sentence() {
    let directory = TempDir::new().unwrap();
    let zipf = generate(
        &directory,
        "zipf",
        &["--accesses", "1K", "--footprint", "1M"],
    );
    for (options, why) in [
        (&["--dram", "1K"][..], "a level has from 1"),
        (&["--dram", "1"], "`1` is 1 B: 1M?"),
        (
            &["--dram", "1M", "--admission", "some"],
            "there is no admission policy `some`",
        ),
        (&["--dram", "1M", "--admission", "all+all"], "named twice"),
        (
            &["--dram", "1M", "--replacement", "belady"],
            "needs to know the future",
        ),
        (
            &["--dram", "1M", "--flash-replacement", "belady"],
            "needs to know the future",
        ),
        (
            &["--dram", "1M", "--flash-slow-down", "-1"],
            "is no slow-down",
        ),
        (
            &["--dram", "1M", "--flash-size", "1M", "--budget", "1"],
            "bytes-per-day=1",
        ),
        (
            &["--dram", "1M", "--memory", "magic"],
            "there is no technology `magic`",
        ),
        (
            &["--dram", "1M", "--interval", "2000000s"],
            "longer than a day",
        ),
        (
            &["--dram", "1M", "--readahead", "1K"],
            "`1K` is less than a page",
        ),
        (
            &["--dram", "1M", "--flash-size", "8000000G"],
            "a level has from 1",
        ),
    ] {
        let output = terrace(&[&["sim", "files"], options, &[&*zipf]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {error}");
        assert!(error.contains(why), "{options:?}: {error}");
    }
}
