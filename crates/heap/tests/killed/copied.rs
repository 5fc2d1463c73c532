//! File systems that copy what is written, and are full: a pool there is refused, or an operation
//! fails, but no process ends with SIGBUS.

use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use terrace_heap::Heap;
use terrace_heap::containers::HashMap;

use crate::disk::{self, Disk};
use crate::process::{Process, say};
use crate::work::FIRST;

/// From linux/fs.h.
const FICLONE: libc::c_ulong = 0x4004_9409;
const FS_NOCOW_FL: libc::c_int = 0x0080_0000;

const POOL: u64 = 4 << 20;
const ENTRIES: u64 = 100;

/// Objects of whole pages, so that many are written.
const WORDS: usize = 600;

type Map = HashMap<u64, [u64; WORDS]>;

/// Role: changes all entries of a pool, if it can be opened.
pub fn store(pool: &Path) {
    say(FIRST);
    let map = match Heap::open(pool) {
        Ok(heap) => Map::open(&heap, "map").unwrap(),
        Err(error) => return say(&error.to_string()),
    };
    for key in 0..ENTRIES {
        if let Err(error) = map.insert(&key, &[key + 1; WORDS]) {
            return say(&error.to_string());
        }
    }
    say("stored");
}

/// Has a process store to a pool; says what it has said last.
fn stored(pool: &Path) -> String {
    let (status, said) = Process::start("store", pool, FIRST).end();
    assert!(status.success(), "{status}, {said:?}");
    said.concat()
}

fn create(pool: &Path) {
    let heap = Heap::create(pool, POOL).unwrap();
    let map = Map::open(&heap, "map").unwrap();
    let fill = heap.transaction(|tx| {
        let map = tx.open(&map)?;
        (0..ENTRIES).try_for_each(|key| map.insert(&key, &[key; WORDS]).map(drop))
    });
    fill.unwrap();
}

/// Makes a copy that shares all blocks.
fn share(from: &Path, to: &Path) {
    let (from, to) = (File::open(from).unwrap(), File::create(to).unwrap());
    // SAFETY: open files and a number. Where the flag is unknown it is not needed.
    unsafe {
        let flags = FS_NOCOW_FL;
        libc::ioctl(to.as_raw_fd(), libc::FS_IOC_SETFLAGS, &raw const flags);
        let shared = libc::ioctl(to.as_raw_fd(), FICLONE, from.as_raw_fd());
        assert_eq!(shared, 0, "{}", std::io::Error::last_os_error());
    }
    to.sync_all().unwrap();
}

/// Takes all room that there is.
fn fill(disk: &Disk) -> PathBuf {
    let path = disk.folder().join("full");
    let file = File::create(&path).unwrap();
    let mut len = 0;
    for step in [4 << 20, 64 << 10, 4 << 10] {
        // SAFETY: an open file and numbers.
        while unsafe { libc::posix_fallocate(file.as_raw_fd(), len, step) } == 0 {
            len += step;
        }
    }
    file.sync_all().unwrap();
    path
}

#[test]
#[ignore = "needs root, for file systems; run by make test-root"]
fn a_pool_on_a_full_disk_is_written_where_it_lies() {
    disk::with(&["btrfs", "xfs", "ext4"], |disk| {
        let pool = disk.folder().join("pool");
        create(&pool);
        fill(disk);
        assert_eq!(stored(&pool), "stored");
    });
}

#[test]
#[ignore = "needs root, for file systems; run by make test-root"]
fn a_pool_that_shares_its_blocks_is_refused_on_a_full_disk() {
    disk::with(&["btrfs", "xfs"], |disk| {
        let [pool, copy] = ["pool", "copy"].map(|name| disk.folder().join(name));
        create(&pool);
        share(&pool, &copy);
        let full = fill(disk);
        for shared in [&pool, &copy] {
            let said = stored(shared);
            // Of blocks that were never written the copy has none.
            let refused = said.contains("shares blocks") || said.contains("do not fit");
            assert!(refused, "{said}");
        }
        fs::remove_file(full).unwrap();
        File::open(disk.folder()).unwrap().sync_all().unwrap();
        if disk.system() == "xfs" {
            expect_copied(&copy);
            expect_copied(&pool);
        }
    });
}

/// Where there is room, what is shared is copied when the pool is opened.
fn expect_copied(pool: &Path) {
    assert_eq!(stored(pool), "stored");
    let map = Map::open(&Heap::open(pool).unwrap(), "map").unwrap();
    assert!((0..ENTRIES).all(|key| map.get(&key) == Ok(Some([key + 1; WORDS]))));
}
