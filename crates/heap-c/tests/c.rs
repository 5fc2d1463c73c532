//! C programs, compiled against the header and linked with the libraries.
//!
//! `CC` says which compiler (`cc` unless told), `CFLAGS` what it is told besides, and `C_RUNNER`
//! under what programs run: `scripts/test-c-sanitized.sh` needs that.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use terrace_heap::{Mapped, Mode, check};

#[path = "common/mod.rs"]
mod common;
use common::{Build, HERE, done, needs};

/// The example that moves money.
const ACCOUNTS: &str = "examples/c/accounts.c";
/// The example that keeps keys and values.
const STORE: &str = "examples/c/store.c";

fn expect_sound(pool: &Path) {
    let pool = Mapped::open(pool, Mode::Private).unwrap();
    assert_eq!(check::check(pool), []);
}

#[test]
fn what_one_process_makes_the_next_one_finds() {
    for shared in [true, false] {
        let build = Build::new();
        build.run("tests/c/make.c", shared, &[]);
        build.run("tests/c/find.c", shared, &[]);
        expect_sound(&build.pool());
    }
}

#[test]
fn what_is_wrong_is_a_sentence() {
    for source in ["tests/c/wrong.c", "tests/c/misused.c"] {
        let build = Build::new();
        build.run(source, true, &[]);
        expect_sound(&build.pool());
    }
}

#[test]
fn containers_hold_bytes() {
    for source in ["tests/c/maps.c", "tests/c/queues.c", "tests/c/emptied.c"] {
        let build = Build::new();
        build.run(source, true, &[]);
        expect_sound(&build.pool());
    }
}

#[test]
fn damage_is_an_error_and_the_rest_is_salvaged() {
    Build::new().run("tests/c/salvaged.c", true, &[]);
}

#[test]
fn damaged_containers_are_left_out_and_named() {
    Build::new().run("tests/c/compacted.c", true, &[]);
}

#[test]
fn cursors_go_both_ways() {
    let build = Build::new();
    build.run("tests/c/cursors.c", true, &[]);
}

#[test]
fn statistics_may_grow() {
    let build = Build::new();
    build.run("tests/c/statistics.c", true, &[]);
}

#[test]
fn transactions_happen_wholly_or_not_at_all() {
    let build = Build::new();
    build.run("tests/c/transactions.c", true, &[]);
    expect_sound(&build.pool());
}

#[test]
fn threads_that_want_the_same_get_on() {
    let build = Build::new();
    build.run("tests/c/conflicts.c", true, &[]);
}

#[test]
fn of_a_transaction_that_is_killed_all_is_there_or_nothing() {
    // A plain file, in which what is durable was synced, and lines in memory.
    for folder in [std::env::temp_dir().as_path(), Path::new("/dev/shm")] {
        let build = Build::new_in(folder);
        build.run("tests/c/killed.c", true, &[]);
        expect_sound(&build.pool());
    }
}

#[test]
fn the_first_example_moves_money() {
    let build = Build::new();
    let first = build.run(ACCOUNTS, true, &["0", "1", "30"]);
    assert!(first.contains("a new bank"), "{first}");
    let second = build.run(ACCOUNTS, true, &["1", "2", "10"]);
    let balances = "account 0: -30\naccount 1: 20\naccount 2: 10\naccount 3: 0\ntransfers: 2\n";
    assert_eq!(second, balances);
}

#[test]
fn the_second_example_keeps_keys_and_values() {
    let build = Build::new();
    let store = |words: &[&str]| build.run(STORE, true, words);
    assert_eq!(store(&["put", "user/anna", "30"]), "");
    assert_eq!(store(&["put", "user/carl", "40"]), "");
    assert_eq!(store(&["put", "version", "1"]), "");
    assert_eq!(store(&["rename", "user/carl", "user/Carl"]), "");
    assert_eq!(store(&["get", "user/Carl"]), "40\n");
    assert_eq!(
        store(&["list", "user/"]),
        "user/Carl = 40\nuser/anna = 30\n"
    );
    assert_eq!(store(&["remove", "user/anna"]), "");
    assert_eq!(store(&["list"]), "user/Carl = 40\nversion = 1\n");
    let log = "put user/anna\nput user/carl\nput version\nrename user/carl to user/Carl\n";
    assert_eq!(store(&["log"]), log);
    assert_eq!(store(&["log"]), "");
    expect_sound(&build.pool());
}

/// Puts it below a folder, and removes it.
fn make(target: &str, build: &Build, prefix: &Path, below: &str) {
    let mut make = Command::new("make");
    make.args([target, "--no-print-directory", "-C"])
        .arg(Path::new(HERE).ancestors().nth(2).unwrap())
        .arg(format!("PREFIX={}", prefix.display()))
        .arg(format!("DESTDIR={below}"))
        .arg(format!("BUILT={}", build.target.display()))
        // Of a make that runs this test.
        .env_remove("MAKEFLAGS");
    done(&make.output().unwrap(), target);
}

