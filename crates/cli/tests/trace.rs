//! `terrace trace`, driven as people drive it. Needs no privilege.

#[path = "common/schema.rs"]
mod schema;

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use schema::checked;

/// One trace for all tests.
const ZIPF: [&str; 11] = [
    "gen",
    "zipf",
    "--exponent",
    "0.8",
    "--footprint",
    "8M",
    "--accesses",
    "100k",
    "--writes",
    "30",
    "-o",
];

/// A directory of files, where `terrace trace` is run.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.arg("trace").args(arguments);
        command.current_dir(self.path());
        command
    }

    fn trace(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("terrace runs")
    }

    /// What it prints when it does as told, saying nothing to people.
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.trace(arguments);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        assert_eq!(error, "", "{arguments:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn info(&self, file: &str) -> Value {
        let text = self.done(&["info", "--json=-", file]);
        checked(serde_json::from_str(&text).expect("JSON"))
    }

    /// Checks that it ends with `code` and one line that has `why` in it.
    fn refused(&self, arguments: &[&str], code: i32, why: &str) {
        let output = self.trace(arguments);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
        assert!(text.contains(why), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let leftovers = fs::read_dir(self.path()).expect("the directory");
        for file in leftovers.flatten().map(|f| f.file_name()) {
            assert!(!file.to_string_lossy().contains("unfinished"), "{file:?}");
        }
    }
}

/// The figures of a trace without the name of its file, its format and what that says of itself.
fn figures(mut info: Value) -> Value {
    for key in ["file", "format", "about", "digest"] {
        info.as_object_mut().expect("an object").remove(key);
    }
    info
}

#[test]
fn generated_looked_at_and_converted() {
    let files = Files::new();
    files.done(&[&ZIPF[..], &["zipf.parquet"]].concat());
    let info = files.info("zipf.parquet");
    assert_eq!(info["schema"], "terrace.trace/1");
    assert_eq!(info["format"], "native");
    assert_eq!(info["accesses"], 100_000);
    assert_eq!(info["instructions"], 2_000_000);
    assert_eq!(info["instruction_addresses"], 2);
    assert_eq!(info["page_touches"], 100_000);
    assert_eq!(info["cold"], info["pages"]);
    let kind = serde_json::json!({"key": "kind", "value": "zipf"});
    assert!(info["about"].as_array().expect("a list").contains(&kind));
    let pages = info["pages"].as_u64().expect("pages");
    assert!((1900..=2048).contains(&pages), "{pages}");
    let writes = info["writes"].as_u64().expect("writes");
    assert!((29_000..31_000).contains(&writes), "{writes}");
    let misses: Vec<u64> = info["lru"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|lru| lru["misses"].as_u64())
        .collect();
    assert!(misses[0] > misses[1] && misses[1] > misses[2] && misses[2] > pages);

    files.done(&["convert", "-q", "zipf.parquet", "copy.csv"]);
    files.done(&["convert", "copy.csv", "again.parquet"]);
    let copy = files.info("copy.csv");
    assert_eq!(info["digest"].as_str().map(str::len), Some(64));
    assert_eq!(copy.get("digest"), None);
    assert_eq!(figures(copy), figures(info.clone()));
    assert_eq!(figures(files.info("again.parquet")), figures(info));
}

#[test]
fn every_kind_makes_the_same_trace_again() {
    let files = Files::new();
    for kind in [
        "sequential",
        "strided",
        "zipf",
        "chase",
        "gups",
        "matmul",
        "stencil",
        "join",
        "bfs",
    ] {
        for name in ["one.parquet", "two.parquet"] {
            let common = ["--footprint", "2M", "--accesses", "20k", "--seed", "9"];
            files.done(&[&["gen", kind][..], &common, &["-o", name]].concat());
        }
        let [one, two] =
            ["one.parquet", "two.parquet"].map(|name| fs::read(files.path().join(name)).unwrap());
        assert!(one == two, "{kind}");
        assert_eq!(files.info("one.parquet")["accesses"], 20_000, "{kind}");
    }
}

#[test]
fn a_part_and_a_coarser_view() {
    let files = Files::new();
    let gen_stencil = ["gen", "stencil", "--footprint", "1M", "--accesses", "60k"];
    files.done(&[&gen_stencil[..], &["-o", "a.parquet"]].concat());
    let convert = |options: &[&str]| {
        files.done(&[&["convert", "a.parquet", "b.parquet"], options].concat());
        files.info("b.parquet")
    };
    let info = files.info("a.parquet");
    assert_eq!(convert(&["--limit", "1k"])["accesses"], 1000);
    assert_eq!(convert(&["--thread", "0"])["accesses"], 60_000);
    let pages = convert(&["--level", "pages"]);
    assert_eq!(pages["pages"], info["pages"]);
    assert!(pages["accesses"].as_u64() < info["accesses"].as_u64());
    // Only touches of the page that was touched before are gone.
    let lru = |info: &Value| info["lru"].as_array().unwrap().clone();
    for (coarse, fine) in lru(&pages).iter().zip(lru(&info)) {
        assert_eq!(coarse["misses"], fine["misses"]);
    }
}

