//! Processes that fork: the heap stays with the parent, which neither loses anything by it nor lets
//! another process in.

use std::fs;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use terrace_heap::containers::HashMap;
use terrace_heap::{Heap, Mapped, Mode, check};

use crate::common::used;
use crate::process::{Process, say, wait_until_told};
use crate::work::FIRST;

const POOL: u64 = 4 << 20;
/// Entries that are there before the fork.
const BEFORE: u64 = 20;

type Map = HashMap<u64, u64>;

/// Role: forks, and goes on afterwards as `end` says.
pub fn fork(pool: &Path, end: &str) {
    let heap = Heap::open(pool).unwrap();
    let map = Map::open(&heap, "map").unwrap();
    for key in 0..BEFORE {
        map.insert(&key, &key).unwrap();
    }
    match end {
        "drops" => end_child(pool, heap, map, |heap, map| drop((map, heap))),
        "exits" => end_child(pool, heap, map, |_, _| std::process::exit(0)),
        "outlives" => outlive(pool, heap, map),
        _ => panic!("no child {end}"),
    }
}

/// A child ends while its parent works on.
fn end_child(pool: &Path, heap: Heap, map: Map, end: impl FnOnce(Heap, Map)) {
    let before = fs::read(pool).unwrap();
    let mut both = Some((heap, map));
    let child = start_child(|| {
        let (heap, map) = both.take().unwrap();
        expect_refused(&heap, &map);
        end(heap, map);
    });
    let (_heap, map) = both.take().unwrap();
    wait_for(child);
    assert!(
        fs::read(pool).unwrap() == before,
        "a child has changed the pool"
    );
    say(FIRST);
    for key in BEFORE.. {
        if map.insert(&key, &key).is_err() {
            // The device is gone.
            return wait_until_told();
        }
        say(&key.to_string());
    }
}

/// A child that is there longer than its parent's heap. Another program has the pool meanwhile.
fn outlive(pool: &Path, heap: Heap, map: Map) {
    let mut both = Some((heap, map));
    let child = start_child(|| {
        wait_until_told();
        let (heap, map) = both.take().unwrap();
        expect_refused(&heap, &map);
        drop((map, heap));
    });
    let (heap, map) = both.take().unwrap();
    drop(map);
    heap.close().unwrap();
    say(FIRST);
    wait_for(child);
    say(&Heap::open(pool).err().unwrap().to_string());
}

/// Starts a child of this process that does this and ends.
fn start_child(work: impl FnOnce()) -> libc::pid_t {
    // SAFETY: the child goes on with this thread alone, and the locks of others that it may want
    // are those of the allocator, which are free in a child.
    match unsafe { libc::fork() } {
        0 => {
            let done = catch_unwind(AssertUnwindSafe(work));
            // SAFETY: nothing is expected of the child any more.
            unsafe { libc::_exit(i32::from(done.is_err())) }
        }
        child => child,
    }
}

fn wait_for(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: a child of this process, and a number that is written.
    let ended = unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!((ended, status), (child, 0));
}

/// In a child nothing of the parent's heap can be used.
fn expect_refused(heap: &Heap, map: &Map) {
    let failed = [
        map.get(&0).is_err(),
        map.insert(&0, &7).is_err(),
        map.remove(&0).is_err(),
        heap.begin().is_err(),
        heap.grow(2 * POOL).is_err(),
        heap.compact().is_err(),
        heap.root::<u64>("another", 0).is_err(),
        Map::open(heap, "another").is_err(),
    ];
    assert_eq!(failed, [true; 8]);
}

/// A new pool with an empty map.
pub fn create(pool: &Path, mode: Mode) {
    let heap = Heap::create_with(pool, POOL, mode, &Default::default()).unwrap();
    drop(Map::open(&heap, "map").unwrap());
    heap.close().unwrap();
}

/// Looks whether all is there that the parent has acknowledged, and at most one entry more.
pub fn look(pool: &Path, acknowledged: RangeInclusive<usize>) {
    let found = check::check(Mapped::open(pool, Mode::Private).unwrap());
    assert_eq!(found, []);
    let heap = Heap::open(pool).unwrap();
    let map = Map::open(&heap, "map").unwrap();
    let (least, most) = (*acknowledged.start() as u64, *acknowledged.end() as u64);
    let len = map.len().unwrap();
    // What was under way may have happened.
    assert!(
        (BEFORE + least..=BEFORE + most + 1).contains(&len),
        "{len} entries of {BEFORE} and {acknowledged:?}"
    );
    assert!((0..len).all(|key| map.get(&key) == Ok(Some(key))));
    let mut reached = map.objects().unwrap();
    reached.sort_unstable();
    assert_eq!(reached, used(&heap));
}

/// A pool in a plain file, with a journal, and one in memory.
fn pools(folder: &str) -> impl Iterator<Item = (tempfile::TempDir, PathBuf, Mode)> {
    let kinds = [
        (std::env::temp_dir(), Mode::Synced),
        (PathBuf::from("/dev/shm"), Mode::Detected),
    ];
    kinds.into_iter().map(move |(parent, mode)| {
        let folder = tempfile::Builder::new()
            .prefix(folder)
            .tempdir_in(parent)
            .unwrap();
        let pool = folder.path().join("pool");
        create(&pool, mode);
        (folder, pool, mode)
    })
}

#[test]
fn a_child_that_ends_leaves_the_heap_to_its_parent() {
    for end in ["drops", "exits"] {
        for (_folder, pool, _) in pools("fork") {
            let process = Process::start(&format!("fork {end}"), &pool, FIRST);
            let refused = Heap::open(&pool).err().unwrap().to_string();
            assert!(refused.contains("is open already"), "{refused}");
            thread::sleep(Duration::from_millis(5));
            let (signal, said) = process.kill();
            assert_eq!(signal, Some(libc::SIGKILL));
            look(&pool, said.len()..=said.len());
        }
    }
}

#[test]
fn a_child_that_outlives_the_heap_has_neither_it_nor_its_lock() {
    for (_folder, pool, _) in pools("fork") {
        let mut process = Process::start("fork outlives", &pool, FIRST);
        let heap = Heap::open(&pool).unwrap();
        process.tell();
        let (status, said) = process.end();
        assert!(status.success(), "{said:?}");
        assert!(
            matches!(&said[..], [one] if one.contains("is open already")),
            "{said:?}"
        );
        drop(heap);
        look(&pool, 0..=0);
    }
}
