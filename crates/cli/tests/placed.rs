//! `--place` with real programs: of `terrace run` and `terrace extend`. Needs `qemu-x86_64` and
//! `cc`, and root for swap and userfaultfd.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

mod common;
use common::{machine, needs, text};

/// A program with two arrays of the same size, of which `hot` is read again and again, and more
/// memory than both behind them. At its end it says how many pages of each array are in swap, and
/// whether the kernel hands its faults out.
///
/// With an argument several processes make the hot array, and say how much of their memory is
/// locked: two children, which keep theirs until both have one, then their parent, and a child of
/// it, which frees its parent's before.
const PROGRAM: &str = "
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
enum { PAGE = 4096, BYTES = 8 << 20 };

static char *make(size_t bytes) {
    char *made = malloc(bytes);
    memset(made, 1, bytes);
    return made;
}

static void show(const char *name, char *array) {
    int pagemap = open(\"/proc/self/pagemap\", O_RDONLY);
    long swapped = 0, handed = 0;
    for (char *page = array + PAGE; page < array + BYTES - PAGE; page += PAGE) {
        uint64_t entry = 0;
        pread(pagemap, &entry, 8, (uintptr_t)page / PAGE * 8);
        swapped += entry >> 62 & 1;
    }
    FILE *maps = fopen(\"/proc/self/smaps\", \"r\");
    char line[512];
    unsigned long start, end;
    int inside = 0;
    while (fgets(line, sizeof line, maps)) {
        if (sscanf(line, \"%lx-%lx \", &start, &end) == 2)
            inside = start <= (uintptr_t)array + PAGE && (uintptr_t)array + PAGE < end;
        else if (inside && !strncmp(line, \"VmFlags:\", 8))
            handed = strstr(line, \" um\") != NULL;
    }
    printf(\"%s swapped %ld handed %ld\\n\", name, swapped, handed);
}

static long locked(void) {
    FILE *status = fopen(\"/proc/self/status\", \"r\");
    char line[256];
    long found = -1;
    while (fgets(line, sizeof line, status)) sscanf(line, \"VmLck: %ld\", &found);
    fclose(status);
    return found;
}

/// Forks a process that tells when it has gone on; waits until it has.
static pid_t fork_one(int *told) {
    int ends[2];
    if (pipe(ends)) exit(4);
    pid_t child = fork();
    *told = ends[1];
    char byte;
    if (child) {
        close(ends[1]);
        read(ends[0], &byte, 1);
    }
    return child;
}

int main(int count, char **words) {
    const char *who = count > 1 ? \"parent\" : NULL;
    int told = -1;
    pid_t first = who ? fork_one(&told) : 1, second = who && first ? fork_one(&told) : 1;
    if (!first || !second)
        who = first ? \"second\" : \"first\";
    else if (who)
        kill(first, SIGKILL), kill(second, SIGKILL), wait(NULL), wait(NULL);
    char *hot = NULL;
    do {
        free(hot);
        hot = make(BYTES);
        if (!who) break;
        printf(\"%s locked %ld\\n\", who, locked());
        fflush(stdout);
        if (told >= 0) write(told, words[1], 1);
        if (*who != 'p') pause();
        first = fork_one(&told);
        if (first) return kill(first, SIGKILL);
        who = \"child\";
    } while (1);
    char *cold = make(BYTES);
    long sum = 0;
    for (int turn = 0; turn < 3; turn++)
        for (long at = 0; at < BYTES; at += 64) sum += hot[at * 4097 % BYTES];
    char *rest = make(3 * BYTES);
    for (long at = 0; at < BYTES; at += PAGE)
        if (hot[at] != 1 || cold[at] != 1 || rest[at] != 1) return 3;
    memset(rest, 1, 3 * BYTES);
    show(\"hot\", hot);
    show(\"cold\", cold);
    free(hot);
    hot = make(BYTES / 4);
    return sum == 1 || hot[9] != 1;
}
";

struct Bench {
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        needs("cc");
        needs("qemu-x86_64");
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Compiles the program in a folder of its own, as other builds would.
    fn program(&self, folder: &str, name: &str, options: &[&str]) -> PathBuf {
        let folder = self.path(folder);
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("arrays.c");
        std::fs::write(&file, PROGRAM).unwrap();
        let program = folder.join(name);
        let mut cc = Command::new("cc");
        cc.args(options).arg("-o").args([&program, &file]);
        let made = cc.output().unwrap();
        assert!(made.status.success(), "{}", text(&made));
        program
    }

    /// Records the program, and places what fits into 9 MiB, which is the hot array.
    fn placement(&self, program: &Path) -> PathBuf {
        let (trace, file) = (self.path("a.parquet"), self.path("a.toml"));
        let run = |command: &mut Command| {
            let output = command.output().unwrap();
            assert!(output.status.success(), "{}", text(&output));
        };
        let record = [
            "record",
            "--quiet",
            "--allocations",
            "--filter",
            "l1l2",
            "-o",
        ];
        run(terrace().args(record).arg(&trace).arg("--").arg(program));
        let place = ["place", "--quiet", "--fast", "9M", "--llc", "128K", "-o"];
        run(terrace().args(place).arg(&file).arg(&trace));
        let placed = std::fs::read_to_string(&file).unwrap();
        assert!(placed.contains("fast_bytes = 8388608"), "{placed}");
        file
    }
}

fn terrace() -> Command {
    Command::new(env!("CARGO_BIN_EXE_terrace"))
}

/// What the program said of an array: its pages in swap, and whether faults are handed out.
fn said(output: &Output, array: &str) -> (u64, u64) {
    assert!(output.status.success(), "{}", text(output));
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = printed.lines().find(|line| line.starts_with(array));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("{printed}"))
        .split(' ')
        .collect();
    (words[2].parse().unwrap(), words[4].parse().unwrap())
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn placed_objects_are_never_in_swap() {
    let bench = Bench::new();
    let file = bench.placement(&bench.program("a", "arrays", &["-g", "-O1"]));
    // Other addresses, other code, another folder.
    let rebuilt = bench.program(
        "b",
        "arrays",
        &["-g", "-O2", "-no-pie", "-fno-inline-functions"],
    );
    let machine = machine();
    let run = |options: &[&str]| {
        let mut command =
            machine.command(&["run", "--quiet", "--dram", "24M", "--prefetch", "off"]);
        command
            .args(options)
            .arg("--")
            .arg(&rebuilt)
            .output()
            .unwrap()
    };
    let without = run(&[]);
    assert!(
        said(&without, "hot").0 > 0 && said(&without, "cold").0 > 0,
        "{}",
        text(&without)
    );
    let with = run(&["--place", file.to_str().unwrap()]);
    assert_eq!(said(&with, "hot").0, 0, "{}", text(&with));
    assert!(said(&with, "cold").0 > 0, "{}", text(&with));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn processes_share_what_a_placement_has() {
    let bench = Bench::new();
    let program = bench.program("a", "arrays", &["-g", "-O1"]);
    let file = bench.placement(&program);
    let machine = machine();
    let mut command = machine.command(&["run", "--quiet", "--dram", "64M", "--prefetch", "off"]);
    let run = command.arg("--place").arg(file).arg("--").arg(program);
    let output = run.arg("several").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    // The whole pages of the array.
    let all = (8 << 10) - 4;
    let said =
        format!("first locked {all}\nsecond locked 0\nparent locked {all}\nchild locked 0\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), said);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn placed_objects_are_not_extended() {
    let bench = Bench::new();
    let program = bench.program("a", "arrays", &["-g", "-O1"]);
    let file = bench.placement(&program);
    let run = |options: &[&str]| {
        let mut command = terrace();
        command
            .args(["extend", "--quiet", "--dram", "20M"])
            .args(options);
        command.arg("--").arg(&program).output().unwrap()
    };
    let without = run(&[]);
    assert_eq!((said(&without, "hot").1, said(&without, "cold").1), (1, 1));
    let with = run(&["--place", file.to_str().unwrap()]);
    assert_eq!((said(&with, "hot").1, said(&with, "cold").1), (0, 1));
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_cannot_be_placed_is_said() {
    let bench = Bench::new();
    let program = bench.program("a", "arrays", &["-g", "-O1"]);
    let file = bench.placement(&program);
    let file = file.to_str().unwrap();
    let other = bench.program("b", "another", &["-g", "-O1"]);
    let stripped = bench.program("c", "arrays", &["-s", "-O1"]);
    let machine = machine();
    let run = |command: &str, dram: &str, program: &Path| {
        let mut command = machine.command(&[command, "--quiet", "--dram", dram, "--place", file]);
        command.arg("--").arg(program).output().unwrap()
    };
    for command in ["run", "extend"] {
        let refused = run(command, "64M", &other);
        assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
        let why = "is the placement of arrays, and another is to be run";
        assert!(text(&refused).contains(why), "{}", text(&refused));

        let small = run(command, "11M", &program);
        assert_eq!(small.status.code(), Some(2), "{}", text(&small));
        assert!(
            text(&small).contains("the placement needs 8.00 MiB of DRAM"),
            "{}",
            text(&small)
        );

        // Without symbols its calls have other names.
        let unknown = run(command, "64M", &stripped);
        assert!(unknown.status.success(), "{}", text(&unknown));
        assert_eq!(said(&unknown, "hot").0, 0, "64 MiB suffice");
    }
    let noted = machine
        .command(&["run", "--dram", "64M", "--place", file, "--"])
        .arg(&stripped)
        .output();
    let noted = text(&noted.unwrap());
    assert!(
        noted.contains("allocated at none of the placement's sites"),
        "{noted}"
    );
    machine.assert_as_found();
}
