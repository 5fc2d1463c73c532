//! zswap in front of the tier: set for a run, and put back whatever ends it.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::common::{Machine, changes, example, machine, text, wait_for, zswap};
use crate::signals::signal;

/// A compressor that kernels with zswap have, and settings that no machine has by itself.
const OPTIONS: [&str; 2] = ["--zswap", "lzo:pool=17,accept=83"];

/// A program that any signal ends.
const SLEEP: &str = "exec sleep 60";

fn parameter(name: &str) -> String {
    let all = zswap();
    let found = all.into_iter().find(|(known, _)| known == name);
    found.expect("this test needs a kernel with zswap").1
}

fn assert_set() {
    assert_eq!(parameter("enabled"), "Y");
    assert_eq!(parameter("compressor"), "lzo");
    assert_eq!(parameter("max_pool_percent"), "17");
    assert_eq!(parameter("accept_threshold_percent"), "83");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn faults_are_served_by_zswap_and_it_is_put_back() {
    let machine = machine();
    let options = [&OPTIONS[..], &["--prefetch", "off"]].concat();
    let result = machine.measure(&options, &[&example("walk"), "192", "17", "2"]);
    let set = "lzo:pool=17,accept=83,shrinker=off";
    assert_eq!(result["settings"]["zswap"], set);
    let run = &result["runs"][0];
    let number = |name: &str| {
        run["zswap"][name]
            .as_u64()
            .unwrap_or_else(|| panic!("{run}"))
    };
    // Two passes over 48 k pages, two thirds of which are in the pool.
    assert!(number("stores") > 30_000, "{run}");
    assert!(number("loads") > 30_000, "{run}");
    assert!(number("pool_bytes") > 1 << 20, "{run}");
    assert!(number("held_bytes") > 100 << 20, "{run}");
    assert!(run["zswap"]["ratio"].as_f64().unwrap() > 1.0, "{run}");
    // Next to nothing is left for the disk.
    assert!(run["tier_read_bytes"].as_u64().unwrap() < 10 << 20, "{run}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn the_pool_is_part_of_the_budget() {
    let machine = machine();
    let options = [&OPTIONS[..], &["--prefetch", "off"]].concat();
    let result = machine.measure(&options, &[&example("walk"), "96", "17", "4"]);
    let run = &result["runs"][0];
    let pool = run["zswap"]["pool_bytes"].as_u64().unwrap();
    let beyond = run["zswap"]["beyond_bytes"].as_u64().unwrap();
    assert!(pool > 4 << 20, "{run}");
    assert!(beyond < pool / 2, "{run}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn zswap_is_put_back_after_a_signal() {
    let machine = machine();
    let mut child = machine.start_sleeper_with(&OPTIONS, SLEEP);
    assert_set();
    signal(&child, libc::SIGINT);
    assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn after_a_kill_zswap_is_put_back_at_once() {
    let machine = machine();
    let stop = machine.state.path().join("stop");
    let script = format!("while ! test -e {}; do sleep 0.05; done", stop.display());
    let mut child = machine.start_sleeper_with(&OPTIONS, &script);
    signal(&child, libc::SIGKILL);
    child.wait().unwrap();
    wait_for("zswap to be put back", || {
        parameter("max_pool_percent") != "17"
    });
    assert_eq!(machine.swap_files().len(), 1, "its program goes on");
    fs::write(&stop, "").unwrap();
    machine.wait_until_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_another_program_sets_meanwhile_is_left() {
    let machine = machine();
    let found = parameter("max_pool_percent");
    let mut child = machine.start_sleeper_with(&OPTIONS, SLEEP);
    let set =
        |value: &str| fs::write("/sys/module/zswap/parameters/max_pool_percent", value).unwrap();
    set("19");
    signal(&child, libc::SIGTERM);
    child.wait().unwrap();
    let left = parameter("max_pool_percent");
    set(&found);
    assert_eq!(left, "19");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn two_runs_do_not_both_set_zswap() {
    let machine = machine();
    let mut child = machine.start_sleeper_with(&OPTIONS, SLEEP);
    let during = changes();
    let output = machine.run(&["--zswap", "off"], &["true"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let says = text(&output);
    assert!(
        says.contains("another run of terrace has set zswap"),
        "{says}"
    );
    assert_eq!(changes(), during);
    signal(&child, libc::SIGTERM);
    child.wait().unwrap();
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_kernel_without_zswap_is_named() {
    let machine = machine();
    let line = Machine::arguments(&["--zswap", "auto"], &["true"]).join(" ");
    let hidden = "mount -t tmpfs none /sys/module/zswap";
    let script = format!("{hidden} && {} {line}", env!("CARGO_BIN_EXE_terrace"));
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &script])
        .env("TERRACE_STATE_DIR", machine.state.path())
        .output()
        .expect("unshare is part of Debian's util-linux");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("has no zswap"), "{}", text(&output));
    machine.assert_as_found();
}
