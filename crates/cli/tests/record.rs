//! `terrace record` with real programs. Needs `qemu-x86_64` and `cc`. Long: a case for each option.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use terrace_trace::{Access, Block, Columns};

mod common;
use common::{install, needs};

/// What follows `#include`s and the variable that is watched.
const PRELUDE: &str = "
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[64] __attribute__((aligned(4096)));
static void stores(volatile long *cell, long n) { for (long i = 0; i < n; i++) *cell = i; }
static void loads(volatile long *cell, long n) { for (long i = 0; i < n; i++) (void)*cell; }
static void tell(void) { printf(\"%lx\\n\", (long)cells); fflush(stdout); }
";

/// A directory with programs, and the traces of their runs.
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

    fn trace(&self) -> PathBuf {
        self.path("trace.parquet")
    }

    /// Compiles a program of which `body` is `main`.
    fn program(&self, body: &str) -> PathBuf {
        let source = self.path("program.c");
        std::fs::write(
            &source,
            format!("{PRELUDE}\nint main(int argc, char **argv) {{ {body} }}\n"),
        )
        .unwrap();
        let program = self.path("program");
        let cc = Command::new("cc")
            .args(["-O1", "-w", "-pthread", "-o"])
            .args([&program, &source])
            .output()
            .unwrap();
        assert!(cc.status.success(), "{}", text(&cc.stderr));
        program
    }

    fn executable(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let (source, path) = (self.path("source"), self.path(name));
        std::fs::write(&source, content).unwrap();
        install(&source, &path);
        path
    }

    fn command(&self, options: &[&str], program: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.arg("record").arg("-o").arg(self.trace());
        command.args(options).arg("--").args(program);
        command
    }

    fn record(&self, options: &[&str], program: &[&str]) -> Output {
        self.command(options, program).output().unwrap()
    }

    /// The address of the cells, which the program has told, and the rows of the trace.
    fn run(&self, options: &[&str], program: &Path) -> (u64, Vec<Access>) {
        let output = self.record(options, &[program.to_str().unwrap()]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let first = text(&output.stdout).lines().next().unwrap().to_owned();
        let cells = u64::from_str_radix(&first, 16).unwrap();
        (cells, rows(&self.trace()))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn rows(trace: &Path) -> Vec<Access> {
    let mut source = terrace_trace::open(trace, Columns::ALL).unwrap();
    let mut block = Block::default();
    let mut rows = Vec::new();
    while source.next_block(&mut block).unwrap() {
        rows.extend(block.iter());
    }
    rows
}

fn about(trace: &Path, key: &str) -> Option<String> {
    let source = terrace_trace::open(trace, Columns::ALL).unwrap();
    let about = source.meta().about.iter();
    about.rev().find(|(k, _)| k == key).map(|(_, v)| v.clone())
}

/// Loads from and stores to one address.
fn counts(rows: &[Access], address: u64) -> (usize, usize) {
    let here = rows.iter().filter(|row| row.address == address);
    let (stores, loads): (Vec<&Access>, Vec<_>) = here.partition(|row| row.write);
    (loads.len(), stores.len())
}

#[test]
fn every_load_and_store_is_a_row() {
    let bench = Bench::new();
    let program = bench.program(
        "tell(); stores(cells, 100000); loads(cells, 30000); stores(cells + 1, 7);
         volatile char *byte = (char *)(cells + 2); *byte = 1; return 0;",
    );
    let (cells, rows) = bench.run(&[], &program);
    assert_eq!(counts(&rows, cells), (30_000, 100_000));
    assert_eq!(counts(&rows, cells + 8), (0, 7));
    let size = |address| rows.iter().find(|row| row.address == address).unwrap().size;
    assert_eq!((size(cells), size(cells + 16)), (8, 1));
    assert!(rows.iter().all(|row| (row.process, row.thread) == (0, 0)));
    assert!(rows.is_sorted_by_key(|row| row.instruction));
    assert!(rows.iter().all(|row| row.ip != 0));
    assert!(
        about(&bench.trace(), "recorded.command")
            .unwrap()
            .ends_with("/program")
    );
    assert_eq!(about(&bench.trace(), "recorded.processes").unwrap(), "1");
}

#[test]
fn instructions_are_counted() {
    let bench = Bench::new();
    // Six instructions a round; the second a load, the fourth a store.
    let program = bench.program(
        "tell(); long n = 5000; pthread_t t;
         if (argc > 1) { pthread_create(&t, 0, (void *)tell, 0); pthread_join(t, 0); }
         asm volatile(\"1: nop\\n mov (%1), %%rax\\n nop\\n mov %%rax, 8(%1)\\n dec %0\\n jnz 1b\"
                      : \"+r\"(n) : \"r\"(cells) : \"rax\", \"memory\"); return 0;",
    );
    let program = program.to_str().unwrap();
    for arguments in [&[program][..], &[program, "threads"]] {
        let output = bench.record(&[], arguments);
        let cells = text(&output.stdout).lines().next().unwrap().to_owned();
        let cells = u64::from_str_radix(&cells, 16).unwrap();
        let rows = rows(&bench.trace());
        let at = |address| {
            let here = rows.iter().filter(move |row| row.address == address);
            here.map(|row| row.instruction).collect::<Vec<_>>()
        };
        let (loads, stores) = (at(cells), at(cells + 8));
        assert_eq!((loads.len(), stores.len()), (5000, 5000));
        assert!(loads.windows(2).all(|pair| pair[1] - pair[0] == 6));
        assert!(
            loads
                .iter()
                .zip(&stores)
                .all(|(load, store)| store - load == 2)
        );
    }
}

#[test]
fn a_read_modify_write_is_a_load_and_a_store() {
    let bench = Bench::new();
    let program = bench.program("tell(); for (int i = 0; i < 1000; i++) cells[3]++; return 0;");
    let (cells, rows) = bench.run(&[], &program);
    assert_eq!(counts(&rows, cells + 24), (1000, 1000));
}

#[test]
fn threads_are_told_apart() {
    let bench = Bench::new();
    let program = bench.program(
        "tell(); pthread_t t[4];
         void *work(void *cell) { stores(cell, 50000); return 0; }
         for (int i = 0; i < 4; i++) pthread_create(t + i, 0, work, (void *)(cells + i));
         for (int i = 0; i < 4; i++) pthread_join(t[i], 0);
         return 0;",
    );
    let (cells, rows) = bench.run(&[], &program);
    let mut threads = Vec::new();
    for cell in 0..4 {
        assert_eq!(counts(&rows, cells + 8 * cell), (0, 50_000));
        let here = rows.iter().filter(|row| row.address == cells + 8 * cell);
        let mut numbers: Vec<_> = here.map(|row| row.thread).collect();
        numbers.dedup();
        assert_eq!(numbers.len(), 1);
        threads.extend(numbers);
    }
    threads.sort_unstable();
    assert_eq!(threads, [1, 2, 3, 4]);
    for thread in 0..5 {
        let own = rows.iter().filter(|row| row.thread == thread);
        assert!(own.is_sorted_by_key(|row| row.instruction));
    }
}

#[test]
fn forked_children_are_processes_of_their_own_and_lose_nothing_when_killed() {
    let bench = Bench::new();
    let program = bench.program(
        "tell(); stores(cells, 10);
         for (int i = 0; i < 3; i++)
           if (!fork()) {
             stores(cells, 20000 + i);
             if (i == 1) kill(getpid(), SIGKILL);
             _exit(0);
           }
         while (wait(0) > 0); stores(cells, 10); return 0;",
    );
    let (cells, rows) = bench.run(&[], &program);
    let mut of: Vec<usize> = (0..4)
        .map(|process| {
            let own: Vec<_> = rows
                .iter()
                .filter(|row| row.process == process)
                .copied()
                .collect();
            assert!(own.iter().all(|row| row.thread == own[0].thread));
            counts(&own, cells).1
        })
        .collect();
    assert_eq!(of[0], 20);
    of.sort_unstable();
    assert_eq!(of, [20, 20_000, 20_001, 20_002]);
}

#[test]
fn a_program_that_kills_itself_loses_nothing() {
    let bench = Bench::new();
    let program = bench.program("tell(); stores(cells, 12345); kill(getpid(), SIGKILL); return 0;");
    let output = bench.record(&["-q"], &[program.to_str().unwrap()]);
    assert_eq!(output.status.signal(), Some(9));
    let cells = u64::from_str_radix(text(&output.stdout).trim(), 16).unwrap();
    assert_eq!(counts(&rows(&bench.trace()), cells), (0, 12_345));
}

#[test]
fn lines_and_pages_join_runs() {
    let bench = Bench::new();
    // A row each for cells[0..8], cells[8..16] and the two alternating lines at the end.
    let program = bench.program(
        "tell();
         asm volatile(\"mov $1000, %%rcx\\n 1: mov (%0), %%rax\\n dec %%rcx\\n jnz 1b\\n\"
                      \"mov %%rax, 56(%0)\\n mov 64(%0), %%rax\\n mov (%0), %%rax\\n\"
                      \"mov 60(%0), %%rax\" :: \"r\"(cells) : \"rax\", \"rcx\");
         return 0;",
    );
    let of = |level: &str| -> Vec<(u64, u32, bool)> {
        let (cells, rows) = bench.run(&["--level", level], &program);
        let here = rows
            .iter()
            .filter(|row| (cells..cells + 4096).contains(&row.address));
        here.map(|row| (row.address - cells, row.size, row.write))
            .collect()
    };
    assert_eq!(
        of("lines"),
        [(0, 8, true), (64, 8, false), (0, 8, false), (64, 4, false)]
    );
    assert_eq!(of("pages"), [(0, 8, true)]);
}

#[test]
fn private_caches_let_misses_through() {
    let bench = Bench::new();
    let program = bench.program(
        "tell(); static volatile char big[1 << 20] __attribute__((aligned(4096)));
         printf(\"%lx\\n\", (long)big); fflush(stdout);
         for (int round = 0; round < 3; round++)
           for (long i = 0; i < sizeof big; i++) big[i] = round;
         stores(cells, 100000); return 0;",
    );
    let output = bench.record(&["--filter", "l1l2"], &[program.to_str().unwrap()]);
    let told = text(&output.stdout);
    let mut told = told
        .lines()
        .map(|line| u64::from_str_radix(line, 16).unwrap());
    let (cells, big) = (told.next().unwrap(), told.next().unwrap());
    let rows = rows(&bench.trace());
    assert!(
        rows.iter()
            .all(|row| row.address % 64 == 0 && row.size == 64)
    );
    assert!(rows.iter().all(|row| row.write == (row.ip == 0)));
    let lines = (1 << 20) / 64;
    let here: Vec<_> = rows
        .iter()
        .filter(|row| (big..big + (1 << 20)).contains(&row.address))
        .collect();
    let written = here.iter().filter(|row| row.write).count();
    // All lines miss in every round; what the caches hold at the end is not written back.
    assert_eq!(here.len() - written, 3 * lines);
    assert!(
        (3 * lines - 9 * 512..=3 * lines).contains(&written),
        "{written}"
    );
    assert!(counts(&rows, cells).0 <= 2);
}

#[test]
fn scripts_and_what_they_start_are_recorded() {
    let bench = Bench::new();
    let program = bench.program("tell(); stores(cells, 4321); return 5;");
    let script = format!(
        "#!/usr/bin/env sh\n\"$@\"\necho \"code $?\"\n{0}\n",
        program.display()
    );
    let script = bench.executable("script", script);
    let (script, program) = (script.to_str().unwrap(), program.to_str().unwrap());
    let output = bench.record(&[], &[script, program]);
    assert_eq!(output.status.code(), Some(5));
    let told = text(&output.stdout);
    let told: Vec<_> = told.lines().collect();
    assert_eq!(told[1], "code 5");
    let rows = rows(&bench.trace());
    for cells in [told[0], told[2]] {
        let cells = u64::from_str_radix(cells, 16).unwrap();
        assert!(counts(&rows, cells).1.is_multiple_of(4321));
        assert_ne!(counts(&rows, cells).1, 0);
    }
    assert!(
        !text(&output.stderr).contains("not recorded"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_program_that_cannot_be_followed_is_said_to_be_lost() {
    let bench = Bench::new();
    // The first attempts fail, as they do in a search of PATH; a descriptor is not followed.
    let program = bench.program(
        "char *arguments[] = {\"true\", 0}; int fd = open(\"/bin/true\", 0);
         execv(\"/no/such/file\", arguments); execv(\"/etc/passwd\", arguments);
         char path[64]; sprintf(path, \"/proc/self/fd/%d\", fd);
         if (argc > 1) execv(path, arguments); return 3;",
    );
    let program = program.to_str().unwrap();
    let quiet = bench.record(&["-q"], &[program, "leave"]);
    assert_eq!(text(&quiet.stderr), "");
    let output = bench.record(&[], &[program, "leave"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("1 program started outside"), "{said}");
    assert!(said.contains("/proc/self/fd/"), "{said}");

    // Quietly, only the trace has it.
    let output = bench.record(&["-q"], &[program, "leave"]);
    assert_eq!(text(&output.stderr), "");
    let remark = about(&bench.trace(), "recorded.remarks").unwrap();
    assert!(remark.contains("/proc/self/fd/"), "{remark}");

    let output = bench.record(&["-q"], &[program]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(text(&output.stderr), "");
    assert_eq!(about(&bench.trace(), "recorded.remarks"), None);
}

#[test]
fn input_output_and_the_exit_code_are_the_programs() {
    let bench = Bench::new();
    let mut child = bench
        .command(&["-q"], &["sh", "-c", "cat; echo error >&2; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "through\n");
    assert_eq!(text(&output.stderr), "error\n");
}

#[test]
fn the_summary_says_what_was_recorded() {
    let bench = Bench::new();
    let output = bench.record(&[], &["true"]);
    let said = text(&output.stderr);
    let accesses = rows(&bench.trace()).len();
    assert!(said.starts_with(&format!(
        "terrace: {accesses} accesses, 1 process, 1 thread, "
    )));
    assert!(
        said.contains(" M/s); ") && said.contains(" bytes each"),
        "{said}"
    );
}

#[test]
fn what_a_format_has_no_room_for_is_counted() {
    let bench = Bench::new();
    let trace = bench.path("trace.csv");
    let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
    command.arg("record").arg("-o").arg(&trace);
    let output = command.args(["--", "true"]).output().unwrap();
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("trace.csv` does not say ") && said.contains("keys of the metadata said"),
        "{said}"
    );
}

#[test]
fn the_limit_ends_the_program() {
    let bench = Bench::new();
    let program = bench.program("signal(SIGTERM, SIG_IGN); fork(); for (;;) stores(cells, 1000);");
    let output = bench.record(&["--limit", "100000"], &[program.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(rows(&bench.trace()).len(), 100_000);
    assert!(text(&output.stderr).contains("ended at the limit"));
    let name = program.to_str().unwrap().as_bytes();
    for process in std::fs::read_dir("/proc").unwrap() {
        let line = std::fs::read(process.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!line.windows(name.len()).any(|window| window == name));
    }
}

#[test]
fn a_signal_to_us_goes_to_the_program_and_the_trace_is_kept() {
    let bench = Bench::new();
    let program = bench.program("stores(cells, 1000); tell(); for (;;) pause();");
    let mut child = bench
        .command(&["-q"], &[program.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut told).unwrap();
    // SAFETY: kill takes two integers.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
    let cells = u64::from_str_radix(told.trim(), 16).unwrap();
    assert_eq!(counts(&rows(&bench.trace()), cells), (0, 1000));
}

#[test]
fn what_the_program_leaves_running_is_said() {
    let bench = Bench::new();
    let program =
        bench.program("if (!fork()) { close(0); close(1); close(2); sleep(20); } return 0;");
    let output = bench.record(&[], &[program.to_str().unwrap()]);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(said.contains("left 1 process running"), "{said}");
}

#[test]
fn what_cannot_be_recorded_has_its_own_sentence() {
    let bench = Bench::new();
    let mut elf = vec![0; 64];
    elf[..5].copy_from_slice(b"\x7fELF\x01");
    let foreign = bench.executable("foreign", &elf);
    let plain = bench.executable("plain", "echo hello\n");
    for (program, why) in [
        ("/no/such/program", "does not exist"),
        ("no-such-program", "does not exist"),
        ("/etc/passwd", "may not be run"),
        ("/", "is a directory"),
        (foreign.to_str().unwrap(), "no program of x86-64 Linux"),
        (plain.to_str().unwrap(), "needs a #! line"),
    ] {
        let output = bench.record(&[], &[program]);
        assert_eq!(output.status.code(), Some(2), "{program}");
        assert!(
            text(&output.stderr).contains(why),
            "{program}: {}",
            text(&output.stderr)
        );
        assert!(!bench.trace().exists());
    }
}

#[test]
fn what_recording_needs_is_named_where_it_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let run = |plugin: Option<&str>, path: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.args(["record", "--", "/bin/true"]);
        command.current_dir(directory.path()).env("PATH", path);
        plugin.map(|plugin| command.env("TERRACE_RECORDER", plugin));
        let output = command.output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = run(None, "/no/such/directory");
    assert_eq!(code, Some(1));
    assert!(said.contains("apt-get install qemu-user"), "{said}");
    needs("qemu-x86_64");
    let path = std::env::var("PATH").unwrap();
    let (code, said) = run(Some("/no/such/file"), &path);
    assert_eq!(code, Some(2));
    assert!(said.contains("TERRACE_RECORDER"), "{said}");
}

/// Compiles a program of this source with these options.
fn compiled(bench: &Bench, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let file = bench.path(&format!("{name}.c"));
    std::fs::write(&file, source).unwrap();
    let program = bench.path(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-o"]).args([&program, &file]);
    let made = compiler.args(options).output().unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
    program
}

#[test]
fn a_program_with_a_sanitizer_is_refused() {
    let bench = Bench::new();
    let source = "int main(void) { return 0; }";
    for (name, options, sanitizer) in [
        ("address", &["-fsanitize=address"][..], "AddressSanitizer"),
        ("thread", &["-fsanitize=thread"], "ThreadSanitizer"),
        (
            "static",
            &["-fsanitize=address", "-static-libasan"],
            "AddressSanitizer",
        ),
    ] {
        let program = compiled(&bench, name, source, options);
        let output = bench.record(&[], &[program.to_str().unwrap()]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!("is built with {sanitizer}")),
            "{said}"
        );
        assert!(!bench.trace().exists());
    }
    // A sanitizer without shadow memory is none of these.
    let program = compiled(&bench, "undefined", source, &["-fsanitize=undefined"]);
    let output = bench.record(&["-q"], &[program.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

/// The recorder meets them when they begin; the limit of memory is beyond what they take by then.
#[test]
fn a_program_with_a_sanitizer_that_is_started_by_another_ends_the_recording() {
    let bench = Bench::new();
    let source = "int main(void) { return 0; }";
    let dynamic = compiled(&bench, "dynamic", source, &["-fsanitize=address"]);
    let stripped = ["-fsanitize=address", "-static-libasan", "-s"];
    let stripped = compiled(&bench, "stripped", source, &stripped);
    for program in [dynamic, stripped] {
        let script = format!("{}; exit 0", program.display());
        let output = bench.record(&["--memory-limit", "1500M"], &["sh", "-c", &script]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let why = format!(
            "it started {}, which is built with AddressSanitizer",
            program.display()
        );
        assert!(said.contains(&why), "{said}");
        assert!(!rows(&bench.trace()).is_empty());
    }
}

/// The trace has its name only when it is whole.
#[test]
fn a_recorder_that_is_killed_leaves_nothing_and_what_was_there() {
    let bench = Bench::new();
    let started = bench.path("started");
    let script = format!("echo > {}; while :; do :; done", started.display());
    for old in [None, Some("old")] {
        let _ = std::fs::remove_file(&started);
        old.map_or(Ok(()), |old| std::fs::write(bench.trace(), old))
            .unwrap();
        let mut recorder = bench
            .command(&["-q"], &["sh", "-c", &script])
            .spawn()
            .unwrap();
        let begun = Instant::now();
        while !started.exists() {
            assert!(
                begun.elapsed() < Duration::from_secs(120),
                "it does not start"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        recorder.kill().unwrap();
        recorder.wait().unwrap();
        assert_eq!(std::fs::read_to_string(bench.trace()).ok().as_deref(), old);
    }
}

#[test]
fn a_library_with_a_sanitizer_is_refused() {
    let bench = Bench::new();
    let library = compiled(
        &bench,
        "libpart.so",
        "int part(void) { return 0; }",
        &["-shared", "-fPIC", "-fsanitize=address"],
    );
    let directory = library.parent().unwrap().to_str().unwrap();
    let program = compiled(
        &bench,
        "whole",
        "int part(void); int main(void) { return part(); }",
        &["-L", directory, "-lpart", "-Wl,--allow-shlib-undefined"],
    );
    let output = bench
        .command(&[], &[program.to_str().unwrap()])
        .env("LD_LIBRARY_PATH", directory)
        .output()
        .unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is built with AddressSanitizer"), "{said}");
}

#[test]
fn beyond_the_limit_of_memory_the_program_is_ended_and_the_trace_is_kept() {
    let bench = Bench::new();
    // The child takes it: what counts is the emulator's processes together. It ends by itself at 1
    // GiB.
    let program = bench.program(
        "if (fork()) { wait(0); return 0; }
         for (int i = 0; i < 1024; i++) { volatile char *all = malloc(1 << 20); for (int j = 0; j < 1 << 20; j += 4096) all[j] = 1; }
         return 0;",
    );
    let options = ["--memory-limit", "128M", "--level", "pages"];
    let output = bench.record(&options, &[program.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("more than the 128 MiB"), "{said}");
    assert!(said.contains("ended at the limit of memory"), "{said}");
    assert!(!rows(&bench.trace()).is_empty());
}

#[test]
fn memory_that_processes_share_counts_once() {
    let bench = Bench::new();
    // Eight processes with the same 32 MiB.
    let program = bench.program(
        "char *all = malloc(32 << 20); memset(all, 1, 32 << 20);
         for (int i = 0; i < 7; i++) if (!fork()) { usleep(300000); return 0; }
         while (wait(0) > 0); return 0;",
    );
    let options = ["--memory-limit", "300M", "--level", "pages", "-q"];
    let output = bench.record(&options, &[program.to_str().unwrap()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn a_second_signal_kills_and_the_trace_is_kept() {
    let bench = Bench::new();
    let program =
        bench.program("signal(SIGINT, SIG_IGN); stores(cells, 1000); tell(); for (;;) pause();");
    let mut child = bench
        .command(&["-q"], &[program.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let pid = child.id() as i32;
    // As one request, however often: `timeout` signals its child and the group.
    for _ in 0..2 {
        // SAFETY: takes integers; the child was not waited for.
        unsafe { libc::kill(pid, libc::SIGINT) };
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(
        child.try_wait().unwrap().is_none(),
        "the program ignores it"
    );
    // On a busy machine the first two may not have been taken yet, and this one is part of them.
    let ended = (0..60).find_map(|_| {
        // SAFETY: as above.
        unsafe { libc::kill(pid, libc::SIGINT) };
        std::thread::sleep(std::time::Duration::from_secs(1));
        child.try_wait().unwrap()
    });
    assert_eq!(ended.unwrap().signal(), Some(libc::SIGINT));
    assert!(!rows(&bench.trace()).is_empty());
}

#[test]
fn an_instruction_that_the_emulator_lacks_is_named() {
    let bench = Bench::new();
    // vpaddd zmm0, zmm1, zmm2
    let program = bench.program("__asm__(\".byte 0x62,0xf1,0x75,0x48,0xfe,0xc2\"); return 0;");
    let output = bench.record(&[], &[program.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGILL), "{said}");
    assert!(said.contains("vpaddd (AVX512F)"), "{said}");
    let program = bench.program("__builtin_trap();");
    let output = bench.record(&[], &[program.to_str().unwrap()]);
    let said = text(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGILL), "{said}");
    assert!(!said.contains("lacks"), "{said}");
}

#[test]
fn a_page_shows_where_and_when_the_program_stored() {
    let bench = Bench::new();
    let program = bench.program("stores(cells, 1000); tell();");
    let page = bench.path("page.html");
    let page_option = ["--html", page.to_str().unwrap()];
    let output = bench
        .command(&page_option, &[program.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("aria-label=\"Heat map\""));
    // Standard output is the program's alone.
    assert_eq!(text(&output.stdout).lines().count(), 1);
    let trace = bench.trace();
    let (_, plots) = page.split_once("type=\"application/json\">").unwrap();
    let plots: serde_json::Value = serde_json::Deserializer::from_str(plots)
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    let rows = plots[0]["heat"]["rows"].as_array().unwrap();
    let touched = rows
        .iter()
        .flat_map(|row| row["values"].as_array().unwrap());
    let most = touched
        .map(|value| value.as_f64().unwrap())
        .fold(0.0, f64::max);
    assert!(most > 1.0 && trace.exists(), "{most}");
}
