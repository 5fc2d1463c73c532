//! Many processes, and a storm of forks, at a hundredth of the size that benches/live/crowd.py
//! measures: all of them are steered, with few descriptors.

use std::fs;
use std::os::unix::process::CommandExt;

use serde_json::Value;

mod common;
use common::{example, machine};

const PROCESSES: u64 = 40;
const PAGES: u64 = 1024;
const FORKS: u64 = 100;

/// Descriptors that Terrace may have: fewer than the program has processes, but enough for a ring of
/// each processor.
fn descriptors() -> u64 {
    // SAFETY: sysconf takes an integer and touches no memory of ours.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    32 + 2 * u64::try_from(processors).expect("processors")
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_crowd_is_steered_with_few_descriptors() {
    let machine = machine();
    let state = &machine.state;
    let file = state.path().join("result");
    let mut command = machine.command(&["run", "-q", "--dram", "32M", "--footprint", "200M"]);
    command
        .args(["--prefetch", "stream:depth=32", "--json"])
        .arg(&file)
        .arg("--")
        .arg(example("crowd"))
        .args([PROCESSES, PAGES * 4, 3, FORKS, 1].map(|number| number.to_string()));
    let descriptors = descriptors();
    // SAFETY: setrlimit is async-signal-safe, and the limit is read from memory of ours.
    unsafe {
        command.pre_exec(move || {
            let limit = libc::rlimit {
                rlim_cur: descriptors,
                rlim_max: descriptors,
            };
            match libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
    }
    let output = command.output().expect("terrace runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let result: Value = serde_json::from_slice(&fs::read(&file).unwrap()).expect("JSON");
    let prefetch = &result["runs"][0]["prefetch"];
    let number = |name: &str| prefetch[name].as_u64().unwrap();
    // Most of what they walk over lies in the tier, and 70 to 80 % were foreseen here, 55 % by a slow build.
    // With a descriptor kept for each process it were 20 to 35 %: most were left alone.
    // A fetch that came after its fault was foreseen as well; it counted as late before it was told apart.
    let foreseen = number("used") + number("late") + number("reissued");
    let walked = PROCESSES * PAGES;
    assert!(
        foreseen * 5 > walked * 2,
        "{foreseen} of {walked}: {prefetch}"
    );
}
