//! What can be a tier, what cannot, and what happens where one is too small.

use std::fs;
use std::os::unix::process::ExitStatusExt;

use crate::common::{Loop, example, machine, text};
use crate::signals::signal;

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_program_beyond_budget_and_tier_is_told_apart() {
    let machine = machine();
    let mut other = machine.start_sleeper("exec sleep 60");
    let arguments = ["run", "--dram", "16M", "--footprint", "8M", "--"];
    let walk = example("walk");
    let output = machine.terrace(&[&arguments[..], &[&walk, "256", "1", "1"]].concat());
    assert_eq!(
        output.status.signal(),
        Some(libc::SIGKILL),
        "{}",
        text(&output)
    );
    assert!(
        text(&output).starts_with(
            "terrace: the kernel killed the program because it needed more than its DRAM budget \
             of 16.0 MiB plus the tier"
        ),
        "{}",
        text(&output)
    );
    signal(&other, libc::SIGTERM);
    other.wait().unwrap();
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn tiers_that_cannot_be_are_refused_and_leave_nothing() {
    let machine = machine();
    for (tier, why) in [("/dev/shm", "tmpfs"), ("/proc", "name")] {
        let output = machine.run(&["--tier", tier], &["true"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(why), "{}", text(&output));
    }
    let output = machine.terrace(&["run", "--dram", "64M", "--footprint", "4P", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("are needed"), "{}", text(&output));
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_block_device_is_a_tier_if_it_is_blank_and_is_blank_again_afterwards() {
    let machine = machine();
    let path = machine.state.path().join("disk");
    let file = fs::File::create(&path).unwrap();
    file.set_len(512 << 20).unwrap();
    let device = Loop::over(&path);
    let options = ["--tier", &device.0];
    for _ in 0..2 {
        let result = machine.measure(&options, &[&example("walk"), "128", "1", "1"]);
        let written = result["runs"][0]["tier_written_bytes"].as_u64().unwrap();
        assert!(written > 32 << 20, "{result}");
        let mut start = vec![1u8; 128 << 10];
        std::io::Read::read_exact(&mut fs::File::open(&device.0).unwrap(), &mut start).unwrap();
        assert!(start.iter().all(|&byte| byte == 0), "it is not blank again");
    }

    // What an ext4 file system has at byte 1080.
    let write = fs::OpenOptions::new().write(true).open(&device.0).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&write, &[0x53, 0xef], 1080).unwrap();
    drop(write);
    let output = machine.run(&options, &["true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("holds data"), "{}", text(&output));
    drop(device);
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn compressed_memory_is_a_tier() {
    let machine = machine();
    let result = machine.measure(&["--tier", "zram"], &[&example("walk"), "128", "1", "1"]);
    let written = result["runs"][0]["tier_written_bytes"].as_u64().unwrap();
    assert!(written > 32 << 20, "{result}");
    let zram = &result["runs"][0]["zram"];
    assert!(zram["pool_bytes"].as_u64().unwrap() > 1 << 20, "{result}");
    assert!(zram["held_bytes"].as_u64().unwrap() > 32 << 20, "{result}");
    assert!(zram["demoted"].is_null(), "{result}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and a kernel without CONFIG_ZRAM_WRITEBACK; run by make test-root"]
fn zram_that_writes_nothing_back_is_no_upper_level() {
    let machine = machine();
    let tier = format!("zram+{}", machine.state.path().display());
    let output = machine.run(&["--tier", &tier], &["true"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let says = text(&output);
    assert!(says.contains("CONFIG_ZRAM_WRITEBACK is off"), "{says}");
    assert!(says.contains("--zswap auto:shrinker=on"), "{says}");
    assert_eq!(says.lines().count(), 1, "{says}");
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn what_the_machine_swaps_to_is_a_tier_if_there_is_any() {
    let machine = machine();
    let output = machine.run(&["-q", "--tier", "existing"], &["true"]);
    if fs::read_to_string("/proc/swaps").unwrap().lines().count() > 1 {
        assert!(output.status.success(), "{}", text(&output));
    } else {
        assert_eq!(output.status.code(), Some(2));
        assert!(
            text(&output).contains("swaps to nothing"),
            "{}",
            text(&output)
        );
    }
    machine.assert_as_found();
}
