//! `terrace record --allocations` and `terrace place` with real programs. Needs `qemu-x86_64` and
//! `cc`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use terrace_trace::allocation::{Allocations, Call, Object, Site};
use terrace_trace::{Access, Block, Columns};

mod common;
use common::needs;
use common::schema::checked;

/// A program with a table of 384 KiB that is read at random and a log of 1 MiB that is written
/// once, both from `fill`, and four blocks of 40 KiB that live one after the other.
const PROGRAM: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define TABLE (384 << 10)
#define LOG (1 << 20)
#define BLOCK (40 << 10)

static char *fill(size_t bytes) {
    char *made = malloc(bytes);
    memset(made, 1, bytes);
    return made;
}

int main(void) {
    char *table = fill(TABLE);
    char *log = fill(LOG);
    printf(\"%lx\\n\", (long)table);
    unsigned long state = 1, sum = 0;
    for (long i = 0; i < 60000; i++) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        sum += table[(state >> 33) % TABLE];
        sum += log[i * 16 % LOG];
    }
    for (int i = 0; i < 4; i++) {
        volatile char *block = calloc(1, BLOCK);
        for (long at = 0; at < BLOCK; at += 64) block[at] = sum;
        free((void *)block);
    }
    free(table);
    return sum == 1;
}
";

struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        for program in ["qemu-x86_64", "cc"] {
            needs(program);
        }
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Compiles a program in a folder of its own, as other builds would.
    fn program(&self, folder: &str, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let folder = self.path(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("table.c");
        std::fs::write(&file, source).unwrap();
        let program = folder.join(name);
        let cc = Command::new("cc")
            .args(options)
            .arg("-o")
            .args([&program, &file])
            .output();
        let cc = cc.unwrap();
        assert!(
            cc.status.success(),
            "{}",
            String::from_utf8_lossy(&cc.stderr)
        );
        program
    }

    /// Records a program, and returns what it printed.
    fn record(&self, options: &[&str], program: &Path, trace: &str) -> String {
        let mut command = terrace(&["record", "--quiet", "-o", &self.text(trace)]);
        let output = command
            .args(options)
            .arg("--")
            .arg(program)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    }

    fn place(&self, trace: &str, options: &[&str]) -> Output {
        let mut command = terrace(&["place", "--quiet", &self.text(trace)]);
        command.args(options).output().unwrap()
    }

    fn placed(&self, trace: &str, options: &[&str]) -> Value {
        let output = self.place(trace, &[options, &["--json=-"]].concat());
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        checked(serde_json::from_slice(&output.stdout).expect("JSON"))
    }

    fn rows(&self, trace: &str) -> (Vec<Access>, Arc<Allocations>) {
        let mut source = terrace_trace::open(&self.path(trace), Columns::ALL).unwrap();
        let allocations = source.meta().allocations.clone().expect("allocations");
        let (mut block, mut rows) = (Block::default(), Vec::new());
        while source.next_block(&mut block).unwrap() {
            rows.extend(block.iter());
        }
        (rows, allocations)
    }
}

fn terrace(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.args(arguments);
    command
}

fn objects_of(allocations: &Allocations, wanted: impl Fn(&Site) -> bool) -> Vec<Object> {
    let of = |object: &&Object| wanted(&allocations.sites[object.site as usize]);
    allocations.objects.iter().filter(of).copied().collect()
}

/// Whether a call of the site is in this function, and one on this line of the source.
fn is_at(site: &Site, function: &str, wanted: &str) -> bool {
    let line = PROGRAM
        .lines()
        .position(|line| line.contains(wanted))
        .unwrap()
        + 1;
    let names = site.names();
    let place = format!("(table.c:{line})");
    names.iter().any(|name| name.contains(function))
        && names.iter().any(|name| name.ends_with(&place))
}

