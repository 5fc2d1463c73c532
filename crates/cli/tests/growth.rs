//! A tier that grows, for a program whose footprint is not given, and what others have in it. Needs
//! 4 GiB of free disk.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use terrace_base::Bytes;

mod common;
use common::neighbour::Neighbour;
use common::{Machine, example, machine, text, wait_for};

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

/// A run whose program lasts until a file is there, and its results.
struct Run<'a> {
    machine: &'a Machine,
    child: Child,
}

impl<'a> Run<'a> {
    fn start(machine: &'a Machine, options: &[&str]) -> Self {
        let state = machine.state.path();
        let file = |name: &str| state.join(name).display().to_string();
        let wait = format!(
            "touch {}; while ! test -e {}; do sleep 0.05; done",
            file("ready"),
            file("stop")
        );
        let child = machine
            .command(&["run", "--dram", "30M", "--prefetch", "off"])
            .args(["--json", &file("result")])
            .args(options)
            .args(["--", "sh", "-c", &wait])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("terrace runs");
        wait_for("the program to start", || state.join("ready").exists());
        Self { machine, child }
    }

    /// Bytes in use of its areas.
    fn used(&self) -> u64 {
        let state = self.machine.state.path().canonicalize().unwrap();
        let swaps = fs::read_to_string("/proc/swaps").unwrap();
        let lines = swaps.lines();
        let lines = lines.filter(|line| line.starts_with(state.to_str().unwrap()));
        let used = lines.map(|line| {
            let column = line.split_whitespace().nth(3).unwrap();
            column.parse::<u64>().unwrap() << 10
        });
        used.sum()
    }

    /// Has the program end; returns what was printed, and the JSON.
    fn end(self) -> (Output, Value) {
        let state = self.machine.state.path();
        fs::write(state.join("stop"), "").unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        let json = fs::read_to_string(state.join("result")).unwrap();
        (output, serde_json::from_str(&json).expect("JSON"))
    }
}

/// The group of the neighbour.
const GROUP: &str = "growth-neighbour";

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_tier_does_not_grow_for_a_neighbour_and_counts_what_it_has() {
    let machine = machine();
    let state = machine.state.path().canonicalize().unwrap();
    let run = Run::start(&machine, &[]);
    let neighbour = Neighbour::start(GROUP, 40 << 20, 600);
    // Of 1 GiB 3/8 are 384 MiB.
    wait_for("the neighbour to be swapped out", || run.used() > 450 << 20);
    // Ten times the interval at which growth is considered.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sizes: Vec<u64> = areas(&state).into_iter().map(|(_, size)| size).collect();
    assert_eq!(sizes, [(1 << 20) - 4], "one area, with its header");
    neighbour.end();
    let (output, result) = run.end();
    let others = result["runs"][0]["tier_others_bytes"].as_u64().unwrap();
    assert!((400 << 20..700 << 20).contains(&others), "{others}");
    let tier = result["settings"]["tier"].as_str().unwrap();
    assert!(tier.contains("swap files of 1024 MiB"), "{tier}");
    let told = text(&output);
    assert!(told.contains("Other programs had up to "), "{told}");
    machine.assert_as_found();
}

/// An area of the machine's own, behind all those of runs.
struct OwnSwap(std::path::PathBuf);

impl OwnSwap {
    fn on(machine: &Machine, bytes: &str) -> Self {
        let file = machine.state.path().join("own");
        let script = "fallocate -l $1 $0 && chmod 600 $0 && mkswap $0 && swapon -p 1 $0";
        let made = Command::new("sh")
            .args(["-c", script])
            .arg(&file)
            .arg(bytes)
            .output()
            .expect("sh");
        assert!(made.status.success(), "{}", text(&made));
        Self(file)
    }
}

