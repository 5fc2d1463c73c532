//! A test in a process of its own.
//!
//! Memory that a test unmaps without telling its extension may be mapped anew by anybody, another
//! test's extension included, before the kernel's event is read. That is not allowed to a program
//! ([`terrace_region::Extension::adopt`]), so no other test is there.

use std::process::Command;

/// Set in the process.
const INSIDE: &str = "TERRACE_TEST_ALONE";

/// Does something in a process that runs this test alone, and expects that it succeeds.
pub fn alone(test: &str, act: impl FnOnce()) {
    if is_inside() {
        return act();
    }
    let status = command(test).status().unwrap();
    assert!(status.success(), "{status}");
}

/// Whether this process runs one test alone.
pub fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Returns the command that runs a test of this executable alone.
pub fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(INSIDE, "1");
    command
}
