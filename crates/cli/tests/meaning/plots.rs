//! Plots as vectors.

use std::fs;

use tempfile::TempDir;

use crate::common::command::{file, terrace, text};
use crate::{PAUSES, done, written};

#[test]
fn plots_are_written_as_vectors_with_names_of_ones_own() {
    let directory = TempDir::new().unwrap();
    let trace = file(&directory, "zipf.parquet");
    let settings = [
        "--footprint",
        "1M",
        "--accesses",
        "20000",
        "-q",
        "-o",
        &trace,
    ];
    done(&[&["trace", "gen", "zipf"], &settings[..]].concat());
    let svg = file(&directory, "a.svg");
    let curve = [
        "sim",
        "curve",
        "-q",
        "--replacement",
        "lru,arc",
        "--rate",
        "1",
        &trace,
    ];
    let look = ["--title", "Figure 1", "--label", "lru=LRU", "--svg", &svg];
    done(&[&curve[..], &look].concat());
    let drawn = fs::read_to_string(&svg).unwrap();
    assert!(drawn.starts_with("<svg "), "{drawn}");
    for text in [
        "Figure 1",
        "\nLRU\n",
        "\narc\n",
        "touches of pages that miss",
        "KiB",
    ] {
        assert!(drawn.contains(text), "{text}: {drawn}");
    }
    assert!(!drawn.contains("\nlru\n") && !drawn.contains("Miss ratio over DRAM"));
    let swept = file(&directory, "swept");
    for command in [
        &["sweep", "-q", "--dram", "25%,50%", "-o", &swept][..],
        &["sim", "pages", "-q", "--dram", "25%,50%"],
        &["sim", "files", "-q", "--dram", "64K"],
        &["sim", "llc", "-q"],
        &["trace", "info", "-q"],
    ] {
        let other = file(&directory, "b.svg");
        done(&[command, &[&*trace, "--svg", &other]].concat());
        assert!(
            fs::read_to_string(&other).unwrap().starts_with("<svg "),
            "{command:?}"
        );
        fs::remove_file(&other).unwrap();
    }
    for (options, says) in [
        (
            &["--label", "lfu=x", "--svg", &svg][..],
            "there are lru, arc",
        ),
        (&["--label", "lru", "--svg", &svg], "write SERIES=TEXT"),
        (&["--title", "x"], "--svg"),
    ] {
        let output = terrace(&[&curve[..], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
    let output = terrace(&["list", "--svg", &svg]);
    assert!(text(&output.stderr).contains("have no plot"));
}

#[test]
fn files_show_the_admission_that_was_chosen_and_that_of_all() {
    let directory = TempDir::new().unwrap();
    let trace = written(&directory, "a.csv", PAUSES);
    let shown = |options: &[&str]| {
        let flash = ["--flash-size", "1M"];
        let flash = if options.contains(&"off") {
            &[][..]
        } else {
            &flash
        };
        let command = [
            &["sim", "files", "-q", "--dram", "1M"],
            flash,
            options,
            &[&*trace],
        ]
        .concat();
        text(&done(&command).stdout)
    };
    let own = shown(&[]);
    assert!(own.contains("second-read") && own.contains("all"), "{own}");
    assert_eq!(
        shown(&["--flash-size", "off"]).matches("no flash").count(),
        1
    );
    let one = shown(&["--admission", "all"]);
    assert!(!one.contains("second-read"), "{one}");
}
