//! A run that lasts until the test has it end, and what can be seen of runs from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use super::{Machine, wait_for};

/// A run whose program lasts until it is told to end.
pub struct Run {
    child: Option<Child>,
    stop: PathBuf,
}

impl Run {
    pub fn start(machine: &Machine, name: &str) -> Self {
        Self::with(machine, name, &[], "")
    }

    /// Starts one with these options, whose program begins with these commands of the shell once it
    /// is told to end.
    pub fn with(machine: &Machine, name: &str, options: &[&str], commands: &str) -> Self {
        Self::in_state(machine, machine.state.path(), name, options, commands)
    }

    /// Starts one with a state directory of its own.
    pub fn beside(machine: &Machine, name: &str, state: &Path) -> Self {
        Self::in_state(machine, state, name, &[], "")
    }

    fn in_state(
        machine: &Machine,
        state: &Path,
        name: &str,
        options: &[&str],
        commands: &str,
    ) -> Self {
        let file = |what: &str| machine.state.path().join(format!("{name}-{what}"));
        let (ready, stop) = (file("ready"), file("stop"));
        let script = format!(
            "touch {}; until test -e {}; do sleep 0.05; done; {commands}",
            ready.display(),
            stop.display()
        );
        let child = machine
            .command(&["run", "-q", "--dram", "16M", "--footprint", "128M"])
            .args(["--prefetch", "off"])
            .args(options)
            .args(["--", "sh", "-c", &script])
            .env("TERRACE_STATE_DIR", state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("terrace runs");
        wait_for("the program to start", || ready.exists());
        Self {
            child: Some(child),
            stop,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    pub fn ask_to_end(&self) {
        fs::write(&self.stop, "").unwrap();
    }

    pub fn end(mut self) -> Output {
        self.ask_to_end();
        self.child.take().unwrap().wait_with_output().unwrap()
    }

    /// Kills it with its guardian, as the stop of a systemd unit does; its program goes on.
    pub fn kill(&mut self) {
        let guardians = children(self.id())
            .into_iter()
            .filter(|pid| is_guardian(*pid));
        for pid in guardians.chain([self.id()]) {
            // SAFETY: takes two integers; the processes are of this test.
            unsafe { libc::kill(pid as i32, libc::SIGKILL) };
        }
        let child = self.child.as_mut().expect("it was not waited for");
        child.wait().unwrap();
    }

    pub fn is_over(&mut self) -> bool {
        let child = self.child.as_mut().expect("it was not waited for");
        child.try_wait().unwrap().is_some()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.ask_to_end();
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

/// Used KiB of the areas of this state directory that are on.
pub fn areas(machine: &Machine) -> Vec<u64> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    let of = machine.state.path().display().to_string();
    let lines = swaps.lines().filter(|line| line.starts_with(&of));
    let used = lines.filter_map(|line| line.split_whitespace().nth(3)?.parse().ok());
    used.collect()
}

pub fn children(pid: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let listed = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let listed: String = listed.collect();
    listed
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

pub fn is_guardian(pid: u32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim() == "terrace-guard"
}
