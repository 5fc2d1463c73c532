//! C programs, compiled against the header and linked with the libraries.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Programs, and what they are linked with.
struct Build {
    /// Where this was built, and with it the libraries.
    target: PathBuf,
    folder: tempfile::TempDir,
}

impl Build {
    /// Builds the libraries; `None`, which is said, if there is no C compiler.
    fn new() -> Option<Self> {
        if Command::new("cc").arg("--version").output().is_err() {
            eprintln!("SKIPPED: there is no C compiler, cc");
            return None;
        }
        // The test lies in TARGET/PROFILE/deps.
        let test = env::current_exe().unwrap();
        let target = test.ancestors().nth(2).unwrap().to_path_buf();
        let release = target.ends_with("release").then_some("--release");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo
            .args(["build", "--offline", "--package", "terrace-heap-c"])
            .args(release);
        cargo.arg("--target-dir").arg(target.parent().unwrap());
        done(&cargo.output().unwrap(), "the libraries");
        let folder = tempfile::tempdir().unwrap();
        Some(Self { target, folder })
    }

    fn compile(&self, source: &str, shared: bool) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.folder.path().join("program");
        let mut cc = Command::new("cc");
        cc.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
            .arg(here.join("include"))
            .arg(here.join(source))
            .arg("-o")
            .arg(&program);
        match shared {
            true => cc
                .arg(format!("-L{}", self.target.display()))
                .arg("-lterrace_heap")
                .arg(format!("-Wl,-rpath,{}", self.target.display())),
            false => cc
                .arg(self.target.join("libterrace_heap.a"))
                .args(["-ldl", "-lm"]),
        };
        done(&cc.output().unwrap(), source);
        program
    }

    /// Compiles and runs a program; says what it prints.
    fn run(&self, source: &str, shared: bool, words: &[&str]) -> String {
        let pool = self.folder.path().join("pool");
        let mut program = Command::new(self.compile(source, shared));
        let output = program.arg(pool).args(words).output().unwrap();
        done(&output, source);
        String::from_utf8(output.stdout).unwrap()
    }
}

fn done(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
}

#[test]
fn what_one_process_makes_the_next_one_finds() {
    for shared in [true, false] {
        let Some(build) = Build::new() else { return };
        build.run("tests/c/make.c", shared, &[]);
        build.run("tests/c/find.c", shared, &[]);
        let pool = build.folder.path().join("pool");
        let pool = terrace_heap::Mapped::open(&pool, terrace_heap::Mode::Private).unwrap();
        assert_eq!(terrace_heap::check::check(pool), []);
    }
}

#[test]
fn what_is_wrong_is_a_sentence() {
    let Some(build) = Build::new() else { return };
    build.run("tests/c/wrong.c", true, &[]);
}

#[test]
fn the_example_moves_money() {
    let Some(build) = Build::new() else { return };
    let example = "examples/c/accounts.c";
    let first = build.run(example, true, &["0", "1", "30"]);
    assert!(first.contains("a new bank"), "{first}");
    let second = build.run(example, true, &["1", "2", "10"]);
    let balances = "account 0: -30\naccount 1: 20\naccount 2: 10\naccount 3: 0\ntransfers: 2\n";
    assert_eq!(second, balances);
}
