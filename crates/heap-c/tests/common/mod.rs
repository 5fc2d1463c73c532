//! C programs, and what they are linked with.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of this crate.
pub const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A folder for programs and pools.
pub struct Build {
    /// Where this was built, and with it the libraries.
    pub target: PathBuf,
    folder: tempfile::TempDir,
}

/// The words of a variable; `otherwise` if there is none.
fn words(variable: &str, otherwise: &str) -> Vec<String> {
    let said = env::var(variable).unwrap_or(otherwise.to_owned());
    said.split_whitespace().map(str::to_owned).collect()
}

/// Fails where a program is not installed.
pub fn needs(program: &str) {
    let asked = Command::new(program).arg("--version").output();
    assert!(asked.is_ok(), "this test needs {program}");
}

impl Build {
    /// Builds the libraries, unless `make test` has.
    pub fn new() -> Self {
        Self::new_in(&env::temp_dir())
    }

    /// Same as [`Build::new`], with its folder in this one.
    pub fn new_in(folder: &Path) -> Self {
        needs(&words("CC", "cc")[0]);
        // The test lies in TARGET/PROFILE/deps.
        let test = env::current_exe().unwrap();
        let target = test.ancestors().nth(2).unwrap().to_path_buf();
        let release = target.ends_with("release").then_some("--release");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo
            .args(["build", "--offline", "--package", "terrace-heap-c"])
            .args(release);
        cargo.arg("--target-dir").arg(target.parent().unwrap());
        if env::var_os("TERRACE_C_BUILT").is_none() {
            done(&cargo.output().unwrap(), "the libraries");
        }
        let folder = tempfile::tempdir_in(folder).unwrap();
        let soname = format!("libterrace_heap.so.{}", env!("CARGO_PKG_VERSION_MAJOR"));
        symlink(
            target.join("libterrace_heap.so"),
            folder.path().join(soname),
        )
        .unwrap();
        Self { target, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn pool(&self) -> PathBuf {
        self.folder().join("pool")
    }

    /// Compiles a program, with these words behind it.
    pub fn compile_with(&self, source: &Path, behind: &[impl AsRef<OsStr>]) -> PathBuf {
        let program = self.folder().join("program");
        let compiler = words("CC", "cc");
        let mut cc = Command::new(&compiler[0]);
        cc.args(&compiler[1..])
            .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .args(words("CFLAGS", ""))
            .arg(source)
            .arg("-o")
            .arg(&program)
            .args(behind);
        done(&cc.output().unwrap(), &source.display().to_string());
        program
    }

    fn compile(&self, source: &str, shared: bool) -> PathBuf {
        let here = Path::new(HERE);
        let include = format!("-I{}", here.join("include").display());
        let target = self.target.display();
        let behind = match shared {
            true => vec![
                include,
                format!("-L{target}"),
                "-lterrace_heap".to_owned(),
                format!("-Wl,-rpath,{}", self.folder().display()),
            ],
            false => vec![
                include,
                format!("{target}/libterrace_heap.a"),
                "-ldl".to_owned(),
                "-lm".to_owned(),
            ],
        };
        self.compile_with(&here.join(source), &behind)
    }

    /// A program, as it is run: with the pool and these words.
    pub fn command(&self, program: &Path, said: &[&str]) -> Command {
        let runner = words("C_RUNNER", "env");
        let mut command = Command::new(&runner[0]);
        command.args(&runner[1..]).arg(program).arg(self.pool());
        command.args(said);
        command
    }

    /// Compiles and runs a program; says what it prints.
    pub fn run(&self, source: &str, shared: bool, said: &[&str]) -> String {
        let program = self.compile(source, shared);
        let output = self.command(&program, said).output().unwrap();
        done(&output, source);
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Expects a program to have ended well.
pub fn done(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {}\n{said}", output.status);
}
