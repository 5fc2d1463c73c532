//! The DRAM budget, with real groups and real swap: what is counted, and where the group is made.

#[path = "../common/mod.rs"]
mod common;
mod footprint;
mod huge_pages;
mod nested;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use common::{Machine, text};

/// Fills that many MiB, holds them for a moment, and prints what it then has, in bytes: anonymous
/// and shared memory, in DRAM and swap. What it prints it reads after all else is in memory.
const TOUCH: &str = "
import sys
memory = bytearray(int(sys.argv[1]) << 20)
for page in range(0, len(memory), 4096): memory[page] = 1 + page % 251
status = dict(line.split(':', 1) for line in open('/proc/self/status'))
kilobytes = [int(status[key].split()[0]) for key in ('RssAnon', 'RssShmem', 'VmSwap')]
print(sum(kilobytes) * 1024)
";

impl Machine {
    /// `terrace run` with these options and a Python program of these arguments.
    fn python(&self, options: &[&str], script: &str, arguments: &[&str]) -> Command {
        // Files that are read first by a measured program are charged to it, beside its memory.
        let warm = Command::new("python3").args(["-c", "pass"]).output();
        warm.expect("python3 runs");
        let result = self.result();
        let mut command = self.command(&["run", "-q", "--json", result.to_str().unwrap()]);
        command
            .args(options)
            .args(["--", "python3", "-c", script])
            .args(arguments);
        command
    }

    fn result(&self) -> std::path::PathBuf {
        self.state.path().join("result")
    }

    /// Runs it; returns what it printed and what terrace found of its only way.
    fn measure(&self, mut command: Command) -> (String, Value) {
        let output = command.output().expect("terrace runs");
        assert!(output.status.success(), "{}", text(&output));
        let document = fs::read_to_string(self.result()).unwrap();
        let document: Value = serde_json::from_str(&document).expect("JSON");
        let printed = String::from_utf8(output.stdout).unwrap();
        (printed.trim().to_owned(), document["runs"][0].clone())
    }

    /// Checks that nothing was left behind below a group.
    fn assert_empty(&self, group: &Path) {
        let entries = fs::read_dir(group).unwrap().flatten();
        let left: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.file_name())
            .collect();
        assert_eq!(left, [] as [&str; 0]);
    }
}
