//! Processes that are killed at any moment, one after the other on the same pool.
//!
//! `TERRACE_KILLS` says how many of each kind (6 unless told).

use std::env;
use std::thread;
use std::time::Duration;

use terrace_heap::{Mode, Options};

use crate::oracle::random;
use crate::work::Victim;

/// The longest that a process lives after it has begun to work.
const MICROSECONDS: u64 = 60_000;

fn chain(folder: &tempfile::TempDir, mode: Mode, options: &Options, threads: usize) {
    let mut victim = Victim::create(&folder.path().join("pool"), mode, options, threads);
    let kills = env::var("TERRACE_KILLS").map_or(6, |kills| kills.parse().unwrap());
    let mut next = random(threads as u64);
    for seed in 1..=kills {
        let process = victim.start(seed);
        thread::sleep(Duration::from_micros(next(MICROSECONDS)));
        let (signal, said) = process.kill();
        assert_eq!(signal, Some(libc::SIGKILL), "{said:?}");
        victim.look(seed, &said, said.len());
    }
}

/// Chunks and lanes of a pool, by the number of threads.
fn options(threads: usize) -> Options {
    let (chunk, lanes) = [
        (4 << 10, 1),
        (16 << 10, 2),
        (64 << 10, 4),
        (16 << 10, 1),
        (4 << 10, 4),
    ][threads];
    Options::default().chunk_bytes(chunk).lanes(lanes)
}

#[test]
fn what_was_acknowledged_is_there_after_kill_9_on_a_plain_file() {
    for threads in 0..=4 {
        let folder = tempfile::tempdir().unwrap();
        chain(&folder, Mode::Synced, &options(threads), threads);
    }
}

#[test]
fn what_was_acknowledged_is_there_after_kill_9_in_memory() {
    for threads in 0..=4 {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        chain(&folder, Mode::Detected, &options(threads), threads);
    }
}