fn pkg_config(prefix: &Path, words: &[&str]) -> Vec<String> {
    let mut pkg_config = Command::new("pkg-config");
    pkg_config
        .args(words)
        .arg("terrace_heap")
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    let output = pkg_config.output().unwrap();
    done(&output, "pkg-config");
    let said = String::from_utf8(output.stdout).unwrap();
    said.split_whitespace().map(str::to_owned).collect()
}

/// All files below a folder, and links.
fn files(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => drop(found.insert(entry.file_name().into_string().unwrap())),
        }
    }
    found
}

#[test]
fn what_is_installed_is_found_by_pkg_config() {
    let build = Build::new();
    for program in ["make", "pkg-config"] {
        needs(program);
    }
    let version = env!("CARGO_PKG_VERSION");
    let prefix = build.folder().join("prefix");
    make("install-heap-c", &build, &prefix, "");
    assert_eq!(pkg_config(&prefix, &["--modversion"]), [version]);
    let flags = pkg_config(&prefix, &["--cflags", "--libs"]);
    let program = build.compile_with(&Path::new(HERE).join(ACCOUNTS), &flags);
    // It is found by its soname, not by the name with which it was linked.
    fs::remove_file(prefix.join("lib/libterrace_heap.so")).unwrap();
    let mut command = build.command(&program, &["0", "1", "30"]);
    let output = command.env("LD_LIBRARY_PATH", prefix.join("lib")).output();
    let output = output.unwrap();
    done(&output, ACCOUNTS);
    assert!(output.stdout.ends_with(b"transfers: 1\n"));
    // Without it, the static library is what is linked with.
    let flags = pkg_config(&prefix, &["--static", "--cflags", "--libs"]);
    let program = build.compile_with(&Path::new(HERE).join(ACCOUNTS), &flags);
    let output = build.command(&program, &["0", "1", "30"]).output().unwrap();
    done(&output, ACCOUNTS);
    assert!(output.stdout.ends_with(b"transfers: 2\n"));
    make("uninstall", &build, &prefix, "");
    assert_eq!(files(&prefix), BTreeSet::new());

    // Of a package, which is made elsewhere than it lies later.
    let below = build.folder().join("package");
    make(
        "install-heap-c",
        &build,
        Path::new("/opt/heap"),
        below.to_str().unwrap(),
    );
    let soname = format!("libterrace_heap.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
    let all = [
        "libterrace_heap.a",
        "libterrace_heap.so",
        &soname,
        &format!("libterrace_heap.so.{version}"),
        "terrace_heap.h",
        "terrace_heap.pc",
    ];
    assert_eq!(
        files(&below.join("opt/heap")),
        all.map(str::to_owned).into()
    );
    let flags = pkg_config(&below.join("opt/heap"), &["--cflags", "--libs"]);
    assert_eq!(
        flags,
        ["-I/opt/heap/include", "-L/opt/heap/lib", "-lterrace_heap"]
    );
}

/// All text of the files in a folder that end so.
fn text_of(folder: &str, end: &str) -> String {
    let files = fs::read_dir(Path::new(HERE).join(folder)).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let wanted = paths.filter(|path| path.extension().is_some_and(|found| found == end));
    wanted
        .map(|path| fs::read_to_string(path).unwrap())
        .collect()
}

/// The names of functions of ours that follow `before`, as far as a `(` follows them.
fn functions<'t>(text: &'t str, before: &str) -> BTreeSet<&'t str> {
    let first = format!("{before}nvm_");
    let places = text.match_indices(&first);
    let names = places.filter_map(|(at, _)| {
        let (name, _) = text[at + before.len()..].split_once('(')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        name.chars().all(is_name).then_some(name)
    });
    names.collect()
}

/// Text without comments as C has them.
fn without_comments(text: &str) -> String {
    let parts = text.split("/*");
    parts
        .map(|part| part.split_once("*/").map_or(part, |(_, code)| code))
        .collect()
}

#[test]
fn every_function_is_there_and_has_a_test_in_c() {
    let header = without_comments(&text_of("include", "h"));
    let declared = functions(&header, "");
    assert!(declared.contains("nvm_hash_put") && declared.contains("nvm_at"));

    let sources = text_of("src", "rs");
    let mut defined = functions(&sources, "extern \"C\" fn ");
    // Those of maps are defined by macros, whose calls name them.
    let calls = ["map_calls!(", "pop_call!("];
    for call in calls.into_iter().flat_map(|of| sources.split(of).skip(1)) {
        let names = call.split(");").next().unwrap_or_default();
        let words = names.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        defined.extend(words.filter(|word| word.starts_with("nvm_")));
    }
    // Written in the header.
    defined.insert("nvm_at");
    assert_eq!(declared, defined);

    let tests = without_comments(&text_of("tests/c", "c"));
    let called = functions(&tests, "");
    let missing: Vec<_> = declared.difference(&called).collect();
    assert!(missing.is_empty(), "no test in C calls {missing:?}");
}

#[test]
fn the_header_is_one_of_cpp_as_well() {
    needs("c++");
    let mut compiler = Command::new("c++");
    compiler
        .args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic"])
        .args(["-fsyntax-only", "-x", "c++"])
        .arg(Path::new(HERE).join("include/terrace_heap.h"));
    done(&compiler.output().unwrap(), "the header");
}
