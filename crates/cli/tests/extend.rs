//! `terrace extend` with real programs. Needs `cc`, and root for userfaultfd.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

mod common;
use common::needs;

/// What follows the head of a program. `check` and `put` know what a page has to hold.
const PRELUDE: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096 };
static void put(char *page, long word) {
    for (int i = 0; i < PAGE; i += 512) *(long *)(page + i) = word * 31 + i;
}
static void check(char *page, long word) {
    for (int i = 0; i < PAGE; i += 512)
        if (*(long *)(page + i) != word * 31 + i) { printf(\"wrong: page %ld\\n\", word); exit(9); }
}
static void put_all(char *block, long from, long to) {
    for (long p = from; p < to; p++) put(block + p * PAGE, p);
}
static void check_all(char *block, long pages) {
    for (long p = 0; p < pages; p++) check(block + p * PAGE, p);
}
";

/// A directory with a program.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        needs("cc");
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// Compiles a program of which `body` is `main`.
    fn program(&self, body: &str, options: &[&str]) -> PathBuf {
        let source = self.directory.path().join("program.c");
        let text = format!("{PRELUDE}\nint main(int argc, char **argv) {{ {body} }}\n");
        std::fs::write(&source, text).unwrap();
        let program = self.directory.path().join("program");
        let mut compiler = Command::new("cc");
        compiler
            .args(["-O1", "-pthread", "-o"])
            .arg(&program)
            .arg(&source);
        let made = compiler.args(options).output().unwrap();
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        program
    }

    fn extend(&self, body: &str, options: &[&str]) -> Extended {
        let program = self.program(body, &[]);
        let json = self.directory.path().join("results.json");
        let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["extend", "--json"])
            .arg(&json)
            .args(options)
            .arg("--")
            .arg(program)
            .output()
            .unwrap();
        let text = std::fs::read_to_string(json).unwrap_or_default();
        Extended {
            results: serde_json::from_str(&text).unwrap_or_default(),
            said: String::from_utf8_lossy(&output.stderr).into_owned(),
            output,
        }
    }
}

struct Extended {
    output: Output,
    said: String,
    results: serde_json::Value,
}

impl Extended {
    fn succeeded(self) -> Self {
        let printed = String::from_utf8_lossy(&self.output.stdout);
        assert!(self.output.status.success(), "{printed}{}", self.said);
        self
    }

