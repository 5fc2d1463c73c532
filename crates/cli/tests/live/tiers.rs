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

/// Of a hundred MiB beyond its DRAM half of the pages are zeros.
#[test]
#[ignore = "needs root, swap, and Linux 6.12; run by make test-root"]
fn pages_of_zeros_are_not_written_and_are_counted() {
    let machine = machine();
    let program = "pages = bytearray(160 << 20)\n\
                   for page in range(0, len(pages), 4096): pages[page] = page >> 12 & 1";
    let result = machine.measure(&[], &["/usr/bin/python3", "-c", program]);
    let run = &result["runs"][0];
    let zeros = run["tier_zero_pages"].as_u64().unwrap();
    let written = run["tier_written_bytes"].as_u64().unwrap() / 4096;
    assert!(zeros > 9_000 && written > 9_000, "{run}");
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

/// Every pass stores into every page. Of four pages one stays zeros, one repeats a word, one stays
/// as it is, and one changes.
const REWRITES: &str = "
import mmap, os
pages = mmap.mmap(-1, 160 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(0, len(pages), 4096):
    kind = page >> 12 & 3
    if kind:
        pages[page:page + 4096] = b'terrace.' * 512 if kind == 1 else os.urandom(4096)
for turn in range(12):
    for page in range(0, len(pages), 4096):
        pages[page] = turn if page >> 12 & 3 == 3 else pages[page]
";

#[test]
#[ignore = "needs root and zram; run by make test-root"]
fn what_is_written_to_compressed_memory_is_looked_at() {
    let machine = machine();
    let options = ["--tier", "zram", "--writes", "--prefetch", "off"];
    let result = machine.measure(&options, &["/usr/bin/python3", "-c", REWRITES]);
    let writes = &result["runs"][0]["writes"];
    let number = |name: &str| writes[name].as_u64().unwrap_or_else(|| panic!("{result}"));
    let share = |part: &str, of: &str| number(part) as f64 / number(of) as f64;
    assert!(number("looked_at") > 2_000, "{writes}");
    assert!(number("looked_at") <= number("of"), "{writes}");
    assert!(number("again") > 1_000, "{writes}");
    for (part, of, expected) in [
        ("zeros", "looked_at", 0.25),
        ("same_filled", "looked_at", 0.25),
        ("unchanged", "again", 0.75),
    ] {
        let found = share(part, of);
        assert!(
            (found - expected).abs() < 0.07,
            "{part}: {found} in {writes}"
        );
    }
    assert!(writes["cpu_s"].as_f64().unwrap() > 0.0, "{writes}");
    assert!(
        number("read_bytes") >= 4096 * number("looked_at"),
        "{writes}"
    );
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn writes_to_a_disk_are_not_looked_at() {
    let machine = machine();
    let output = machine.run(&["--writes"], &["true"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(
        text(&output).contains("give --tier zram"),
        "{}",
        text(&output)
    );
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
