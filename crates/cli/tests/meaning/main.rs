//! Traces mean what they say: pauses, objects, pages, pipes. Needs no privilege.

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

#[path = "../common/mod.rs"]
mod common;
mod formats;
mod layouts;
mod odd;
mod plots;

use common::command::{file, number, simulate, terrace, text};

/// Two pages, touched over four thousand million instructions: two seconds.
const PAUSES: &str = "instruction,address,op\n0,4096,w\n1000000000,8192,w\n2000000000,8192,w\n\
                      3000000000,8192,w\n4000000000,4096,w\n";

fn written(directory: &TempDir, name: &str, contents: impl AsRef<[u8]>) -> String {
    let path = file(directory, name);
    fs::write(&path, contents).expect("room");
    path
}

fn done(arguments: &[&str]) -> Output {
    let output = terrace(arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    output
}

fn info(arguments: &[&str]) -> Value {
    let output = done(&[&["trace", "info", "-q", "--json=-"], arguments].concat());
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Gives `terrace` something to read on its standard input.
fn given(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.args(arguments).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("terrace runs");
    let mut pipe = child.stdin.take().expect("a pipe");
    let written = pipe.write_all(input);
    drop(pipe);
    let output = child.wait_with_output().expect("terrace ends");
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    written.expect("terrace reads");
    output
}

#[test]
fn a_pause_is_as_long_in_a_coarser_trace() {
    let directory = TempDir::new().unwrap();
    let csv = written(&directory, "g.csv", PAUSES);
    let pages = file(&directory, "g.parquet");
    done(&["trace", "convert", "-q", "--level", "pages", &csv, &pages]);
    for trace in [&csv, &pages] {
        let found = simulate("pages", &["--dram", "1M", trace]);
        let seconds = number(&found["runs"][0], "time_ns") / 1e9;
        assert!((2.0..2.001).contains(&seconds), "{trace}: {seconds}");
    }
}

#[test]
fn any_count_is_taken_and_none_goes_back() {
    let directory = TempDir::new().unwrap();
    let last = written(
        &directory,
        "last.csv",
        format!(
            "instruction,address\n0,4096\n{0},8192\n{0},4096\n",
            u64::MAX
        ),
    );
    let found = simulate("pages", &["--dram", "1M", &last]);
    let years = number(&found["runs"][0], "time_ns") / 1e9 / 86400.0 / 365.25;
    assert!((292.0..293.0).contains(&years), "{years}");
    assert_eq!(info(&[&last])["instructions"], u64::MAX);
    let back = written(
        &directory,
        "back.csv",
        "instruction,address\n9,4096\n3,8192\n",
    );
    for command in [
        &["trace", "info", "-q"][..],
        &["sim", "pages", "-q", "--dram", "1M"],
        &["sim", "llc", "-q"],
    ] {
        let output = terrace(&[command, &[&*back]].concat());
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        let said = text(&output.stderr);
        assert!(
            said.contains("is wrong at its access 1"),
            "{command:?}: {said}"
        );
    }
}

/// Requests for 39 objects of 100 KiB, as libCacheSim has them and as rows with a size.
fn objects(directory: &TempDir) -> (String, String) {
    let ids: Vec<u64> = (0..2000_u64).map(|n| n * n % 1009 % 39).collect();
    let mut records = Vec::new();
    let mut rows = String::from("address,size\n");
    for (index, id) in ids.iter().enumerate() {
        let next = ids[index + 1..].iter().position(|other| other == id);
        let next = next.map_or(-1, |distance| (index + 1 + distance) as i64);
        records.extend((index as u32).to_le_bytes());
        records.extend(id.to_le_bytes());
        records.extend(102_400_u32.to_le_bytes());
        records.extend(next.to_le_bytes());
        rows += &format!("{},102400\n", id * 102_400);
    }
    (
        written(directory, "objects.oracleGeneral", records),
        written(directory, "objects.csv", rows),
    )
}

#[test]
fn objects_have_the_pages_of_their_sizes() {
    let directory = TempDir::new().unwrap();
    let (records, rows) = objects(&directory);
    let same = |what: &str, options: &[&str], key: &str| {
        let of = |trace: &str| {
            let found = simulate(what, &[options, &[trace]].concat());
            number(&found["runs"][0], key)
        };
        assert_eq!(of(&records), of(&rows), "{what} {key}");
        of(&records)
    };
    let hits = same("files", &["-q", "--dram", "1M"], "dram_hit_rate");
    assert!((0.2..0.35).contains(&hits), "{hits}");
    same("pages", &["-q", "--dram", "1M"], "miss_ratio");
    for trace in [&records, &rows] {
        let found = info(&[trace]);
        assert_eq!(
            (&found["accesses"], &found["pages"]),
            (&2000.into(), &975.into())
        );
        assert_eq!(found["read_as"]["bytes_asked"], 2000 * 102_400);
    }
    let curve = |trace: &str| simulate("curve", &["-q", "--dram", "25%", trace])["curves"].clone();
    assert_eq!(curve(&records), curve(&rows));
}

#[test]
fn an_object_is_a_unit_where_that_is_asked() {
    let directory = TempDir::new().unwrap();
    let (records, _) = objects(&directory);
    let units = info(&["--keys", &records]);
    assert_eq!(
        (&units["pages"], &units["page_touches"]),
        (&39.into(), &2000.into())
    );
    // Keys that follow each other lie in a page, as addresses, and not as keys.
    let rows: String = (0..500)
        .map(|n| format!("{},{},9000\n", n, n % 40))
        .collect();
    let keys = written(
        &directory,
        "keys.csv",
        format!("timestamp,key,size\n{rows}"),
    );
    let addresses = written(
        &directory,
        "addresses.csv",
        format!("timestamp,address,size\n{rows}"),
    );
    assert_eq!(info(&[&keys])["pages"], 40 * 3);
    assert_eq!(info(&["--keys", &keys])["pages"], 40);
    assert_eq!(info(&["--keys", &addresses])["pages"], 40);
    assert_eq!(info(&[&addresses])["pages"], 3);
    let read_as = &info(&[&keys])["read_as"];
    assert_eq!(read_as["unit"], "objects");
    assert_eq!(read_as["columns"], serde_json::json!(["key", "size"]));
    assert_eq!(read_as["ignored"], serde_json::json!(["time"]));
}

#[test]
fn no_page_is_lost_in_a_conversion_and_what_is_lost_is_counted() {
    let directory = TempDir::new().unwrap();
    let rows = "address,size,op\n4095,2,w\n4096,8192,r\n8191,4098,r\n";
    let csv = written(&directory, "a.csv", rows);
    let before = info(&[&csv]);
    assert_eq!(before["page_touches"], 7);
    for (name, kept) in [
        ("a.champsim", "sizes of 3"),
        ("a.oracleGeneral", "2 accesses touched"),
    ] {
        let other = file(&directory, name);
        let said = text(&done(&["trace", "convert", &csv, &other]).stderr);
        assert!(
            said.contains("that 3 accesses were to several pages"),
            "{name}: {said}"
        );
        assert!(said.contains(kept), "{name}: {said}");
        let after = info(&[&other]);
        for key in ["pages", "page_touches", "cold", "reuse"] {
            assert_eq!(before[key], after[key], "{name}: {key}");
        }
    }
    let back = file(&directory, "b.csv");
    let said = done(&["trace", "convert", &csv, &back]).stderr;
    assert!(said.is_empty(), "{}", text(&said));
}

#[test]
fn what_comes_through_a_pipe_is_read_as_often_as_needed() {
    let directory = TempDir::new().unwrap();
    let csv = written(&directory, "g.csv", PAUSES);
    let parquet = file(&directory, "g.parquet");
    done(&["trace", "convert", "-q", &csv, &parquet]);
    for trace in [&csv, &parquet] {
        let bytes = fs::read(trace).unwrap();
        for options in [
            &["--dram", "50%"][..],
            &["--dram", "1p", "--replacement", "belady"],
            &["--dram", "1p"],
        ] {
            let command = [&["sim", "pages", "-q", "--json=-"], options, &["-"]].concat();
            let piped: Value = serde_json::from_slice(&given(&command, &bytes).stdout).unwrap();
            let read = simulate("pages", &[&["-q"], options, &[&**trace]].concat());
            assert_eq!(piped["runs"], read["runs"], "{trace} {options:?}");
        }
        let command = ["trace", "convert", "-q", "--to", "csv", "-", "-"];
        let piped = text(&given(&command, &bytes).stdout);
        assert_eq!(piped.lines().count(), 6, "{piped}");
    }
    let output = given(&["sim", "pages", "--dram", "50%", "-"], PAUSES.as_bytes());
    let said = text(&output.stderr);
    assert!(said.contains("`-` is read more than once: its "), "{said}");
}

/// A trace that comes through a pipe is kept only where a level reads it again.
#[test]
fn every_level_takes_what_comes_through_a_pipe() {
    let directory = TempDir::new().unwrap();
    let csv = written(&directory, "g.csv", PAUSES);
    let short = ["--time", "1ms", "--warmup", "0ms"];
    for (level, options, is_kept) in [
        ("pages", &["--dram", "50%"][..], true),
        ("pages", &["--dram", "1p"], false),
        ("llc", &["--policy", "lru"], false),
        ("llc", &["--policy", "lru", &csv], true),
        ("mix", &short, true),
        ("files", &["--dram", "1M"], true),
        (
            "curve",
            &["--replacement", "lru,fifo", "--rate", "1"],
            false,
        ),
    ] {
        let command = [&["sim", level, "--json=-"], options, &["-"]].concat();
        let output = given(&command, PAUSES.as_bytes());
        let said = text(&output.stderr);
        let mut piped: Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut read = simulate(level, &[&["-q"], options, &[&*csv]].concat());
        assert_eq!(
            said.contains("is read more than once"),
            is_kept,
            "{level}: {said}"
        );
        for results in [&mut piped, &mut read] {
            results["traces"].take();
            // Tasks are named by the places of their traces.
            for run in results["runs"].as_array_mut().into_iter().flatten() {
                run["tasks"]
                    .as_array_mut()
                    .into_iter()
                    .flatten()
                    .for_each(|task| {
                        task["trace"].take();
                    });
            }
        }
        assert_eq!(piped, read, "{level}");
    }
}

#[test]
fn each_format_says_what_it_is() {
    for (name, field) in [
        ("csv", "address"),
        ("native", "instruction"),
        ("champsim", "source_memory"),
        ("lackey", "M ADDRESS,SIZE"),
        ("oracle-general", "obj_size"),
        ("caffeine", "INSTRUCTIONS"),
        ("lcs", "with --keys"),
        ("vscsi", "pages of 4 KiB"),
        ("perf", "page of 4 KiB"),
        ("csv", "--columns NAME"),
        ("csv", "time=1,object=2,size=3+4,op=6"),
    ] {
        let told = text(&done(&["explain", name]).stdout);
        assert!(told.contains(field) && told.contains("Example"), "{told}");
    }
}

#[test]
fn policies_say_what_is_open_and_with_what_they_were_compared() {
    for (name, says) in [
        ("sieve", "libCacheSim on its trace cloudPhysicsIO"),
        ("lirs", "within 0.0001"),
        ("arc", "left open"),
        ("ari", "papers/fedorov-2016-ch2"),
        ("static", "not compared"),
        ("stream", "not compared"),
        ("age", "no other program"),
    ] {
        let told = text(&done(&["explain", name]).stdout);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(says), "{name}: {told}");
        assert!(told.contains("compared with"), "{name}: {told}");
    }
    let told = done(&["explain", "lru", "--json"]).stdout;
    let told: Value = serde_json::from_slice(&told).unwrap();
    for entry in told["entries"].as_array().unwrap() {
        assert!(entry["compared"].is_string(), "{entry}");
    }
}