#[test]
fn objects_have_sites_and_lifetimes() {
    let bench = Bench::new();
    let program = bench.program("a", "table", PROGRAM, &["-g", "-O1"]);
    let printed = bench.record(&["--allocations"], &program, "a.parquet");
    let (rows, allocations) = bench.rows("a.parquet");
    let table = objects_of(&allocations, |site| is_at(site, "fill", "fill(TABLE)"));
    let [table] = table[..] else {
        panic!("one table: {allocations:?}")
    };
    assert_eq!(
        (table.bytes, format!("{:x}\n", table.address)),
        (384 << 10, printed)
    );
    let log = objects_of(&allocations, |site| is_at(site, "fill", "fill(LOG)"));
    assert_eq!((log.len(), log[0].bytes, log[0].ended), (1, 1 << 20, None));
    let blocks = objects_of(&allocations, |site| is_at(site, "main", "calloc"));
    assert_eq!(blocks.len(), 4);
    let in_turn = blocks
        .windows(2)
        .all(|two| two[0].ended.is_some_and(|ended| ended <= two[1].began));
    assert!(in_turn, "{blocks:?}");

    // All accesses to the table lie in its life, but for what the allocator does before and after.
    let touched: Vec<u64> = (rows.iter().enumerate())
        .filter(|(_, row)| (table.address..table.address + table.bytes).contains(&row.address))
        .map(|(row, _)| row as u64)
        .collect();
    let life = table.began..table.ended.expect("it is freed");
    assert!(touched.len() > 60_000, "{}", touched.len());
    assert!(
        touched.iter().all(|row| life.contains(row)),
        "{life:?}: {:?}",
        touched.last()
    );
}

/// What the library does to tell is no access of the program: a stack by itself is thousands of
/// accesses.
#[test]
fn telling_is_not_recorded() {
    let bench = Bench::new();
    // Linked at its start: it does not look for `memset` in between.
    let program = bench.program("a", "table", PROGRAM, &["-g", "-O1", "-Wl,-z,now"]);
    bench.record(&["--allocations"], &program, "a.parquet");
    let (recorded, allocations) = bench.rows("a.parquet");
    let table = allocations
        .objects
        .iter()
        .find(|object| object.bytes == 384 << 10);
    let table = table.expect("the table");
    let next = &recorded[table.began as usize..][..300];
    let own = |row: &Access| (table.address..table.address + table.bytes).contains(&row.address);
    assert!(next.iter().any(own), "the program goes on soon: {next:?}");
}

