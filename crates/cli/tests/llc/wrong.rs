//! Wrong input: each has its sentence, and an exit code that says whose fault it is.

use tempfile::TempDir;

use crate::command::{file, gups, simulate, terrace, text};

#[test]
fn wrong_input_has_its_sentence() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let empty = file(&directory, "empty.csv");
    std::fs::write(&empty, "address,write\n").unwrap();
    let odd = file(&directory, "odd.csv");
    std::fs::write(&odd, "address,write\n36028797018963968,0\n").unwrap();
    let endless = file(&directory, "endless.csv");
    let rows = "instruction,address,thread\n0,0,0\n18446744073709551615,64,0\n1,0,1\n";
    std::fs::write(&endless, rows).unwrap();
    let prose = file(&directory, "prose.txt");
    std::fs::write(&prose, "It was a dark and stormy night.\n").unwrap();
    let folder = directory.path().display().to_string();
    let (out, nowhere) = (
        file(&directory, "out.parquet"),
        file(&directory, "no/where.json"),
    );
    for (arguments, code, says) in [
        (vec![], 2, "TRACE"),
        (
            vec![&*gups, "--", "true"],
            2,
            "TRACE and PROGRAM exclude each other",
        ),
        (vec!["--policy", "best", &gups], 2, "lru"),
        (vec!["--policy", "nhm:n=17", &gups], 2, "from 0 to 16"),
        (vec!["--policy", "lru:n=2", &gups], 2, "no setting"),
        (vec!["--memory", "cheese", &gups], 2, "pcm"),
        (vec!["--memory", "flash", &gups], 2, "line_read"),
        (vec!["--memory", "dram/cheese", &gups], 2, "pcm"),
        (vec!["--ways", "0", &gups], 2, "1 to 64"),
        (vec!["--llc", "1000", &gups], 2, "whole number of sets"),
        (vec!["--l1", "64K:3:4", &gups], 2, "256K:8"),
        (vec!["--line", "48", &gups], 2, "power of two"),
        (vec!["--cores", "3", &gups, &gups], 2, "multiple of 2"),
        (vec!["--warmup", "x", &gups], 2, "10%"),
        (vec!["--epoch", "100", &gups], 2, "--json"),
        (
            vec!["--traffic", &out, "--policy", "lru,nru", &gups],
            2,
            "one policy",
        ),
        (
            vec!["--prefetch", "next-line", "--l1", "off", &gups],
            2,
            "--prefetch next-line reads into the second level",
        ),
        (
            vec!["--inclusion", "inclusive", "--policy", "lru,nru", &gups],
            2,
            "one policy and one size",
        ),
        (
            vec!["--inclusion", "inclusive", "--policy", "dblk", &gups],
            2,
            "bypass=off",
        ),
        (
            vec!["--inclusion", "exclusive", "--policy", "lru,density", &gups],
            2,
            "density learns from lines that stay",
        ),
        (
            vec![
                "--inclusion",
                "exclusive",
                "--l1",
                "off",
                "--l2",
                "off",
                &gups,
            ],
            2,
            "--inclusion exclusive is about private levels",
        ),
        (
            vec!["--inclusion", "exclusive", "--write-back", "eager", &gups],
            2,
            "--write-back eager is not simulated",
        ),
        (
            vec!["--inclusion", "exclusive", "--cores", "2", &gups],
            2,
            "give --cores as many as traces",
        ),
        (
            vec![
                "--inclusion",
                "exclusive",
                "--requests",
                "asked.parquet",
                &gups,
            ],
            2,
            "leave --requests or --inclusion exclusive out",
        ),
        (
            vec!["--write-back", "rows", "--memory", "none", &gups],
            2,
            "--write-back rows depends on the memory",
        ),
        (
            vec!["--write-back", "eager", "--policy", "lru,nru", &gups],
            2,
            "nru does not tell which these are",
        ),
        (
            vec!["--write-back", "rows", "--write-buffer", "1", &gups],
            2,
            "--write-buffer 2 or more",
        ),
        (vec!["--requests", "out.txt", &gups], 2, "format"),
        (vec!["--json", &nowhere, &gups], 2, "no directory for it"),
        (
            vec!["--warmup", "10%", "--", "true"],
            2,
            "number of requests",
        ),
        (vec!["/does/not/exist"], 1, "/does/not/exist"),
        (vec![&*empty], 1, "no access"),
        (vec![&*odd], 2, "no address of a processor"),
        (vec!["--", "/does/not/exist"], 2, "/does/not/exist"),
        (vec!["--", "/tmp"], 2, "is a directory"),
        (vec![env!("CARGO_BIN_EXE_terrace")], 2, "behind --"),
        (vec!["--ways", "-1", &gups], 2, "--ways"),
        (vec!["--ways", "65", &gups], 2, "65 ways"),
        (vec!["--seed", "-1", &gups], 2, "--seed"),
        (vec!["--llc", "0", &gups], 2, "it is zero"),
        (vec!["--llc", "1T", &gups], 2, "too large"),
        (vec!["--l2", "0:8", &gups], 2, "it is zero"),
        (vec!["--l1", "64K:0", &gups], 2, "0 ways"),
        (
            vec!["--memory", "dram/pcm-row", "--dram-cache", "1T", &gups],
            2,
            "too large",
        ),
        (
            vec!["--memory-size", "1M", &gups],
            2,
            "smaller than the last level of 2.00 MiB",
        ),
        (vec!["--line", "0", &gups], 2, "power of two"),
        (vec!["--cores", "0", &gups], 2, "--cores"),
        (vec!["--epoch", "0", "--json", "-", &gups], 2, "--epoch"),
        (vec!["--limit", "0", &gups], 2, "--limit"),
        (vec!["--policy", "", &gups], 2, "no policy"),
        (vec!["--pages", "best", &gups], 2, "coloured"),
        (vec!["--pages", "jit:memory=1M", &gups], 2, "more pages"),
        (
            vec!["--pages", "coloured:shares=16/16", &gups],
            2,
            "a share for each",
        ),
        (vec!["--flush-ip", "401136", &gups], 2, "0x401136"),
        (vec!["--flush-ip", "0x1,off", &gups], 2, "for 1 traces"),
        (vec!["--flush", "clean", &gups], 2, "clwb"),
        (vec!["--format", "csv", &gups], 1, "wrong at offset 0"),
        (vec![&*endless], 2, "more instructions"),
        (vec![&*prose], 2, "format of the trace"),
        (vec![&*folder], 1, "directory"),
    ] {
        refused(&arguments, code, says);
    }
}

