//! Pools that do not come to be leave nothing behind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use terrace_heap::{Heap, Mode, Options, check};

use crate::oracle::random;
use crate::process::{Process, say};
use crate::work::FIRST;

const POOL: u64 = 1 << 20;

/// Role: creates a pool and removes it, again and again.
pub fn create(pool: &Path) {
    say(FIRST);
    loop {
        Heap::create(pool, POOL).unwrap().close().unwrap();
        fs::remove_file(pool).unwrap();
    }
}

/// Either there is a pool, and it is whole, or there is nothing.
fn look(folder: &Path) {
    let names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let pool = folder.join("pool");
    match &names[..] {
        [] => {}
        [name] if *name == pool => {
            let medium = terrace_heap::Mapped::open(&pool, Mode::Private).unwrap();
            assert_eq!(check::check(medium), []);
            Heap::open(&pool).unwrap().close().unwrap();
            fs::remove_file(&pool).unwrap();
        }
        _ => panic!("{names:?}"),
    }
}

#[test]
fn a_create_that_is_killed_leaves_no_file_or_a_whole_pool() {
    for parent in [&std::env::temp_dir(), Path::new("/dev/shm")] {
        let folder = tempfile::tempdir_in(parent).unwrap();
        let mut next = random(3);
        for _ in 0..15 {
            let process = Process::start("create", &folder.path().join("pool"), FIRST);
            thread::sleep(Duration::from_micros(next(15_000)));
            assert_eq!(process.kill(), (Some(libc::SIGKILL), Vec::new()));
            look(folder.path());
        }
    }
}

#[test]
fn a_create_that_fails_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let pool = folder.path().join("pool");
    let failures = [
        Heap::create(&pool, 0),
        Heap::create(&pool, 4096),
        Heap::create(&pool, 1 << 60),
        Heap::create_with(&pool, POOL, Mode::Private, &Options::default()),
        Heap::create_with(&pool, POOL, Mode::Detected, &Options::default().lanes(0)),
    ];
    assert!(failures.iter().all(Result::is_err));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
