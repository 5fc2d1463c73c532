//! `terrace extend` with real programs. Needs `cc`, and root for userfaultfd.
//! Long: a program for each way in which memory is used.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

mod common;
use common::schema::checked;
use common::{needs, wait_for};

/// What follows the head of a program. `check` and `put` know what a page has to hold.
const PRELUDE: &str = "
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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

    /// Makes a block device of 64 MiB.
    fn device(&self) -> common::Loop {
        let image = self.directory.path().join("image");
        let made = std::fs::File::create(&image);
        made.unwrap().set_len(64 << 20).unwrap();
        common::Loop::over(&image)
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
        self.extend_linked(body, &[], options)
    }

    /// Runs a program that is linked with some libraries.
    fn extend_linked(&self, body: &str, libraries: &[&str], options: &[&str]) -> Extended {
        let program = self.program(body, libraries);
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
            results: serde_json::from_str(&text).map(checked).unwrap_or_default(),
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
        long first = (long)block;
        put_all(block, 0, pages);
        for (int turn = 0; turn < 3; turn++) check_all(block, pages);
        free(block);
        // Advice about memory that is gone fails, as without extended memory.
        if (madvise((void *)(first & -PAGE), PAGE, MADV_DOFORK) == 0) return 6;
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
        extended.measured("prefetched_used") > 0,
        "{}",
        extended.said
    );
    let dram = extended.results["settings"]["dram_bytes"].as_u64().unwrap();
    assert_eq!(dram, 750 * 4096);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn children_have_extended_memory_as_it_was() {
    let body = "
        long pages = 1000;
        char *block = malloc(pages * PAGE);
        put_all(block, 0, pages);
        int status;
        pid_t child = fork();
        if (child == 0) {
            for (int fd = 3; fd < 1000; fd++) close(fd);
            for (int fd = 900; fd < 920; fd++) dup2(1, fd);
            closefrom(3);
            check_all(block, pages);
            for (long p = 0; p < pages; p++) put(block + p * PAGE, p + 7);
            pid_t grandchild = fork();
            for (long p = 0; p < pages; p++) check(block + p * PAGE, p + 7);
            if (grandchild == 0) exit(4);
            waitpid(grandchild, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 4) exit(5);
            block = realloc(block, 2 * pages * PAGE);
            for (long p = 0; p < pages; p++) check(block + p * PAGE, p + 7);
            free(block); char *own = malloc(pages * PAGE); put_all(own, 0, pages);
            check_all(own, pages); exit(3); }
        for (long p = 0; p < pages; p++) put(block + p * PAGE, p + 9);
        for (long p = 0; p < pages; p++) check(block + p * PAGE, p + 9);
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) return 8;
        if (system(\"true\")) return 6;
        for (long p = 0; p < pages; p++) check(block + p * PAGE, p + 9);
        return 0;";
    let bench = Bench::new();
    let file = format!("{}/", bench.directory.path().display());
    for memory in ["pcm", &file] {
        let options = ["--dram", "100p", "--memory", memory, "--write", "sectors"];
        let extended = bench.extend(body, &options).succeeded();
        assert!(extended.measured("evicted_dirty") > 3000);
        assert!(extended.measured("peak_dram_bytes") <= 100 * 4096);
        assert_eq!(extended.results["other_processes"], 0);
    }
}

#[test]
#[ignore = "needs root: userfaultfd and loop devices"]
fn children_that_do_not_have_the_memory_do_not_see_zeros() {
    let bench = Bench::new();
    let device = bench.device();
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
        check_all(block, pages);
        return 0;";
    let options = ["--dram", "100p", "--memory", &device.0];
    let extended = bench.extend(body, &options).succeeded();
    let sentence = "has touched extended memory";
    assert!(extended.said.contains(sentence), "{}", extended.said);
    let refused = bench.extend(body, &[&options[..], &["--small-blocks"]].concat());
    assert_eq!(refused.output.status.code(), Some(2), "{}", refused.said);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn children_of_a_bare_clone_say_why_they_end() {
    let body = "
        long pages = 1000;
        char *block = malloc(pages * PAGE);
        put_all(block, 0, pages);
        int status;
        for (int own = 0; own < 2; own++) {
            pid_t child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
            if (child == 0) { if (own) *(volatile int *)8 = 1; else check(block, 0); _exit(0); }
            waitpid(child, &status, 0);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) return 8;
        }
        for (int error = 0; error < 3; error++) {
            pid_t child = fork();
            if (child == 0) {
                check_all(block, pages);
                if (error == 0) *(volatile int *)8 = 1;
                if (error == 1) { raise(SIGSEGV); exit(0); }
                mprotect((void *)((long)block & -PAGE), PAGE, PROT_NONE);
                *(volatile char *)block = 1;
                exit(0);
            }
            waitpid(child, &status, 0);
            if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV) return 7;
        }
        check_all(block, pages);
        return 0;";
    let extended = Bench::new().extend(body, &["--dram", "100p"]).succeeded();
    let sentences = extended.said.matches("has touched extended memory");
    assert_eq!(sentences.count(), 1, "{}", extended.said);
}

