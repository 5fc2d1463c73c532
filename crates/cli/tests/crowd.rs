//! Many processes, and a storm of forks, at a hundredth of the size that benches/live/crowd.py
//! measures: all of them are steered, with few descriptors. How much of them is foreseen is that
//! benchmark's matter: it depends on the speed of device and processors.

use std::fs;
use std::os::unix::process::CommandExt;

use serde_json::Value;

mod common;
use common::{example, machine};

const PROCESSES: u64 = 44;
const PAGES: u64 = 1024;
const FORKS: u64 = 100;

/// Descriptors that Terrace may have: fewer than the program has processes, but enough for a ring
/// of each processor.
fn descriptors() -> u64 {
    // SAFETY: sysconf takes an integer and touches no memory of ours.
    let processors = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) };
    36 + 2 * u64::try_from(processors).expect("processors")
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
        .args([PROCESSES, PAGES * 4, 3, FORKS, 1].map(|number| number.to_string()))
        .arg("patient");
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
    assert_is_accounted_for(prefetch);
    // Each of the many waited for its pages, so that there was time to fetch some for it.
    let printed = String::from_utf8_lossy(&output.stdout);
    let many = printed.lines().next().expect("a line").split(' ');
    let many: Vec<u64> = many.map(|one| one.parse().expect("a number")).collect();
    assert_eq!(many.len() as u64, PROCESSES);
    for one in many {
        let own = processes(prefetch).filter(|process| process["pid"] == one);
        let fetched: u64 = own.map(|process| number(process, "fetched")).sum();
        assert!(fetched > 0, "{one} is left alone: {prefetch}");
    }
    machine.assert_as_found();
}

fn number(of: &Value, name: &str) -> u64 {
    let found = of[name].as_u64();
    found.unwrap_or_else(|| panic!("{name}: {of}"))
}

/// The processes that were steered, one by one.
fn processes(prefetch: &Value) -> impl Iterator<Item = &Value> {
    prefetch["processes"].as_array().expect("a list").iter()
}

/// Each page that was fetched has one end, and one process.
fn assert_is_accounted_for(prefetch: &Value) {
    const ENDS: [&str; 4] = ["used", "late", "reissued", "wasted"];
    let ends = |of: &Value| ENDS.iter().map(|end| number(of, end)).sum::<u64>();
    let issued = number(prefetch, "issued");
    assert_eq!(ends(prefetch), issued, "{prefetch}");
    let fetched = processes(prefetch).map(|process| number(process, "fetched"));
    assert_eq!(fetched.sum::<u64>(), issued, "{prefetch}");
    for process in processes(prefetch) {
        assert_eq!(ends(process), number(process, "fetched"), "{process}");
    }
    // They waited until pages were there.
    assert!(number(prefetch, "used") > 0, "{prefetch}");
}