/// Checks that it ends with this code and one sentence that has `says` in it.
fn refused(arguments: &[&str], code: i32, says: &str) {
    let output = terrace(&[&["sim", "llc"], arguments].concat());
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(said.contains(says), "{arguments:?}: {said}");
    assert!(!said.contains("panicked"), "{arguments:?}: {said}");
    assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
    assert_eq!(text(&output.stdout), "", "{arguments:?}");
}

#[test]
fn what_is_read_is_not_overwritten() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let before = std::fs::read(&gups).unwrap();
    for option in ["--json", "--requests", "--traffic"] {
        refused(&[option, &gups, &gups], 2, "would overwrite");
        let other_way = file(&directory, "./gups.parquet");
        refused(&[option, &other_way, &gups], 2, "would overwrite");
    }
    assert_eq!(std::fs::read(&gups).unwrap(), before);
    let out = file(&directory, "out.parquet");
    let both = ["--requests", &out, "--traffic", &out, &gups];
    refused(&both, 2, "--requests names");
}

/// Where a row stands for many accesses, nothing is known of the lines of the others.
#[test]
fn traces_of_pages_are_refused() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let convert = |name: &str, options: &[&str]| {
        let out = file(&directory, name);
        let output = terrace(&[&["trace", "convert", "-q", &gups, &out], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        out
    };
    let pages = convert("pages.parquet", &["--level", "pages"]);
    refused(&[&pages], 2, "terrace sim pages");
    let objects = convert("objects.oracleGeneral", &[]);
    refused(&[&objects], 2, "terrace sim pages");
    let lines = convert("lines.parquet", &["--level", "lines"]);
    refused(&["--line", "32", &lines], 2, "--line 64");
    assert!(terrace(&["sim", "llc", &lines]).status.success());
}

/// A trace of requests knows what made it.
#[test]
fn requests_are_simulated_as_they_were_made() {
    let directory = TempDir::new().unwrap();
    let gups = gups(&directory);
    let requests = file(&directory, "requests.parquet");
    let made = ["--cores", "4", "--line", "32", "--requests", &requests];
    let direct = simulate(&[&made[..], &[&gups, &gups]].concat());
    let off = ["--l1", "off", "--l2", "off"];
    let later = simulate(&[&off[..], &["--line", "32", &requests]].concat());
    assert_eq!(later["settings"]["cores"], 4);
    let (direct, later) = (&direct["runs"][0], &later["runs"][0]);
    for key in ["llc", "accesses", "hits", "misses", "writebacks"] {
        assert_eq!(direct[key], later[key], "{key}");
    }
    refused(&[&off[..], &[&requests]].concat(), 2, "--line 32");
    let cores = ["--line", "32", "--cores", "2", &requests];
    refused(&[&off[..], &cores].concat(), 2, "--cores 4");
    let others = ["--line", "32", &requests, &gups];
    refused(&[&off[..], &others].concat(), 2, "be mixed");
}
