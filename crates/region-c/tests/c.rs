//! C programs, compiled against the header and linked with the libraries.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The folder of this crate.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Libraries, and a folder for programs.
struct Build {
    /// Where this was built, and with it the libraries.
    target: PathBuf,
    folder: tempfile::TempDir,
}

/// Expects a program to have ended well.
fn done(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
}

impl Build {
    /// Builds the libraries, unless `make test` has.
    fn new() -> Self {
        // The test lies in TARGET/PROFILE/deps.
        let test = env::current_exe().unwrap();
        let target = test.ancestors().nth(2).unwrap().to_path_buf();
        let release = target.ends_with("release").then_some("--release");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo
            .args(["build", "--offline", "--package", "terrace-region-c"])
            .args(release)
            .arg("--target-dir")
            .arg(target.parent().unwrap());
        if env::var_os("TERRACE_C_BUILT").is_none() {
            done(&cargo.output().unwrap(), "the libraries");
        }
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Self { target, folder }
    }

    /// Compiles a program as C99, with these words behind it.
    fn compile(&self, source: &str, behind: &[impl AsRef<OsStr>]) -> PathBuf {
        let program = self.folder.path().join("program");
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .arg(Path::new(HERE).join(source))
            .arg("-o")
            .arg(&program)
            .args(behind);
        done(&cc.output().expect("this test needs cc"), source);
        program
    }

    /// Compiles and runs a program with the static library, with a folder that it may use.
    fn run(&self, source: &str) {
        let include = format!("-I{HERE}/include");
        let library = self.target.join("libterrace_region.a");
        let library = library.to_str().unwrap();
        let program = self.compile(source, &[&include, library, "-ldl", "-lm"]);
        let memory = tempfile::tempdir_in(self.folder.path()).unwrap();
        let output = Command::new(program).arg(memory.path()).output().unwrap();
        done(&output, source);
        assert_eq!(fs::read_dir(memory.path()).unwrap().count(), 0);
    }
}

#[test]
fn what_is_wrong_is_a_sentence() {
    Build::new().run("tests/c/wrong.c");
}

#[test]
#[ignore = "needs root: userfaultfd"]
fn threads_and_children_use_regions() {
    Build::new().run("tests/c/use.c");
}

/// Runs make on a target, for a prefix.
fn make(target: &str, build: &Build, prefix: &Path) {
    let mut make = Command::new("make");
    make.args([target, "--no-print-directory", "-C"])
        .arg(Path::new(HERE).ancestors().nth(2).unwrap())
        .arg(format!("PREFIX={}", prefix.display()))
        .arg(format!("BUILT={}", build.target.display()))
        // Of a make that runs this test.
        .env_remove("MAKEFLAGS");
    done(&make.output().unwrap(), target);
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
#[ignore = "needs root: userfaultfd"]
fn the_example_runs_with_what_is_installed() {
    let build = Build::new();
    let prefix = build.folder.path().join("prefix");
    make("install-region-c", &build, &prefix);
    let pkg_config = Command::new("pkg-config")
        .args(["--cflags", "--libs", "terrace_region"])
        .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
        .output()
        .expect("this test needs pkg-config");
    done(&pkg_config, "pkg-config");
    let flags = String::from_utf8(pkg_config.stdout).unwrap();
    let flags: Vec<&str> = flags.split_whitespace().collect();
    let program = build.compile("examples/c/histogram.c", &flags);
    // It is found by its soname, not by the name with which it was linked.
    fs::remove_file(prefix.join("lib/libterrace_region.so")).unwrap();
    let mut run = Command::new(program)
        .arg("pcm")
        .env("LD_LIBRARY_PATH", prefix.join("lib"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let text: String = (0..20_000)
        .map(|word| format!("{} ", word % 9000))
        .collect();
    let mut stdin = run.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = run.wait_with_output().unwrap();
    done(&output, "the example");
    let said = String::from_utf8(output.stdout).unwrap();
    // The words touch 3484 pages. Behind pages in a row others are filled ahead, at most 4 at a
    // time, as far as DRAM has room at that moment. Words in any order hardly meet such rows.
    let words = said.strip_prefix("20000 words, about 9000 different\n");
    let pages = words.and_then(|words| words.split_once(" pages, "));
    let pages: u64 = pages.unwrap_or_else(|| panic!("{said}")).0.parse().unwrap();
    assert!((3484..=3484 + 35).contains(&pages), "{said}");
    make("uninstall", &build, &prefix);
    assert_eq!(files(&prefix), BTreeSet::new());
}

/// The names of functions of ours in C.
fn functions(text: &str) -> BTreeSet<&str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before_calls = text.match_indices('(').map(|(at, _)| &text[..at]);
    let names = before_calls.filter_map(|text| text.rsplit(|c| !is_name(c)).next());
    names.filter(|name| name.starts_with("terrace_")).collect()
}

#[test]
fn every_function_is_there_and_has_a_test_in_c() {
    let read = |path: &str| fs::read_to_string(Path::new(HERE).join(path)).unwrap();
    let header = read("include/terrace_region.h");
    let code: String = header
        .split("/*")
        .map(|part| part.split_once("*/").map_or(part, |(_, code)| code))
        .collect();
    let sources = ["error", "extension", "figures"].map(|name| read(&format!("src/{name}.rs")));
    let sources = sources.concat();
    let defined: String = sources.split("extern \"C\" fn ").skip(1).collect();
    let tests = ["test.h", "use.c", "wrong.c"].map(|name| read(&format!("tests/c/{name}")));
    assert_eq!(functions(&code), functions(&defined));
    assert_eq!(functions(&code), functions(&tests.concat()));
}

#[test]
fn the_header_is_one_of_c99_and_cpp() {
    for (compiler, standard, language) in [("cc", "c99", "c"), ("c++", "c++11", "c++")] {
        let mut command = Command::new(compiler);
        command
            .arg(format!("-std={standard}"))
            .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"])
            .args(["-x", language])
            .arg(Path::new(HERE).join("include/terrace_region.h"));
        let output = command.output();
        done(
            &output.unwrap_or_else(|_| panic!("this test needs {compiler}")),
            compiler,
        );
    }
}
