//! A tier that grows, for a program whose footprint is not given. Needs 4 GiB of free
//! disk.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use terrace_base::Bytes;

mod common;
use common::machine;

/// The program has more memory than 3/8 of the first area hold.
const PROGRAM: &str = "head -c 620000000 /dev/zero | tr '\\0' x | tail -c 600000000 | cksum";

/// Names and KiB of a run's areas, in the order of their priorities.
fn areas(state: &Path) -> Vec<(String, u64)> {
    let swaps = fs::read_to_string("/proc/swaps").unwrap();
    let lines = swaps
        .lines()
        .filter(|line| line.starts_with(state.to_str().unwrap()));
    let mut areas: Vec<_> = lines
        .map(|line| {
            let columns: Vec<_> = line.split_whitespace().collect();
            let name = columns[0].rsplit_once('/').unwrap().1;
            let priority: i32 = columns[4].parse().unwrap();
            (-priority, name.to_owned(), columns[2].parse().unwrap())
        })
        .collect();
    areas.sort();
    areas
        .into_iter()
        .map(|(_, name, size)| (name, size))
        .collect()
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_tier_grows_with_what_is_swapped_to_it() {
    let machine = machine();
    let state = machine.state.path().canonicalize().unwrap();
    let free = terrace_live::tier::free_space(&state).unwrap();
    assert!(free > Bytes(4 << 30), "this test needs 4 GiB of free disk");
    let file = state.join("result");
    let mut child = machine
        .command(&["run", "-q", "--dram", "64M", "--prefetch", "off", "--json"])
        .arg(&file)
        .args(["--", "sh", "-c", PROGRAM])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("terrace runs");
    let name = format!("terrace-{}", child.id());
    let mut most = Vec::new();
    while child.try_wait().unwrap().is_none() {
        let now = areas(&state);
        if now.len() > most.len() {
            most = now;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let alone = Command::new("sh").args(["-c", PROGRAM]).output().unwrap();
    assert_eq!(output.stdout, alone.stdout, "no page was lost");

    // The header is a page of each.
    let gib = (1 << 20) - 4;
    let expected = [
        (format!("{name}.swap"), gib),
        (format!("{name}.2.swap"), gib),
    ];
    assert_eq!(most, expected, "one more of the same size, below the first");
    let result = fs::read_to_string(&file).unwrap();
    assert!(result.contains("swap files of 2.00 GiB"), "{result}");
    assert_eq!(areas(&state), []);
    let left = fs::read_dir(&state).unwrap().count();
    assert_eq!(left, 1, "only the result is left");
}
