//! The real `vm.page-cluster` while Terrace is stopped, goes on and is killed.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

mod common;
use common::{Machine, machine, wait_for};

const KNOB: &str = "/proc/sys/vm/page-cluster";

fn knob() -> String {
    fs::read_to_string(KNOB).unwrap().trim().to_owned()
}

/// A comparison whose program waits, where single pages are read, until it is told to end.
struct Comparison {
    machine: Machine,
    terrace: Child,
}

impl Comparison {
    fn start(machine: Machine) -> Self {
        let script = format!(
            "read k <{KNOB}; if test $k = 0; then >'{waits}'; until test -e '{stop}'; do sleep 0.05; done; fi",
            waits = waits_file(machine.state.path()).display(),
            stop = stop_file(machine.state.path()).display()
        );
        let terrace = machine
            .command(&[
                "run",
                "-q",
                "--compare",
                "--dram",
                "16M",
                "--footprint",
                "64M",
            ])
            .args(["--", "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .expect("terrace runs");
        Self { machine, terrace }
    }

    fn send(&self, signal: i32) {
        // SAFETY: kill takes two integers; the child has not been waited for, so the number is its.
        assert_eq!(unsafe { libc::kill(self.terrace.id() as i32, signal) }, 0);
    }

    fn guardian(&self) -> Option<PathBuf> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.terrace.id())).unwrap();
        let children: String = tasks
            .flatten()
            .flat_map(|task| fs::read_to_string(task.path().join("children")))
            .collect();
        children
            .split_whitespace()
            .map(|pid| Path::new("/proc").join(pid))
            .find(|process| {
                let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
                name.trim() == "terrace-guard"
            })
    }

    fn clean(&self) -> Output {
        self.machine.terrace(&["doctor", "--clean"])
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        let _ = fs::write(stop_file(self.machine.state.path()), "");
        let _ = self.terrace.kill();
        let _ = self.terrace.wait();
        let since = Instant::now();
        while !self.clean().status.success() && since.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn stop_file(state: &Path) -> PathBuf {
    state.join("stop")
}

/// Is there once the program has seen single pages, and so outlasts a stop of terrace.
fn waits_file(state: &Path) -> PathBuf {
    state.join("waits")
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_knob_is_as_found_while_terrace_is_stopped_and_after_it_was_killed() {
    let machine = machine();
    assert_ne!(knob(), "0", "this test needs a machine that reads ahead");
    let found = knob();
    let mut comparison = Comparison::start(machine);
    let waits = waits_file(comparison.machine.state.path());
    wait_for("the program to see single pages", || waits.exists());
    assert_eq!(knob(), "0");
    let guardian = comparison.guardian().expect("a guardian");
    comparison.send(libc::SIGSTOP);
    wait_for("the knob to be put back", || knob() == found);
    comparison.send(libc::SIGCONT);
    wait_for("single pages again", || knob() == "0");
    comparison.send(libc::SIGKILL);
    comparison.terrace.wait().unwrap();
    wait_for("the knob to be put back for good", || knob() == found);
    // Its program still runs, so that not all can be cleaned.
    assert_eq!(comparison.clean().status.code(), Some(1));
    fs::write(stop_file(comparison.machine.state.path()), "").unwrap();
    comparison.machine.wait_until_as_found();
    wait_for("the guardian to end", || {
        let stat = fs::read_to_string(guardian.join("stat")).unwrap_or_default();
        // A machine whose first process does not wait for orphans keeps their numbers.
        stat.is_empty() || stat.contains(") Z ")
    });
    assert_eq!(knob(), found);
}
