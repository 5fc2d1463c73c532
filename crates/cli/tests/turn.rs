//! Comparisons and calibrations at once: each waits for its turn before its first run, and says so.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

mod common;
use common::{end_with_test, machine, wait_for};

/// Ends what it started, whatever becomes of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // SAFETY: takes two integers; the child was not waited for, so the number is its.
        unsafe { libc::kill(self.0.id() as i32, libc::SIGTERM) };
        let _ = self.0.wait();
    }
}

fn compare(state: &Path, log: &Path, script: &str) -> Running {
    let options = "run --dram 64M --footprint 64M --compare --prefetch off -- sh -c";
    let arguments: Vec<_> = options.split(' ').chain([script]).collect();
    start(state, log, &arguments)
}

fn start(state: &Path, log: &Path, arguments: &[&str]) -> Running {
    let mut terrace = Command::new(env!("CARGO_BIN_EXE_terrace"));
    end_with_test(&mut terrace, libc::SIGTERM);
    let child = terrace
        .args(arguments)
        .env("TERRACE_STATE_DIR", state)
        .env_remove("SUDO_UID")
        .stdin(Stdio::null())
        .stderr(File::create(log).unwrap())
        .spawn()
        .expect("terrace runs");
    Running(child)
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_second_waits_and_says_for_whom() {
    let machine = machine();
    let state = &machine.state;
    let path = |name: &str| -> PathBuf { state.path().join(name) };
    let text = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
    let go_on = format!(
        "echo first >>{}; while ! test -e {}; do sleep 0.01; done",
        path("ran").display(),
        path("go").display()
    );
    let first = compare(state.path(), &path("first"), &go_on);
    wait_for("run of the first", || text("ran") == "first\n");

    let script = format!("echo second >>{}", path("ran").display());
    let mut second = compare(state.path(), &path("second"), &script);
    let sentence = format!("waits for another run of terrace (PID {})", first.0.id());
    wait_for("word of the second", || text("second").contains(&sentence));
    assert_eq!(text("ran"), "first\n", "the second did not wait");
    // Neither does a calibration fail: it waits, and ends when it is asked to.
    let mut third = start(state.path(), &path("third"), &["calibrate"]);
    wait_for("word of the third", || text("third").contains(&sentence));
    // SAFETY: takes two integers; the child was not waited for, so the number is its.
    unsafe { libc::kill(third.0.id() as i32, libc::SIGTERM) };
    assert_eq!(third.0.wait().unwrap().code(), Some(1));
    let ended = "ended by signal 15 while measuring";
    assert!(text("third").contains(ended), "{}", text("third"));

    fs::write(path("go"), "").unwrap();
    assert!(second.0.wait().unwrap().success(), "{}", text("second"));
    let ran = ["first\n".repeat(3), "second\n".repeat(3)].concat();
    assert_eq!(text("ran"), ran);
    assert_eq!(text("second").matches("waits for").count(), 1);
}