impl Drop for OwnSwap {
    fn drop(&mut self) {
        let _ = Command::new("swapoff").arg(&self.0).status();
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_tier_that_a_neighbour_fills_is_said_to_be_full() {
    let machine = machine();
    let _own = OwnSwap::on(&machine, "1G");
    let run = Run::start(&machine, &["--tier-size", "128M"]);
    let neighbour = Neighbour::start(GROUP, 40 << 20, 600);
    wait_for("the neighbour to fill the tier", || run.used() > 126 << 20);
    std::thread::sleep(std::time::Duration::from_millis(500));
    neighbour.end();
    let (output, result) = run.end();
    let told = text(&output);
    assert!(
        told.contains("is full with that (128 MiB) and does not grow for them")
            && told.contains("goes to other swap areas of the machine"),
        "{told}"
    );
    assert_eq!(result["settings"]["tier_bound_bytes"], 128 << 20);
    let tier = result["settings"]["tier"].as_str().unwrap();
    assert!(tier.ends_with("(--tier-size)"), "{tier}");
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_tier_grows_up_to_the_size_that_the_user_allows() {
    let machine = machine();
    let state = machine.state.path();
    let file = state.join("result");
    let output = machine
        .command(&["run", "-q", "--dram", "64M", "--prefetch", "off"])
        .args(["--tier-size", "1100M", "--json"])
        .arg(&file)
        .args(["--", "sh", "-c", PROGRAM])
        .output()
        .expect("terrace runs");
    assert!(output.status.success(), "{}", text(&output));
    let result: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).expect("JSON");
    let tier = result["settings"]["tier"].as_str().unwrap();
    assert!(
        tier.contains("swap files of 1.07 GiB")
            && tier.contains("may grow to 1.07 GiB (--tier-size)"),
        "{tier}"
    );
    machine.assert_as_found();
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn locked_memory_is_named_where_it_fills_the_budget() {
    let machine = machine();
    let arguments = [
        "run",
        "--dram",
        "50M",
        "--",
        &example("walk"),
        "150",
        "1",
        "1",
        "locked",
    ];
    let output = machine.terrace(&arguments);
    assert!(!output.status.success());
    let told = text(&output);
    assert!(
        told.contains("was full of memory that it has locked (mlock), ")
            && !told.contains("larger"),
        "{told}"
    );
    machine.assert_as_found();
}

/// A file system of its own on a disk that has little room.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(machine: &Machine, bytes: &str) -> Self {
        let (image, at) = (
            machine.state.path().join("image"),
            machine.state.path().join("small"),
        );
        let script = "truncate -s $2 $0 && mkfs.ext4 -q -m 0 $0 && mkdir $1 && mount -o loop $0 $1";
        let made = Command::new("sh")
            .args(["-c", script])
            .args([&image, &at])
            .arg(bytes)
            .output()
            .expect("sh");
        assert!(made.status.success(), "{}", text(&made));
        Self(at)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
#[ignore = "needs root and swap; run by make test-root"]
fn a_known_footprint_is_not_refused_where_an_unknown_one_is_run() {
    let machine = machine();
    let disk = SmallDisk::mount(&machine, "190M");
    let free = terrace_live::tier::free_space(&disk.0).unwrap();
    assert!(
        (Bytes(128 << 20)..Bytes(200 << 20)).contains(&free),
        "{free}"
    );
    for footprint in [&[][..], &["--footprint", "100M"]] {
        let output = machine
            .command(&["run", "--dram", "40M", "--prefetch", "off", "--tier"])
            .arg(&disk.0)
            .args(footprint)
            .args(["--", "true"])
            .output()
            .expect("terrace runs");
        let told = text(&output);
        assert!(output.status.success(), "{footprint:?}: {told}");
        assert!(told.contains("(half of the free disk)"), "{told}");
        let is_less = told.contains("and not twice the footprint (200 MiB)");
        assert_eq!(is_less, !footprint.is_empty(), "{told}");
    }
    let output = machine
        .command(&["run", "--dram", "40M", "--footprint", "300M", "--tier"])
        .arg(&disk.0)
        .args(["--", "true"])
        .output()
        .expect("terrace runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output).contains("260 MiB are needed"),
        "{}",
        text(&output)
    );
    machine.assert_as_found();
}
