//! Power cuts: the file system is shut down at any moment, mounted again, and has forgotten all
//! that was not synced.
//!
//! `TERRACE_CUTS` says how many there are of each kind (3 unless told; `make test-power-cuts`).

use std::env;
use std::fs;
use std::thread;
use std::time::Duration;

use terrace_heap::{Mode, Options};

use crate::disk::{self, Cut, Disk};
use crate::fork;
use crate::oracle::random;
use crate::process::Process;
use crate::work::{FIRST, Victim};

/// The longest that a process works before the power is cut.
const MICROSECONDS: u64 = 80_000;
const SYSTEMS: [&str; 2] = ["ext4", "xfs"];

fn cuts() -> u64 {
    env::var("TERRACE_CUTS").map_or(3, |cuts| cuts.parse().unwrap())
}

/// Cuts the power under a process at any moment; says what it has said, and how many lines of it
/// before. What a file system acknowledges while it is being shut down it may have lost (the kernel
/// takes what waits for the log out of it, and what waits for that has nothing more to wait for);
/// where the power is cut nobody hears of it.
fn cut(disk: &Disk, process: Process, number: u64) -> (Vec<String>, usize) {
    let mut next = random(number);
    thread::sleep(Duration::from_micros(next(MICROSECONDS)));
    let before = process.lines();
    disk.cut([Cut::LogFlushed, Cut::LogLost][number as usize % 2]);
    let (signal, said) = process.kill();
    // A page that can be read no more ends it with the latter.
    assert!(
        [Some(libc::SIGKILL), Some(libc::SIGBUS)].contains(&signal),
        "{said:?}"
    );
    disk.come_back();
    (said, before)
}

fn chain(disk: &Disk, threads: usize) {
    let pool = disk.folder().join(format!("pool{threads}"));
    let options = Options::default().chunk_bytes(16 << 10).lanes(2);
    let mut victim = Victim::create(&pool, Mode::Detected, &options, threads);
    for number in 1..=cuts() {
        let process = victim.start(number);
        let (said, certain) = cut(disk, process, number);
        victim.look(number, &said, certain);
    }
}

#[test]
#[ignore = "needs root, for file systems; run by make test-root"]
fn what_was_acknowledged_is_there_after_a_power_cut() {
    disk::with(&SYSTEMS, |disk| {
        for threads in [0, 1, 4] {
            chain(disk, threads);
        }
    });
}

/// What the journal holds of the parent is replayed, whatever a child has done.
#[test]
#[ignore = "needs root, for file systems; run by make test-root"]
fn what_a_parent_has_acknowledged_is_there_after_a_power_cut() {
    disk::with(&["ext4"], |disk| {
        for (number, end) in (0..cuts()).zip(["drops", "exits"].into_iter().cycle()) {
            let pool = disk.folder().join(format!("pool{number}"));
            fork::create(&pool, Mode::Detected);
            let process = Process::start(&format!("fork {end}"), &pool, FIRST);
            let (said, certain) = cut(disk, process, number);
            fork::look(&pool, certain..=said.len());
            fs::remove_file(&pool).unwrap();
        }
    });
}

/// A cut is one: what was not synced is gone, and what was is there.
#[test]
#[ignore = "needs root, for file systems; run by make test-root"]
fn a_cut_loses_what_was_not_synced() {
    disk::with(&SYSTEMS, |disk| {
        let [lost, kept] = ["lost", "kept"].map(|name| disk.folder().join(name));
        let file = fs::File::create(&kept).unwrap();
        fs::write(&kept, "kept").unwrap();
        file.sync_all().unwrap();
        drop(file);
        fs::write(&lost, "lost").unwrap();
        disk.cut(Cut::LogLost);
        disk.come_back();
        assert_eq!(fs::read(&kept).unwrap(), b"kept");
        assert_ne!(fs::read(&lost).unwrap_or_default(), b"lost");
    });
}
