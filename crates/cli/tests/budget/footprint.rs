//! The footprint is what the program says that it has, within 1 %: the kernel keeps the peak, and
//! samples would miss it where a program is short, or under a limit.

use crate::TOUCH;
use crate::common::machine;

/// What is found for a program that fills `size` MiB, against what it says itself.
fn assert_measured(options: &[&str], size: &str) {
    let machine = machine();
    let (said, run) = machine.measure(machine.python(options, TOUCH, &[size]));
    let said: f64 = said.parse().expect("a number");
    let found = run["footprint_bytes"].as_f64().unwrap();
    // The kernel charges to a group in batches of 64 pages a processor.
    let batches = 2.0 * 256.0 * 1024.0;
    let error = found - said;
    assert!(
        error.abs() <= said * 0.01 + batches,
        "{options:?}: {found} found where the program says {said}: {run}"
    );
    assert_eq!(run["footprint_sampled"], false, "{run}");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn short_programs_without_a_limit() {
    for size in ["42", "105", "150"] {
        assert_measured(
            &["--dram", "1G", "--footprint", "256M", "--prefetch", "off"],
            size,
        );
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn programs_beyond_their_dram() {
    for prefetch in ["off", "stream"] {
        let options = [
            "--dram",
            "40M",
            "--footprint",
            "256M",
            "--prefetch",
            prefetch,
        ];
        assert_measured(&options, "105");
    }
}

/// A file that is read is the kernel's to drop: no part of what the program needs.
#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn files_do_not_count() {
    let machine = machine();
    let file = machine.state.path().join("large");
    std::fs::write(&file, vec![7; 64 << 20]).unwrap();
    let script = "import sys\nwith open(sys.argv[1], 'rb') as f:\n  while f.read(1 << 16): pass\n";
    let options = ["--dram", "1G", "--footprint", "256M", "--prefetch", "off"];
    let file = file.to_str().unwrap();
    let (_, run) = machine.measure(machine.python(&options, script, &[file]));
    let found = run["footprint_bytes"].as_u64().unwrap();
    assert!(found < 32 << 20, "{run}");
}