#[test]
fn people_see_a_table_and_bars() {
    let files = Files::new();
    files.done(&[&ZIPF[..], &["zipf.parquet"]].concat());
    let text = files.done(&["info", "zipf.parquet"]);
    for words in [
        "zipf.parquet",
        "- kind",
        "| accesses",
        "100,000",
        "pages of 4 KiB",
        "missed by LRU, 12.5 % in DRAM",
        "first touch",
        "####",
    ] {
        assert!(text.contains(words), "{words} is not in:\n{text}");
    }
}

#[test]
fn traces_that_are_none() {
    let files = Files::new();
    fs::write(files.path().join("empty.parquet"), "").unwrap();
    fs::write(files.path().join("text.parquet"), "This is no trace.\n").unwrap();
    fs::create_dir(files.path().join("directory")).unwrap();
    for (file, why) in [
        ("missing.parquet", "missing.parquet"),
        ("directory", "directory"),
        ("empty.parquet", "empty.parquet"),
        ("text.parquet", "text.parquet"),
    ] {
        files.refused(&["info", file], 1, why);
        files.refused(&["convert", file, "out.parquet"], 1, why);
    }
    assert!(!files.path().join("out.parquet").exists());
    files.refused(&["info"], 2, "FILE is missing");
    let format = ["info", "--format", "magic", "empty.parquet"];
    files.refused(&format, 2, "there are native, champsim");
}

#[test]
fn outputs_that_cannot_be() {
    let files = Files::new();
    fs::create_dir(files.path().join("directory.parquet")).unwrap();
    let to = |name: &str, code, why: &str| {
        let arguments = [&ZIPF[..], &[name]].concat();
        files.refused(&arguments, code, why);
    };
    to("zipf.magic", 2, "names no trace format");
    to("directory.parquet", 2, "is not a regular file");
    to("/no/such/directory/zipf.parquet", 2, "cannot write");
    files.refused(&["gen", "gups"], 2, "--output");
    files.done(&["gen", "gups", "--accesses", "9", "-o", "a.parquet"]);
    let convert = ["convert", "a.parquet", "b.x", "--to", "magic"];
    files.refused(&convert, 2, "there are native, champsim");
    let convert = ["convert", "a.parquet", "b.x", "--to", "lackey"];
    files.refused(&convert, 2, "lackey");
    let convert = ["convert", "a.parquet", "b.parquet", "--level", "words"];
    files.refused(&convert, 2, "there are accesses, lines, pages");
    for limit in ["0", "many", "-1"] {
        let convert = ["convert", "a.parquet", "b.parquet", "--limit", limit];
        files.refused(&convert, 2, "--limit");
    }
}

#[test]
fn an_output_is_replaced_when_it_is_complete() {
    let files = Files::new();
    let make = |accesses| {
        files.done(&["gen", "gups", "--accesses", accesses, "-o", "a.parquet"]);
        files.info("a.parquet")["accesses"].clone()
    };
    assert_eq!(make("10"), 10);
    assert_eq!(make("20"), 20);
}

#[test]
fn absurd_traces_are_not_generated() {
    let files = Files::new();
    for (options, why) in [
        (&["gups", "--footprint", "0"][..], "it is zero"),
        (&["gups", "--footprint", "4"], "too small"),
        (&["gups", "--footprint", "1000P"], "too large"),
        (&["gups", "--accesses", "0"], "ask for more"),
        (&["gups", "--accesses", "x"], "no number"),
        (&["gups", "--seed", "x"], "--seed"),
        (&["zipf", "--exponent", "3"], "no Zipf exponent"),
        (&["zipf", "--exponent", "-1"], "no Zipf exponent"),
        (&["zipf", "--exponent", "nan"], "no Zipf exponent"),
        (&["zipf", "--item", "4"], "too small"),
        (&["zipf", "--writes", "101"], "--writes"),
        (&["strided", "--stride", "1G"], "longer than the footprint"),
        (&["chase", "--node", "4"], "holds no pointer"),
        (&["matmul", "--block", "0"], "a block of 0 rows"),
        (&["join", "--probes", "0"], "no join to try"),
        (&["join", "--footprint", "100G"], "too large"),
        (&["bfs", "--degree", "0"], "no graph to search"),
        (&["bfs", "--footprint", "100G"], "too large"),
        (&["magic"], "`magic` is no command"),
    ] {
        let arguments = [&["gen"], options, &["-o", "a.parquet"]].concat();
        files.refused(&arguments, 2, why);
    }
    assert_eq!(fs::read_dir(files.path()).unwrap().count(), 0);
}

#[test]
fn help_teaches() {
    let files = Files::new();
    for (arguments, words) in [
        (&["--help"][..], &["info", "convert", "gen"][..]),
        (&["info", "--help"], &["Examples:", "lackey", "LRU"]),
        (&["convert", "--help"], &["Examples:", "--level", "one row"]),
        (&["gen", "--help"], &["Examples:", "matmul", "hash join"]),
        (&["gen", "zipf", "--help"], &["--exponent", "--in-order"]),
    ] {
        let text = files.done(arguments);
        for word in words {
            assert!(text.contains(word), "{word} is not in:\n{text}");
        }
    }
}

/// A reader that stops after the first lines is no error.
#[test]
fn a_closed_pipe_is_no_failure() {
    let files = Files::new();
    files.done(&["gen", "gups", "--accesses", "1000", "-o", "a.parquet"]);
    let mut child = files
        .command(&["info", "a.parquet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("terrace runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
