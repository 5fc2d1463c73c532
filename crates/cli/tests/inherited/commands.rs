//! The commands that start a program.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard};

/// A command that starts the program behind its arguments.
#[derive(Clone, Copy)]
pub struct Starter {
    pub name: &'static str,
    arguments: &'static [&'static str],
    pub needs_root: bool,
    /// Beginnings of lines of the probe that are others under this command, and why.
    pub others: &'static [&'static str],
}

/// Runs with root share the machine's swap.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn all() -> [Starter; 4] {
    [
        Starter {
            name: "run",
            arguments: &["run", "-q", "--dram", "64M", "--footprint", "128M", "--"],
            needs_root: true,
            others: &[],
        },
        Starter {
            name: "sched",
            arguments: &["sched", "run", "-q", "--slice", "off", "--"],
            needs_root: false,
            others: &[],
        },
        Starter {
            name: "extend",
            arguments: &["extend", "-q", "--dram", "16M", "--"],
            needs_root: false,
            others: &[],
        },
        Starter {
            name: "record",
            arguments: &[
                "record",
                "-q",
                "-o",
                "trace.parquet",
                "--level",
                "pages",
                "--",
            ],
            needs_root: false,
            // The emulator numbers realtime signals anew, as it needs some for itself.
            others: &["signal 38 blocked", "signal 40 blocked"],
        },
    ]
}

impl Starter {
    /// Returns the command that starts `program` in `directory`, or the program itself.
    pub fn command(starter: Option<&Self>, directory: &Path, program: &[&str]) -> Command {
        let words = Self::words(starter, program);
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(directory)
            .env("TERRACE_STATE_DIR", directory.join("state"))
            .env("TERRACE_TEST_VARIABLE", "given")
            .env_remove("SUDO_UID");
        command
    }

    /// Returns the words of a command line.
    pub fn words(starter: Option<&Self>, program: &[&str]) -> Vec<String> {
        let terrace = env!("CARGO_BIN_EXE_terrace");
        let before = starter
            .iter()
            .flat_map(|it| [terrace].into_iter().chain(it.arguments.iter().copied()));
        before
            .chain(program.iter().copied())
            .map(str::to_owned)
            .collect()
    }

    /// Waits for the machine, if the command changes it.
    pub fn turn(&self) -> Option<MutexGuard<'static, ()>> {
        let wait = || {
            ONE_AT_A_TIME
                .lock()
                .unwrap_or_else(|broken| broken.into_inner())
        };
        self.needs_root.then(wait)
    }
}
