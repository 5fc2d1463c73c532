//! What the tests of the command share: the machine on which runs are made, one test of a binary at
//! a time, and what they need of it. A test whose needs are not met fails with what it lacks; the
//! ignored ones are run by `make test-root` and `make test-data`, where these are promised.
#![allow(dead_code, reason = "each binary uses a part")]

pub mod command;
pub mod help;
pub mod lasting;
pub mod neighbour;
pub mod schema;

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Runs share the machine's swap.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The machine, as one test has it for itself.
pub struct Machine {
    _lock: MutexGuard<'static, ()>,
    /// The state directory of its runs.
    pub state: tempfile::TempDir,
    /// What runs may change, as the test found it.
    pub before: Vec<String>,
}

/// Returns the machine when no other test of the binary has it; fails where runs are not possible.
pub fn machine() -> Machine {
    let machine = any_machine();
    let doctor = machine.terrace(&["doctor", "--json"]);
    let found = schema::checked(serde_json::from_slice(&doctor.stdout).expect("JSON"));
    assert_eq!(
        found["ready"], true,
        "this test needs what `terrace doctor` marks NO here"
    );
    machine
}

/// Same as [`machine`], whether runs are possible or not.
pub fn any_machine() -> Machine {
    let lock = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    // Under the target directory: a temporary directory may be DRAM, where no tier can be.
    let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a state directory");
    Machine {
        _lock: lock,
        state,
        before: changes(),
    }
}

impl Machine {
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_terrace"));
        command
            .args(arguments)
            .env("TERRACE_STATE_DIR", self.state.path());
        // It passes the signal on to its program, and puts all back.
        end_with_test(&mut command, libc::SIGTERM);
        command
    }

    pub fn terrace(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("terrace runs")
    }

    /// Returns the names in the state directory, sorted.
    pub fn files(&self) -> Vec<String> {
        names(self.state.path())
    }

    pub fn swap_files(&self) -> Vec<PathBuf> {
        let files = self
            .files()
            .into_iter()
            .filter(|name| name.ends_with(".swap"));
        files.map(|name| self.state.path().join(name)).collect()
    }

    /// Waits until what a killed command has left is put back, and checks that nothing else was
    /// left behind.
    pub fn wait_until_as_found(&self) {
        wait_for("all to be put back", || {
            changes() == self.before && !self.files().iter().any(|name| name.ends_with(".json"))
        });
        self.assert_as_found();
    }

    /// Checks that nothing was left behind.
    pub fn assert_as_found(&self) {
        assert_eq!(changes(), self.before);
        assert_eq!(self.swap_files(), [] as [PathBuf; 0]);
        let journals = fs::read_dir(self.state.path()).unwrap().flatten();
        let journals = journals.filter(|e| e.path().extension().is_some_and(|e| e == "json"));
        assert_eq!(journals.count(), 0, "a journal was left");
    }
}

/// Has a command be sent a signal when the thread that starts it ends, so that a test that is
/// killed leaves no program behind.
pub fn end_with_test(command: &mut Command, signal: i32) {
    // SAFETY: prctl takes integers here, and may be called between fork and exec.
    unsafe {
        command.pre_exec(move || match libc::prctl(libc::PR_SET_PDEATHSIG, signal) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}

/// Returns what a run may change: swap areas, knobs, zram devices and groups.
pub fn changes() -> Vec<String> {
    let read = |path| fs::read_to_string(path).unwrap_or_default();
    let swaps = read("/proc/swaps");
    // How full areas are is the matter of whoever swaps to them.
    let swaps = swaps.lines().map(|line| {
        let columns: Vec<_> = line.split_whitespace().collect();
        [&columns[..3], &columns[4..]].concat().join(" ")
    });
    let swaps = swaps.collect::<Vec<_>>().join("\n");
    let mut found = vec![swaps, read("/proc/sys/vm/page-cluster")];
    found.extend(
        zswap()
            .into_iter()
            .map(|(name, value)| format!("{name} {value}")),
    );
    let devices = names(Path::new("/sys/block"));
    found.extend(devices.into_iter().filter(|name| name.starts_with("zram")));
    add_groups(Path::new("/sys/fs/cgroup"), &mut found);
    found
}

/// Returns the parameters of zswap with their values; none if the kernel lacks it.
pub fn zswap() -> Vec<(String, String)> {
    let directory = Path::new("/sys/module/zswap/parameters");
    let names = fs::read_dir(directory).into_iter().flatten().flatten();
    let parameter = |entry: fs::DirEntry| {
        let value = fs::read_to_string(entry.path()).unwrap_or_default();
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, value.trim().to_owned())
    };
    let mut all: Vec<_> = names.map(parameter).collect();
    all.sort();
    all
}

/// Adds the groups of runs at `directory` and below: they are made where their caller is.
fn add_groups(directory: &Path, found: &mut Vec<String>) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b"terrace-") {
            found.push(entry.path().display().to_string());
        }
        add_groups(&entry.path(), found);
    }
}

/// Returns the names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Loop device over a file, detached when it is dropped.
pub struct Loop(pub String);

impl Loop {
    pub fn over(file: &Path) -> Self {
        let made = Command::new("losetup")
            .args(["--find", "--show"])
            .arg(file)
            .output()
            .expect("losetup is part of Debian's util-linux");
        assert!(
            made.status.success(),
            "this test needs loop devices: {}",
            text(&made)
        );
        Self(String::from_utf8(made.stdout).unwrap().trim().into())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

/// Copies a program so that it can be started at once. Another process copies it: what other tests
/// start meanwhile inherits descriptors of ours for a moment, and a file that is open for writing
/// cannot be executed (ETXTBSY).
pub fn install(program: &Path, to: &Path) {
    let mut install = Command::new("install");
    let done = install.args(["-m", "755"]).args([program, to]).status();
    assert!(done.expect("coreutils").success(), "{}", to.display());
}

/// Fails where a program is not installed.
pub fn needs(program: &str) {
    let asked = Command::new(program).arg("--version").output();
    assert!(
        asked.is_ok(),
        "this test needs {program}; scripts/setup.sh installs what `make test` names"
    );
}

/// Returns a file of the traces of other people, which lie beside the project or in `TERRACE_DATA`;
/// fails where it is missing.
pub fn shared_data(name: &str) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let file = std::env::var_os("TERRACE_DATA")
        .map_or(beside, PathBuf::from)
        .join(name);
    assert!(
        file.exists(),
        "this test needs {} (TERRACE_DATA)",
        file.display()
    );
    file
}

/// Returns the path of a program among the examples of `crates/live`.
pub fn example(name: &str) -> String {
    let terrace = Path::new(env!("CARGO_BIN_EXE_terrace"));
    let example = terrace.parent().unwrap().join("examples").join(name);
    example.to_str().unwrap().to_owned()
}

/// Returns what was written to standard error.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How long a test waits for what has to happen: longer than the slowest machine takes.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// Waits until something happened.
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let since = Instant::now();
    while !happened() {
        assert!(since.elapsed() < PATIENCE, "waited for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
