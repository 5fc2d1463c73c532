//! The commands that start a program.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use crate::common::{Machine, any_machine};

/// A command that starts the program behind its arguments.
#[derive(Clone, Copy)]
pub struct Starter {
    pub name: &'static str,
    arguments: &'static [&'static str],
    pub needs_root: bool,
    /// Beginnings of lines of the probe that are others under this command, and why.
    pub others: &'static [&'static str],
    /// How often it runs the program. Where that is more than once, its end is its own: it fails if
    /// the program does.
    pub runs: usize,
    /// What means nothing for it.
    pub nothing: &'static [&'static str],
    /// Where it finds the program.
    finds: Finds,
}

/// Where a command finds the program.
#[derive(Clone, Copy, PartialEq)]
enum Finds {
    /// Behind its arguments.
    Arguments,
    /// In a suite in the working directory.
    Suite,
    /// Behind its arguments; and readings of the machine in the working directory.
    Readings,
}

/// A command that runs the program once, as if it were not there.
const ONCE: Starter = Starter {
    name: "",
    arguments: &[],
    needs_root: false,
    others: &[],
    runs: 1,
    nothing: &[],
    finds: Finds::Arguments,
};

/// What means nothing for a command that runs the program several times: that it ends by itself, as
/// it is then run again, and the command ends in a way of its own; and an alarm, which may come
/// before the first run.
const OF_ONE_RUN: [&str; 7] = [
    "an_alarm_of_before",
    "a_handled_hup_is_not_for_what_is_left",
    "exit_code_with_ignored_chld",
    "pipe_that_is_ignored",
    "pipe_at_its_default",
    "death_by_a_signal",
    "a_signal_to_its_own_group",
];

/// Readings of `terrace calibrate`, made once.
static READINGS: LazyLock<String> = LazyLock::new(|| {
    let state = tempfile::tempdir().expect("a directory");
    let measured = Command::new(env!("CARGO_BIN_EXE_terrace"))
        .args(["calibrate", "--json"])
        .env("TERRACE_STATE_DIR", state.path())
        .env_remove("SUDO_UID")
        .stdin(Stdio::null())
        .output()
        .expect("terrace runs");
    assert!(measured.status.success(), "{measured:?}");
    String::from_utf8(measured.stdout).expect("JSON")
});

pub fn all() -> [Starter; 6] {
    [
        Starter {
            name: "run",
            arguments: &["run", "-q", "--dram", "64M", "--footprint", "128M", "--"],
            needs_root: true,
            others: &[],
            ..ONCE
        },
        Starter {
            name: "sched",
            arguments: &["sched", "run", "-q", "--slice", "off", "--"],
            needs_root: false,
            others: &[],
            ..ONCE
        },
        Starter {
            name: "extend",
            arguments: &["extend", "-q", "--dram", "16M", "--"],
            needs_root: false,
            others: &[],
            ..ONCE
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
            ..ONCE
        },
        Starter {
            name: "bench",
            arguments: &["bench", "-q", "--dram", "64M", "."],
            needs_root: true,
            // Its programs have no input, and their output is kept: the last line tells why one
            // failed.
            others: &["descriptor 0", "descriptor 1", "descriptor 2"],
            runs: 4,
            nothing: &OF_ONE_RUN,
            finds: Finds::Suite,
        },
        Starter {
            name: "validate",
            arguments: &[
                "validate",
                "-q",
                "--repeat",
                "1",
                "--dram",
                "64M",
                "--calibration",
                "readings",
                "--",
            ],
            needs_root: true,
            // The last run is recorded: see there.
            others: &["signal 38 blocked", "signal 40 blocked"],
            runs: 4,
            nothing: &OF_ONE_RUN,
            finds: Finds::Readings,
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
        let is_named = starter.is_none_or(|it| it.finds != Finds::Suite);
        before
            .chain(program.iter().copied().filter(|_| is_named))
            .map(str::to_owned)
            .collect()
    }

    /// Writes what it needs to find in its working directory to run `program`.
    pub fn prepare(&self, directory: &Path, program: &[&str]) {
        match self.finds {
            Finds::Arguments => {}
            Finds::Suite => {
                let words = serde_json::to_string(program).expect("words");
                let suite = format!(
                    "dram = [\"64M\"]\nrepeat = 1\n[[program]]\nname = \"probe\"\ndescription = \"\"\n\
                     footprint = \"128M\"\ncommand = {words}\n"
                );
                fs::write(directory.join("suite.toml"), suite).expect("a suite");
            }
            Finds::Readings => {
                fs::write(directory.join("readings"), &*READINGS).expect("readings");
            }
        }
    }

    /// Whether a circumstance or a scenario means something for it.
    pub fn heeds(&self, name: &str) -> bool {
        !self.nothing.contains(&name)
    }

    /// Waits for the machine, if the command changes it.
    pub fn turn(&self) -> Option<Machine> {
        self.needs_root.then(any_machine)
    }
}