/// `fflush(NULL)` holds a lock that `fork` takes, while it waits for pages of a stream's buffer.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_fork_beside_a_flush_of_all_streams() {
    let body = "
        void *flush(void *unused) {
            FILE *stream = tmpfile();
            enum { BYTES = 2 << 20 };
            setvbuf(stream, malloc(BYTES), _IOFBF, BYTES);
            for (;;) {
                rewind(stream);
                for (int word = 0; word < BYTES / 8; word++) fwrite(&word, 4, 1, stream);
                fflush(NULL);
            }
        }
        pthread_t thread;
        alarm(600);
        pthread_create(&thread, NULL, flush, NULL);
        for (int turn = 0; turn < 60; turn++) {
            usleep(3000);
            pid_t child = fork();
            if (child == 0) { FILE *own = tmpfile(); fputs(\"word\", own); fflush(NULL); fclose(own); _exit(0); }
            int status;
            waitpid(child, &status, 0);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return 7;
        }
        return 0;";
    let options = ["--dram", "64p", "--applied-only"];
    let extended = Bench::new().extend(body, &options).succeeded();
    assert!(extended.measured("evicted_dirty") > 1000);
}

/// What follows `main` uses blocks of 8 to 4000 bytes, each of which says what it has to hold.
const SMALL: &str = "
        enum { MANY = 40000 };
        static unsigned char *blocks[MANY]; static int sizes[MANY];
        unsigned seed = 1;
        for (long step = 0; step < MANY * 3 / 2; step++) {
            seed = seed * 1103515245 + 12345;
            int at = (seed >> 8) % MANY, size = 8 + (seed >> 4) % (seed % 5 ? 200 : 4000);
            unsigned char *block = blocks[at];
            if (block) {
                if (block[0] != (at & 255) || block[sizes[at] - 1] != (at & 255)) return 20;
                if (malloc_usable_size(block) < (size_t)sizes[at]) return 21;
            }
            if (!block && seed & 1024) { block = calloc(1, size); for (int i = 0; i < size; i++) if (block[i]) return 22; }
            else if (seed & 2048) block = realloc(block, size);
            else { free(block); block = NULL;
                if (seed & 4096) { if (posix_memalign((void **)&block, 256, size) || (long)block & 255) return 23; }
                else block = malloc(size); }
            memset(block, at & 255, size);
            blocks[at] = block; sizes[at] = size;
        }
        #define CHECK_SMALL() do { for (int at = 0; at < MANY; at++) for (int i = 0; blocks[at] && i < sizes[at]; i++) \\
            if (blocks[at][i] != (at & 255)) return 24; } while (0)
        CHECK_SMALL();
        FILE *stream = tmpfile(); fprintf(stream, \"a line\\n\"); rewind(stream);
        char *line = NULL; size_t room = 0;
        if (getline(&line, &room, stream) != 7) return 25;
        int status; pid_t child = fork();
        if (child == 0) {
            CHECK_SMALL();
            for (int at = 0; at < MANY; at++) { free(blocks[at]); blocks[at] = NULL; }
            rewind(stream);
            if (getline(&line, &room, stream) != 7 || strcmp(line, \"a line\\n\")) return 26;
            return 3;
        }
        blocks[7] = realloc(blocks[7], 3 << 20); memset(blocks[7], 7, sizes[7] = 3 << 20);
        CHECK_SMALL();
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) return 27;
        if (system(\"true\")) return 28;
        CHECK_SMALL();
        return 0;";

#[test]
#[ignore = "needs root: userfaultfd"]
fn small_blocks_are_extended_if_asked_and_hold_what_was_written() {
    let bench = Bench::new();
    let directory = format!("{}/", bench.directory.path().display());
    for memory in ["pcm", &directory] {
        let options = ["--dram", "4M", "--memory", memory, "--small-blocks"];
        let options = [&options[..], &["--applied-only"]].concat();
        let extended = bench.extend(SMALL, &options).succeeded();
        assert!(extended.measured("footprint_bytes") > 6 << 20);
        assert!(extended.measured("evicted_dirty") > 2000);
    }
    let extended = bench.extend(SMALL, &["--dram", "100p"]).succeeded();
    assert!(extended.measured("footprint_bytes") < 4 << 20);
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn a_fork_beside_threads_that_use_small_blocks() {
    let body = "
        void *use(void *unused) { for (;;) { char *volatile block = malloc(2000); *block = 1; free(block); } }
        pthread_t thread;
        for (int started = 0; started < 2; started++) pthread_create(&thread, NULL, use, NULL);
        for (int turn = 0; turn < 200; turn++) {
            pid_t child = fork();
            if (child == 0) { alarm(600); char *volatile block = malloc(2000); *block = 1; _exit(0); }
            int status;
            waitpid(child, &status, 0);
            if (!WIFEXITED(status)) return 7;
        }
        return 0;";
    let options = ["--dram", "4M", "--applied-only", "--small-blocks"];
    Bench::new().extend(body, &options).succeeded();
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn small_blocks_that_threads_freed_are_used_again() {
    let body = "
        void *use(void *unused) {
            void *blocks[32];
            for (int bytes = 500; bytes <= 1000; bytes += 100) {
                for (int at = 0; at < 32; at++) blocks[at] = malloc(bytes);
                for (int at = 0; at < 32; at++) free(blocks[at]);
            }
            return NULL;
        }
        for (int turn = 0; turn < 1000; turn++) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, use, NULL) || pthread_join(thread, NULL)) return 8;
        }
        return 0;";
    let options = ["--dram", "4M", "--applied-only", "--small-blocks"];
    let extended = Bench::new().extend(body, &options).succeeded();
    let footprint = extended.results["measured"]["footprint_bytes"].as_u64();
    assert!(footprint.unwrap_or(0) < 8 << 20, "{}", extended.said);
}

/// The old address of a mapping that moves is another's at once.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_a_moved_mapping_holds_stays_while_another_comes_to_its_place() {
    let body = "
        enum { PAGES = 300, BYTES = PAGES * PAGE };
        static char *volatile left; static volatile int ended;
        void *come(void *unused) {
            while (!ended) {
                char *at = left;
                if (!at) continue;
                char *came = mmap(at, BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                if (came == MAP_FAILED) continue;
                for (long p = 0; p < PAGES; p++) put(came + p * PAGE, p + 5000);
                for (long p = 0; p < PAGES; p++) check(came + p * PAGE, p + 5000);
                munmap(came, BYTES);
                left = NULL;
            }
            return NULL;
        }
        char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        enum { TURNS = 150 };
        char *places = mmap(NULL, (long)TURNS * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        put_all(block, 0, PAGES);
        pthread_t thread;
        pthread_create(&thread, NULL, come, NULL);
        for (long turn = 0; turn < TURNS; turn++) {
            for (long p = 0; p < PAGES; p += 2) put(block + p * PAGE, p);
            left = block;
            block = mremap(block, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, places + turn * BYTES);
            if (block == MAP_FAILED) return 8;
            check_all(block, PAGES);
            // The place may be taken for something else.
            for (int wait = 0; left && wait < 1000; wait++) usleep(100);
            left = NULL;
        }
        ended = 1;
        return pthread_join(thread, NULL);";
    let options = ["--dram", "100p", "--applied-only"];
    Bench::new().extend(body, &options).succeeded();
}

/// A mapping that comes to the place of one that moves keeps its pages, though pages of the moved
/// one are about to leave: they must not be taken by the addresses that they had.
#[test]
#[ignore = "needs root: userfaultfd"]
fn what_comes_to_the_place_of_a_moved_mapping_does_not_leave_for_it() {
    let body = "
        enum { PAGES = 256, BYTES = PAGES * PAGE, TURNS = 60, EVICTORS = 4 };
        // Less than is extended, and the end of the block: what is in DRAM when it moves.
        enum { CAME = 255, FIRST = 150 };
        static char *volatile left;
        static volatile long taken;
        static volatile int ended;
        // Has pages of the block leave while it moves.
        void *evict(void *unused) {
            char *own = malloc(300 * PAGE);
            for (long p = 0; !ended; p++) {
                while (!left && !ended) usleep(10);
                own[p % 300 * PAGE]++;
            }
            return NULL;
        }
        void *come(void *unused) {
            while (!ended) {
                char *place = left;
                if (!place) continue;
                char *came = mmap(place, CAME * PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
                if (came == MAP_FAILED) continue;
                for (long p = FIRST; p < CAME; p++) put(came + p * PAGE, p + 5000);
                usleep(500);
                for (long p = FIRST; p < CAME; p++) check(came + p * PAGE, p + 5000);
                munmap(came, CAME * PAGE);
                taken++;
                left = NULL;
            }
            return NULL;
        }
        char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *places = mmap(NULL, (long)TURNS * BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        pthread_t threads[EVICTORS + 1];
        for (int i = 0; i < EVICTORS; i++) pthread_create(&threads[i], NULL, evict, NULL);
        pthread_create(&threads[EVICTORS], NULL, come, NULL);
        for (long turn = 0; turn < TURNS; turn++) {
            for (long p = 0; p < PAGES; p++) put(block + p * PAGE, p + turn);
            left = block;
            usleep(turn % 10 * 30);
            block = mremap(block, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, places + turn * BYTES);
            if (block == MAP_FAILED) return 8;
            // The place may be taken for something else.
            for (int wait = 0; left && wait < 1000; wait++) usleep(100);
            left = NULL;
            for (long p = 0; p < PAGES; p++) check(block + p * PAGE, p + turn);
        }
        ended = 1;
        for (int i = 0; i <= EVICTORS; i++) pthread_join(threads[i], NULL);
        // How often one came in time depends on who is faster.
        return taken == 0;";
    // A scheme that takes long, so that the pager is about to evict when the mapping moves.
    let options = ["--dram", "100p", "--write", "best", "--applied-only"];
    Bench::new().extend(body, &options).succeeded();
}

/// Handlers of forks run in the reverse order of their registration; those of a library are
/// registered before the program begins.
#[test]
#[ignore = "needs root: userfaultfd"]
fn handlers_of_forks_of_a_library_touch_extended_memory() {
    let bench = Bench::new();
    let library = bench.directory.path().join("libhandlers.so");
    let source = bench.directory.path().join("handlers.c");
    let text = "
        #include <pthread.h>
        char *touched; long bytes;
        static void touch(void) { for (long at = 0; at < bytes; at += 4096) touched[at]++; }
        __attribute__((constructor)) static void start(void) { pthread_atfork(touch, touch, touch); }";
    std::fs::write(&source, text).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(&library);
    assert!(compiler.arg(&source).status().unwrap().success());
    let body = "
        extern char *touched; extern long bytes;
        long pages = 300;
        pid_t program = getpid(), watch = fork();
        if (watch == 0) { sleep(600); kill(program, SIGKILL); _exit(0); }
        touched = calloc(pages, PAGE); bytes = pages * PAGE;
        pid_t child = fork();
        for (long p = 0; p < pages; p++) if (touched[p * PAGE] != 2) exit(8);
        if (child == 0) exit(3);
        int status;
        waitpid(child, &status, 0);
        kill(watch, SIGKILL);
        return !WIFEXITED(status) || WEXITSTATUS(status) != 3;";
    let linked = [library.to_str().unwrap()];
    let extended = bench.extend_linked(body, &linked, &["--dram", "100p"]);
    assert!(extended.succeeded().measured("evicted_dirty") > 500);
}

/// Runs a script with extended memory, and expects it to succeed.
fn python(script: &str, options: &[&str]) -> Extended {
    needs("/usr/bin/python3");
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("results.json");
    let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["extend", "--json"])
        .arg(&json)
        .args(options)
        .args(["--", "/usr/bin/python3", "-c", script])
        .output()
        .unwrap();
    let text = std::fs::read_to_string(json).unwrap_or_default();
    let extended = Extended {
        results: serde_json::from_str(&text).map(checked).unwrap_or_default(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
        output,
    };
    extended.succeeded()
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn pools_of_python_processes_have_what_their_parent_had() {
    let script = "
import hashlib, multiprocessing, subprocess
words = {n: str(n) * 5 for n in range(40000)}
block = bytearray(b''.join(n.to_bytes(4, 'little') for n in range(800000)))
def digest(turn):
    total = hashlib.sha256(block)
    for n in range(turn, 40000, 4):
        assert words[n] == str(n) * 5
        words[n] = None
    for n in range(0, len(block), 4096):
        block[n] = turn
    return total.hexdigest()
expected = hashlib.sha256(block).hexdigest()
context = multiprocessing.get_context('fork')
with context.Pool(3) as pool:
    first = pool.map_async(digest, range(3), chunksize=1)
    for n in range(1, len(block), 4096):
        block[n] ^= 255
    for n in range(1, len(block), 4096):
        block[n] ^= 255
    assert subprocess.run(['true'], preexec_fn=lambda: None).returncode == 0
    seen = first.get()
assert expected in seen, seen
assert hashlib.sha256(block).hexdigest() == expected
assert all(words[n] == str(n) * 5 for n in range(40000))
";
    for small in [&[][..], &["--small-blocks"]] {
        let options = [&["--dram", "25%", "--applied-only"], small].concat();
        let extended = python(script, &options);
        assert!(extended.measured("evicted_dirty") > 500);
    }
}

/// A snapshot that a forked server writes while its parent goes on is what another server reads.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_snapshot_of_redis_is_what_it_was() {
    needs("redis-server");
    needs("redis-cli");
    for small in [&[][..], &["--small-blocks"]] {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name).display().to_string();
        let (socket, json) = (at("socket"), at("results.json"));
        let server = |socket: &str| {
            let mut words: Vec<String> = [
                "redis-server",
                "--port",
                "0",
                "--save",
                "",
                "--unixsocket",
                socket,
            ]
            .map(String::from)
            .to_vec();
            words.extend([
                "--dir".into(),
                at(""),
                "--enable-debug-command".into(),
                "yes".into(),
            ]);
            words
        };
        let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args(["extend", "--dram", "12M", "--applied-only", "--json", &json])
            .args(small)
            .arg("--")
            .args(server(&socket))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let redis = Redis(&socket);
        redis.await_answer();
        redis.ask("DEBUG POPULATE 10000 key 2000");
        redis.fill("big", 2_000_000);
        let before = redis.ask("DEBUG DIGEST");
        assert_eq!(redis.ask("BGSAVE"), "Background saving started");
        redis.ask("DEBUG POPULATE 20000 other 500");
        redis.ask("FLUSHDB");
        redis.fill("other-big", 1_500_000);
        redis.ask("DEBUG POPULATE 10000 key 1000");
        while redis
            .ask("INFO persistence")
            .contains("rdb_bgsave_in_progress:1")
        {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(
            redis
                .ask("INFO persistence")
                .contains("rdb_last_bgsave_status:ok")
        );
        redis.ask("SHUTDOWN NOSAVE");
        assert!(terrace.wait().unwrap().success());
        let (second, words) = (at("second"), server(&at("second")));
        let mut plain = Command::new(&words[0])
            .args(&words[1..])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let redis = Redis(&second);
        redis.await_answer();
        let after = redis.ask("DEBUG DIGEST");
        redis.ask("SHUTDOWN NOSAVE");
        plain.wait().unwrap();
        assert_eq!(before, after);
        assert_ne!(before, "0".repeat(40));
        let results: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
        let evicted = results["measured"]["evicted_dirty"].as_u64().unwrap();
        assert!(evicted > 2000, "{results}");
    }
}

/// A server at a socket.
struct Redis<'a>(&'a str);

impl Redis<'_> {
    fn ask(&self, words: &str) -> String {
        self.call(&words.split(' ').collect::<Vec<_>>())
    }

    /// Sets twenty values of so many bytes, all different. Those of `DEBUG POPULATE` are zeros.
    fn fill(&self, name: &str, bytes: usize) {
        let script = format!(
            "for at = 10, 29 do redis.call('SET', '{name}' .. at, string.rep(at, {bytes} / 2)) end"
        );
        self.call(&["EVAL", &script, "0"]);
    }

    fn call(&self, words: &[&str]) -> String {
        let output = Command::new("redis-cli")
            .args(["-s", self.0])
            .args(words)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn await_answer(&self) {
        wait_for("the server to answer", || self.ask("PING") == "PONG");
    }
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

/// A thread, signals, a child, and memory that is dropped, read-only and unmapped while pages of it
/// lie aside.
#[test]
#[ignore = "needs root: userfaultfd"]
fn a_program_of_which_references_are_sampled() {
    let body = "
        static char *block; static volatile long ticks; static volatile int ends;
        long pages = 2000;
        void tick(int signal) { ticks++; check(block + ticks % 50 * PAGE, ticks % 50); }
        void *read_on(void *unused) { while (!ends) check_all(block, 50); return unused; }
        block = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        put_all(block, 0, pages);
        signal(SIGALRM, tick);
        ualarm(2000, 2000);
        pthread_t thread;
        pthread_create(&thread, NULL, read_on, NULL);
        for (int turn = 0; turn < 3; turn++) {
            check_all(block, pages);
            madvise(block + 1000 * PAGE, 100 * PAGE, MADV_DONTNEED);
            for (long i = 1000 * PAGE; i < 1100 * PAGE; i += 512) if (block[i]) return 8;
            put_all(block, 1000, 1100);
            mprotect(block + 100 * PAGE, 400 * PAGE, PROT_READ);
            check_all(block, pages);
            mprotect(block + 100 * PAGE, 400 * PAGE, PROT_READ | PROT_WRITE);
            put_all(block, 50, 500);
            int status;
            pid_t child = fork();
            if (child == 0) { check_all(block, pages); put_all(block, 0, pages); check_all(block, pages); _exit(3); }
            check_all(block, pages);
            while (waitpid(child, &status, 0) != child);
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) return 7;
        }
        ends = 1;
        pthread_join(thread, NULL);
        if (!ticks) return 6;
        munmap(block + 500 * PAGE, 1500 * PAGE);
        check_all(block, 500);
        return 0;";
    let options = ["--dram", "700p", "--replacement", "clock"];
    let options = [&options[..], &["--references", "50%", "--applied-only"]].concat();
    let extended = Bench::new().extend(body, &options).succeeded();
    assert_eq!(extended.results["settings"]["references"], 0.5);
    assert!(extended.measured("sampled") > 1000, "{}", extended.said);
    assert!(extended.measured("references") > 50, "{}", extended.said);
    assert!(extended.said.contains("sampled for references"));
}

#[test]
fn a_share_of_references_that_cannot_be_sampled_is_refused() {
    for (share, why) in [
        ("95%", "name a share above 0 % and up to 90 %"),
        ("0%", "name a share above 0 % and up to 90 %"),
        ("0.5", "`0.5` is no share; name one in percent, as 50%"),
        ("50%", "`fifo` evicts the same pages whatever is referenced"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_terrace"))
            .args([
                "extend",
                "--dram",
                "100p",
                "--references",
                share,
                "--",
                "cat",
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
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
    let device = bench.device();
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
    let device = bench.device();
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