#[test]
fn the_table_belongs_in_fast_memory() {
    let bench = Bench::new();
    let program = bench.program("a", "table", PROGRAM, &["-g", "-O1"]);
    bench.record(&["--allocations"], &program, "a.parquet");
    let options = [
        "--fast",
        "512K",
        "--llc",
        "128K",
        "--search",
        "climb",
        "-o",
        &bench.text("a.toml"),
    ];
    let placed = bench.placed("a.parquet", &options);
    let first = &placed["sites"][0];
    assert_eq!(
        (&first["rank"], &first["bytes"]),
        (&Value::from(1), &Value::from(384 << 10)),
        "{placed}"
    );
    let name = first["name"].as_str().unwrap();
    assert!(name.starts_with("fill (table.c:"), "{name}");
    let time = |of: &Value| of.as_u64().unwrap();
    let (slow, fast) = (
        time(&placed["times"]["all_slow_ns"]),
        time(&placed["times"]["all_fast_ns"]),
    );
    let climbed = time(&placed["searches"][0]["time_ns"]);
    assert!(fast < climbed && climbed < slow, "{placed}");

    // The paper's way, a simulation of the program for each trial, ends at the same placement.
    let runs = bench.placed(
        "a.parquet",
        &["--fast", "512K", "--llc", "128K", "--search", "runs"],
    );
    assert_eq!(runs["searches"][0]["name"], "runs");
    assert_eq!(
        runs["searches"][0]["time_ns"],
        placed["searches"][0]["time_ns"]
    );
    let ranks = |of: &Value| {
        of["sites"]
            .as_array()
            .unwrap()
            .iter()
            .map(|site| site["rank"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(ranks(&runs), ranks(&placed));

    let text = bench.place("a.parquet", &["--fast", "512K", "--llc", "128K"]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("| fill (table.c:")
            && text.contains(" by main (table.c:")
            && text.contains("all fast"),
        "{text}"
    );
}

#[test]
fn a_placement_holds_for_other_builds_and_not_for_other_programs() {
    let bench = Bench::new();
    let program = bench.program("a", "table", PROGRAM, &["-g", "-O1"]);
    bench.record(&["--allocations"], &program, "a.parquet");
    let file = bench.text("a.toml");
    bench.placed("a.parquet", &["--fast", "2M", "--llc", "128K", "-o", &file]);
    let tried =
        |trace: &str| bench.placed(trace, &["--llc", "128K", "--try", &file])["tried"].clone();
    let same = tried("a.parquet");
    assert!(
        same["found"].as_u64() > Some(1) && same["missing"] == 0,
        "{same}"
    );

    // Other addresses, other code, another folder.
    let other = bench.program(
        "b",
        "table",
        PROGRAM,
        &["-g", "-O2", "-no-pie", "-fno-inline-functions"],
    );
    bench.record(&["--allocations"], &other, "b.parquet");
    let rebuilt = tried("b.parquet");
    assert_eq!(
        (&rebuilt["found"], &rebuilt["missing"]),
        (&same["found"], &same["missing"])
    );

    let source = "#include <stdlib.h>\n#include <string.h>\nint main(void) { return !memset(malloc(1 << 20), 1, 1 << 20); }\n";
    let another = bench.program("c", "other", source, &["-g", "-O1"]);
    bench.record(&["--allocations"], &another, "c.parquet");
    let refused = bench.place("c.parquet", &["--try", &file]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains(
            "the placement is that of another program: other allocates at none of its sites"
        ),
        "{said}"
    );
}

/// Programs that are started, threads, and C++'s `new`.
#[test]
fn programs_that_are_started_tell_as_well() {
    let bench = Bench::new();
    let program = bench.program("a", "table", PROGRAM, &["-g", "-O1"]);
    let source = format!(
        "#include <stdlib.h>\nint main(void) {{ volatile char *p = malloc(100000); p[5] = 1; return system(\"{} > /dev/null\"); }}\n",
        program.display()
    );
    let starter = bench.program("s", "starter", &source, &["-g", "-O1"]);
    bench.record(&["--allocations=32K"], &starter, "s.parquet");
    let (_, allocations) = bench.rows("s.parquet");
    let own = objects_of(&allocations, |site| {
        site.names()
            .iter()
            .any(|name| name.starts_with("starter!main"))
    });
    let its = objects_of(&allocations, |site| {
        site.names()
            .iter()
            .any(|name| name.starts_with("table!main"))
    });
    assert_eq!(own.len(), 1);
    assert!(
        its.len() == 6 && its[0].process != own[0].process,
        "{its:?}"
    );
}

/// Fast memory has room for two large sites, or for one that is larger and gains more for its size:
/// climbing takes that and has room for no other. Lines of the one are read 5 times, and those of
/// both others 4 times.
#[test]
fn the_best_placement_that_is_known_is_written() {
    const PAGES: [(u64, u64); 3] = [(96, 5), (80, 4), (80, 4)];
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (mut block, mut objects, mut first) = (Block::default(), Vec::new(), 0);
    for (site, (pages, rounds)) in PAGES.into_iter().enumerate() {
        objects.push(Object {
            began: 0,
            ended: None,
            process: 0,
            site: site as u32,
            address: first * 4096,
            bytes: pages * 4096,
        });
        for line in (0..rounds).flat_map(|_| 0..pages * 64) {
            block.push(Access {
                instruction: 1000 * (block.address.len() as u64 + 1),
                address: first * 4096 + line * 64,
                size: 8,
                ..Access::default()
            });
        }
        first += pages;
    }
    let site = |name: &str| Site {
        stack: vec![Call {
            module: format!("/{name}"),
            ..Call::default()
        }],
    };
    let mut sink =
        terrace_trace::create(directory.path().join("p.parquet").as_path(), &[]).unwrap();
    sink.write(&block).unwrap();
    let sites = ["larger", "one", "other"].map(site).to_vec();
    sink.allocations(Allocations { sites, objects });
    sink.finish().unwrap();

    let placed = |search: &[&str]| {
        let mut command = terrace(&[
            "place", "--quiet", "--fast", "640K", "--llc", "64K", "--json=-",
        ]);
        let output = command.args(search);
        let output = output
            .args(["-o", &path("p.toml"), &path("p.parquet")])
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let placed = checked(serde_json::from_slice(&output.stdout).expect("JSON"));
        let file = std::fs::read_to_string(path("p.toml")).unwrap();
        let sites = ["larger", "one", "other"].map(|name| file.contains(&format!("{name}+")));
        (placed, sites)
    };
    let (climbed, sites) = placed(&["--search", "climb"]);
    assert_eq!(climbed["searches"][0]["name"], "climb");
    assert_eq!(sites, [true, false, false]);
    let (best, sites) = placed(&[]);
    assert_eq!(sites, [false, true, true]);
    let searches = best["searches"].as_array().unwrap();
    let times = searches
        .iter()
        .map(|search| search["time_ns"].as_u64().unwrap());
    assert_eq!(times.clone().min(), times.clone().next(), "{best}");
    // By as many lines as are read from fast memory.
    let slow = best["times"]["all_slow_ns"].as_u64().unwrap() as f64;
    let gain = |time: &Value| slow - time.as_u64().unwrap() as f64;
    let ratio = gain(&searches[0]["time_ns"]) / gain(&climbed["searches"][0]["time_ns"]);
    let lines = f64::from(2 * 80 * 4) / f64::from(96 * 5);
    assert!((ratio / lines - 1.0).abs() < 0.01, "{ratio} {lines}");
}