    fn measured(&self, name: &str) -> u64 {
        self.results["measured"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name}: {}", self.said))
    }
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn blocks_of_malloc_are_extended_and_hold_what_was_written() {
    let body = "
        long pages = 2000;
        char *block = malloc(pages * PAGE + 100);
        put_all(block, 0, pages);
        for (int turn = 0; turn < 3; turn++) check_all(block, pages);
        free(block);
        char *zeros = calloc(pages, PAGE);
        for (long i = 0; i < pages * PAGE; i += 512) if (zeros[i]) return 8;
        put_all(zeros, 0, pages);
        zeros = realloc(zeros, 3 * pages * PAGE);
        put_all(zeros, pages, 3 * pages);
        check_all(zeros, 3 * pages);
        zeros = realloc(zeros, 500 * PAGE);
        check_all(zeros, 500);
        free(zeros);
        void *aligned;
        if (posix_memalign(&aligned, 1 << 16, pages * PAGE)) return 7;
        put_all(aligned, 0, pages);
        check_all(aligned, pages);
        free(aligned);
        return 0;";
    let extended = Bench::new()
        .extend(
            body,
            &["--dram", "800p", "--write", "mfwr", "--prefetch", "off"],
        )
        .succeeded();
    assert!(extended.measured("fetches") > 6000, "{}", extended.said);
    assert!(extended.measured("peak_dram_bytes") <= 800 * 4096);
    let schemes = extended.results["schemes"].as_array().unwrap();
    let bytes = |name: &str| {
        let row = schemes.iter().find(|row| row["scheme"] == name).unwrap();
        row["bytes"].as_u64().unwrap()
    };
    assert!(bytes("page") >= bytes("inclusive") && bytes("inclusive") > bytes("lines"));
    assert_eq!(
        bytes("mfwr"),
        extended.measured("written_bytes"),
        "{}",
        extended.said
    );
    assert!(schemes[0]["lifetime_years"].as_f64().unwrap() > 0.0);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn mappings_and_threads_and_files_as_memory() {
    let body = "
        long pages = 1000;
        char *block = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        put_all(block, 0, pages);
        block = mremap(block, pages * PAGE, 3 * pages * PAGE, MREMAP_MAYMOVE);
        put_all(block, pages, 3 * pages);
        check_all(block, 3 * pages);
        madvise(block, PAGE * 10, MADV_DONTNEED);
        for (int i = 0; i < PAGE * 10; i++) if (block[i]) return 8;
        put_all(block, 0, 10);
        int ends[2];
        if (pipe(ends)) return 7;
        for (long p = 0; p < 3 * pages; p++) {
            char page[PAGE];
            if (write(ends[1], block + p * PAGE, PAGE) != PAGE || read(ends[0], page, PAGE) != PAGE) return 6;
            check(page, p);
        }
        munmap(block, pages * PAGE);
        check(block + pages * PAGE, pages);
        return 5;";
    let bench = Bench::new();
    let memory = format!("{}/", bench.directory.path().display());
    let options = ["--dram", "25%", "--memory", &memory, "--write", "sectors"];
    let options = [&options[..], &["--prefetch", "stream"]].concat();
    let extended = bench.extend(body, &options);
    // The code of the program is passed on.
    assert_eq!(extended.output.status.code(), Some(5), "{}", extended.said);
    let read = extended.measured("fetches") + extended.measured("prefetched");
    assert!(read > 1000, "{}", extended.said);
    assert!(
        extended.measured("prefetched_used") > 500,
        "{}",
        extended.said
    );
    let dram = extended.results["settings"]["dram_bytes"].as_u64().unwrap();
    assert_eq!(dram, 750 * 4096);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn children_do_not_see_zeros() {
    let body = "
        long pages = 1000;
        char *block = malloc(pages * PAGE);
        put_all(block, 0, pages);
        int status;
        pid_t child = fork();
        if (child == 0) { free(block); char *own = malloc(pages * PAGE); put_all(own, 0, pages);
            check_all(own, pages); exit(3); }
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) return 8;
        child = fork();
        if (child == 0) { check(block, 0); exit(0); }
        waitpid(child, &status, 0);
        if (!WIFSIGNALED(status)) return 7;
        if (system(\"true\")) return 6;
        check_all(block, pages);
        return 0;";
    let extended = Bench::new().extend(body, &["--dram", "100p"]).succeeded();
    assert!(
        extended.said.contains("has touched extended memory"),
        "{}",
        extended.said
    );
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn what_a_killed_program_did_is_reported() {
    let body = "
        char *block = malloc(1000 * PAGE);
        put_all(block, 0, 1000);
        raise(9);
        return 0;";
    let extended = Bench::new().extend(body, &["--dram", "100p"]);
    assert_eq!(extended.results["signal"], 9, "{}", extended.said);
    // The last faults may not have been counted yet.
    assert!(
        extended.measured("first_touches") > 900,
        "{}",
        extended.said
    );
}

#[test]
fn what_cannot_be_extended_is_said_before_anything_starts() {
    let bench = Bench::new();
    let program = bench.program("puts(\"started\"); return 0;", &["-static"]);
    let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["extend", "--dram", "100p", "--"])
        .arg(program)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is linked statically"), "{said}");
    assert!(output.stdout.is_empty());
}

/// The device is taken while the program runs, and blank afterwards.
#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn a_block_device_is_slow_memory_and_given_back() {
    let bench = Bench::new();
    let image = bench.directory.path().join("image");
    std::fs::File::create(&image)
        .unwrap()
        .set_len(64 << 20)
        .unwrap();
    let device = common::Loop::over(&image);
    let body = "
        long pages = 3000;
        char *block = malloc(pages * PAGE);
        put_all(block, 0, pages);
        for (int turn = 0; turn < 2; turn++) check_all(block, pages);
        return 0;";
    let options = [
        "--dram",
        "25%",
        "--memory",
        &device.0,
        "--write",
        "sectors",
        "--prefetch",
        "off",
    ];
    for _ in 0..2 {
        let extended = bench.extend(body, &options).succeeded();
        assert!(extended.measured("fetches") > 1000);
        assert_eq!(extended.measured("write_errors"), 0);
        let blank = std::fs::read(&device.0).unwrap();
        assert!(blank.iter().all(|&byte| byte == 0));
    }
    let made = Command::new("mkswap").arg(&device.0).output().unwrap();
    assert!(made.status.success());
    let refused = bench.extend(body, &options);
    assert_eq!(refused.output.status.code(), Some(2), "{}", refused.said);
    assert!(
        refused.said.contains("holds data (swap)"),
        "{}",
        refused.said
    );
}

#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn a_block_device_is_held_while_its_program_outlives_terrace() {
    let bench = Bench::new();
    let image = bench.directory.path().join("image");
    let made = std::fs::File::create(&image);
    made.unwrap().set_len(64 << 20).unwrap();
    let device = common::Loop::over(&image);
    let body = "
        long pages = 3000;
        char *block = malloc(pages * PAGE), line[8];
        put_all(block, 0, pages);
        puts(\"ready\"); fflush(stdout);
        if (!fgets(line, sizeof line, stdin)) return 8;
        check_all(block, pages);
        puts(\"right\");
        return 0;";
    let options = ["--dram", "25%", "--memory", &device.0, "--write", "lines"];
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["extend", "--json"])
        .arg(bench.directory.path().join("first.json"))
        .args(options)
        .arg("--")
        .arg(bench.program(body, &[]))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(terrace.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let mut input = terrace.stdin.take().unwrap();
    terrace.kill().unwrap();
    terrace.wait().unwrap();
    let refused = bench.extend("return 0;", &options);
    assert_eq!(refused.output.status.code(), Some(2), "{}", refused.said);
    assert!(refused.said.contains("is in use"), "{}", refused.said);
    input.write_all(b"go on\n").unwrap();
    line.clear();
    said.read_to_string(&mut line).unwrap();
    assert_eq!(line, "right\n");
    bench.extend("return 0;", &options).succeeded();
}
