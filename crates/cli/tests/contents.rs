//! `terrace record --contents`: what pages hold is what the program itself says. Needs
//! `qemu-x86_64` and `cc`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use terrace_trace::contents::{Memory, Verified};
use terrace_trace::{Block, Columns, Sink};

mod common;
use common::needs;

/// What the program says of a page: its process, its address, and its bytes.
const SAID_BYTES: usize = 16 + 4096;

/// Changes pages by all means, and writes what each holds in the end, as the program sees it.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned char byte;

static void say(long process, byte *page) {
    struct { long process; byte *page; byte bytes[4096]; } said = { process, page };
    memcpy(said.bytes, page, 4096);
    if (write(1, &said, sizeof said) != sizeof said) abort();
}
static byte *map(int flags, int file) {
    byte *page = mmap(0, 4096, PROT_READ | PROT_WRITE, flags | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (page == MAP_FAILED) abort();
    return page;
}
static byte *fresh(byte seed) {
    byte *page = map(MAP_PRIVATE, -1);
    for (int i = 0; i < 4096; i++) page[i] = seed * i >> 3;
    return page;
}
static byte *shared_by_threads;
static void *work(void *number) {
    for (long round = 0; round < 3000; round++)
        for (int i = 0; i < 8; i++) shared_by_threads[(i * 4 + (long)number) * 100] = round * i;
    return 0;
}
static volatile int handled;
static void handler(int signal) { handled = signal; }

int main(int argc, char **argv) {
    int self = open(argv[0], O_RDONLY);
    byte *page = fresh(3);
    say(0, page);

    page = fresh(5);
    if (read(self, page, 4096) != 4096) abort();
    say(0, page);

    page = fresh(7);
    if (pread(self, page + 50, 100, 64) != 100) abort();
    say(0, page);

    page = fresh(9);
    struct iovec parts[] = { { page + 3000, 500 }, { page + 1, 17 } };
    if (readv(self, parts, 2) != 517) abort();
    say(0, page);

    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) abort();
    page = fresh(11);
    if (send(sockets[0], "through a socket", 16, 0) != 16) abort();
    if (recv(sockets[1], page + 2040, 16, 0) != 16) abort();
    say(0, page);

    page = fresh(13);
    if (getrandom(page + 77, 1000, 0) != 1000) abort();
    say(0, page);

    say(0, map(MAP_PRIVATE, self));
    char name[] = "mapped-XXXXXX";
    int file = mkstemp(name);
    unlink(name);
    if (ftruncate(file, 100)) abort();
    page = map(MAP_SHARED, file);
    page[5] = 5;
    if (pwrite(file, "written behind its back", 23, 20) != 23) abort();
    say(0, page);
    // What lies beyond the end of its file is touched, and gone when it is looked at.
    byte *gone = map(MAP_SHARED, file);
    gone[50] = 1;
    if (ftruncate(file, 0)) abort();

    page = fresh(15);
    byte *target = map(MAP_PRIVATE, -1);
    page = mremap(page, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, target);
    if (page != target) abort();
    say(0, page);

    page = fresh(17);
    if (madvise(page, 4096, MADV_DONTNEED)) abort();
    page[9] = 9;
    say(0, page);

    page = fresh(19);
    byte *shared = map(MAP_SHARED, -1);
    shared[1] = 1;
    if (!fork()) {
        page[100] = 200;
        say(1, page);
        memset(shared + 7, 77, 900);
        _exit(0);
    }
    if (wait(0) < 0) abort();
    say(0, page);
    say(0, shared);

    byte *stack = mmap(0, 16 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t alternate = { .ss_sp = stack, .ss_size = 16 << 12 };
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK };
    if (sigaltstack(&alternate, 0) || sigaction(SIGUSR1, &action, 0)) abort();
    raise(SIGUSR1);
    if (!handled) abort();
    say(0, stack + (15 << 12));

    // The program's own code.
    say(0, (byte *)((uintptr_t)main & ~4095ul));
    if (argc == 1) return 0;

    shared_by_threads = fresh(21);
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(threads + i, 0, work, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
    say(0, shared_by_threads);
    return 0;
}
"#;

/// A directory with a program.
struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        ["qemu-x86_64", "cc"].into_iter().for_each(needs);
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles a program.
    fn program(&self, source: &str) -> PathBuf {
        let (file, program) = (self.path("program.c"), self.path("program"));
        std::fs::write(&file, source).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-w", "-pthread", "-o"])
            .args([&program, &file]);
        let cc = cc.output().unwrap();
        assert!(cc.status.success(), "{}", text(&cc.stderr));
        program
    }

    fn terrace(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command.args(arguments).current_dir(self.directory.path());
        command.output().unwrap()
    }

    /// Records as a.parquet; returns what the program wrote.
    fn record(&self, options: &[&str], program: &Path) -> Vec<u8> {
        self.record_with(options, program, &[])
    }

    /// The same of a program with arguments.
    fn record_with(&self, options: &[&str], program: &Path, words: &[&str]) -> Vec<u8> {
        let program = program.to_str().unwrap();
        let arguments = [
            &["record", "-o", "a.parquet"],
            options,
            &["--", program],
            words,
        ]
        .concat();
        let output = self.terrace(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        output.stdout
    }

    fn info(&self, trace: &str) -> Value {
        let output = self.terrace(&["trace", "info", "-q", "--json=-", trace]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All pages at the end of a trace.
fn memory(trace: &Path) -> Memory {
    let mut source = terrace_trace::open(trace, Columns::ALL).unwrap();
    assert!(source.meta().has_contents);
    let (mut block, mut memory) = (Block::default(), Memory::default());
    while source.next_block(&mut block).unwrap() {
        (0..block.len()).for_each(|row| memory.apply(&block, row));
    }
    memory
}

/// Copies a trace, each block changed by `change`.
fn copy(from: &Path, to: &Path, mut change: impl FnMut(&mut Block)) {
    let mut source = terrace_trace::open(from, Columns::ALL).unwrap();
    let mut sink: Box<dyn Sink> = terrace_trace::create(to, &source.meta().about).unwrap();
    let mut block = Block::default();
    while source.next_block(&mut block).unwrap() {
        change(&mut block);
        sink.write(&block).unwrap();
    }
    sink.finish().unwrap();
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(bytes.try_into().unwrap())
}

#[test]
fn pages_hold_what_the_program_says() {
    agree(&[], 15);
}

#[test]
fn pages_hold_what_threads_say() {
    agree(&["threads"], 16);
}

/// Records the program, and compares each page that it tells.
fn agree(words: &[&str], told: usize) {
    let bench = Bench::new();
    let program = bench.program(PROGRAM);
    let said = bench.record_with(&["--contents"], &program, words);
    let memory = memory(&bench.path("a.parquet"));
    let pages = said.chunks_exact(SAID_BYTES);
    assert_eq!((pages.len(), pages.remainder().len()), (told, 0));
    for (place, said) in pages.enumerate() {
        let (process, address) = (number(&said[..8]) as u16, number(&said[8..16]));
        let page = memory.page(process, address / 4096);
        let differs = page
            .iter()
            .zip(&said[16..])
            .position(|(page, said)| page != said);
        assert_eq!(
            differs, None,
            "page {place}, {address:#x} of process {process}"
        );
    }
    let verified = memory.verified();
    assert!(verified.sampled > 100, "{verified:?}");
    let all = Verified {
        held: verified.sampled,
        deviating: Vec::new(),
        ..verified
    };
    assert_eq!(verified, all);
}

#[test]
fn a_word_that_is_wrong_is_found_and_named() {
    let bench = Bench::new();
    let program = bench.program("int main() { return 0; }");
    bench.record(&["--contents"], &program);
    let info = bench.info("a.parquet");
    let contents = &info["contents"];
    assert!(contents["sampled"].as_u64() > Some(10), "{info}");
    assert_eq!(contents["sampled"], contents["held"]);
    assert_eq!(contents["held_share"], 1.0);
    assert_eq!(contents["deviating"], Value::Array(Vec::new()));
    let mut wrong = None;
    copy(
        &bench.path("a.parquet"),
        &bench.path("b.parquet"),
        |block| {
            let row = (0..block.len()).find(|&row| {
                let change = block.changes.of(row);
                change.version == 1 && change.checksum != 0 && !change.words.is_empty()
            });
            if let (None, Some(row)) = (wrong, row) {
                let last = block.changes.ends[row] as usize - 1;
                block.changes.words[last].value ^= 1 << 40;
                wrong = Some(block.address[row] & !4095);
            }
        },
    );
    let info = bench.info("b.parquet");
    let contents = &info["contents"];
    assert!(
        contents["held"].as_u64() < contents["sampled"].as_u64(),
        "{info}"
    );
    assert_eq!(contents["deviating"][0]["address"].as_u64(), wrong);
    let table = text(&bench.terrace(&["trace", "info", "-q", "b.parquet"]).stdout);
    let place = format!("{:#x} of process 0", wrong.unwrap());
    assert!(
        table.contains("deviates") && table.contains(&place),
        "{table}"
    );
}

#[test]
fn a_killed_program_loses_nothing_that_was_reported() {
    let bench = Bench::new();
    let program = bench.program(
        "#include <signal.h>
         #include <unistd.h>
         static volatile long cells[4096] __attribute__((aligned(4096)));
         int main() {
             for (long i = 0; i < 200000; i++) cells[i * 513 % 4096] = i;
             return kill(getpid(), SIGKILL);
         }",
    );
    let program = program.to_str().unwrap();
    bench.terrace(&[
        "record",
        "-q",
        "-o",
        "a.parquet",
        "--contents",
        "--",
        program,
    ]);
    let memory = memory(&bench.path("a.parquet"));
    let verified = memory.verified();
    assert!(
        verified.sampled > 1000 && verified.held == verified.sampled,
        "{verified:?}"
    );
    // The last number that each cell got.
    let last = (0..200_000_u64)
        .rev()
        .take(4096)
        .find(|i| i * 513 % 4096 == 9)
        .unwrap();
    let holds = |page: &[u8; 4096]| number(&page[72..80]) == last;
    assert!(
        memory
            .pages()
            .any(|(process, page)| holds(memory.page(process, page)))
    );
}

#[test]
fn without_the_option_a_trace_has_no_contents() {
    let bench = Bench::new();
    let program = bench.program("int main() { return 0; }");
    bench.record(&["--level", "pages"], &program);
    let info = bench.info("a.parquet");
    assert!(info.get("contents").is_none());
    let source = terrace_trace::open(&bench.path("a.parquet"), Columns::ALL).unwrap();
    assert!(!source.meta().has_contents);
}

#[test]
fn what_does_not_go_with_contents_is_refused() {
    let bench = Bench::new();
    for (options, why) in [
        (&["--level", "lines"][..], "--level pages"),
        (&["--level", "accesses"], "--level pages"),
        (&["--filter", "l1l2"], "--filter l1l2"),
        (&["-o", "a.csv"], ".parquet"),
    ] {
        let arguments = [&["record", "--contents"], options, &["--", "true"]].concat();
        let output = bench.terrace(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(said.contains(why), "{options:?}: {said}");
    }
    assert_eq!(
        std::fs::read_dir(bench.directory.path()).unwrap().count(),
        0
    );
}

#[test]
fn a_part_of_a_trace_says_that_contents_are_lost() {
    let bench = Bench::new();
    let program = bench.program("int main() { return 0; }");
    bench.record(&["--contents"], &program);
    let convert = |options: &[&str], to: &str| {
        let arguments = [&["trace", "convert", "a.parquet", to], options].concat();
        let output = bench.terrace(&arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr)
    };
    assert_eq!(convert(&["-q"], "b.parquet"), "");
    assert_eq!(
        bench.info("b.parquet")["contents"],
        bench.info("a.parquet")["contents"]
    );
    assert!(convert(&["--skip", "5"], "c.parquet").contains("does not say what pages hold"));
    assert!(bench.info("c.parquet").get("contents").is_none());
    assert!(convert(&[], "d.csv").contains("what pages hold"));
}
