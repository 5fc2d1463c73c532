//! A reserve of free pages in a DRAM budget, so that pages which come in find room.
//!
//! Without it each page that comes in first has to push others out, and a page that is being
//! fetched stays half fetched meanwhile. A demand fault on such a page sleeps for a tick of the
//! kernel's clock (`__swap_cache_prepare_and_add` and its predecessors in mm/swap_state.c): 500
//! times in a pass by columns, which was a third of its time. The kernel chooses what leaves, as
//! always, only sooner and in a thread of Terrace's.
//!
//! Version 2 of cgroups reclaims on request (`memory.reclaim`). Version 1 reclaims what is above a
//! limit when the limit is set; it is put back at once. A few pages are asked for at a time:
//! against a program that takes what becomes free, the kernel does not get further.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::thread;
use std::time::Duration;

use terrace_base::{Bytes, Result};
use terrace_policy::PAGE_BYTES;

use crate::group::budget::Budget;
use crate::group::hierarchy::Version;
use crate::group::room::Room;
use crate::system::worker::Worker;

/// Pages of a reserve: what a fast device reads in a few milliseconds, but at most one page of DRAM
/// in 64.
const MOST: u64 = 512;
const SHARE: u64 = 64;
/// Pages that are reclaimed at once: as many as the kernel does (`SWAP_CLUSTER_MAX`).
const STEP: u64 = 32;
/// Pauses between two looks while pages come in, and while none do.
const PAUSE: (Duration, Duration) = (Duration::from_micros(500), Duration::from_millis(25));
/// Looks without work after which the pauses are long.
const IDLE: u32 = 40;

/// A thread that keeps some pages free; ends when dropped.
#[derive(Debug)]
pub struct Reserve {
    _worker: Worker,
}

impl Reserve {
    /// Starts the thread for a group with this limit; `None` where the kernel cannot be asked to
    /// reclaim.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn keep(budget: &Budget, limit: Bytes) -> Result<Option<Self>> {
        let pages = (limit.pages() / SHARE).min(MOST);
        let room = Room::of(budget, limit);
        let (Some(room), Some(reclaimer)) = (room, Reclaimer::of(budget, limit)) else {
            return Ok(None);
        };
        let worker = Worker::start("terrace-reserve", move |stop| {
            let mut idle = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                idle = match fill(&room, &reclaimer, pages) {
                    Some(true) => 0,
                    Some(false) => idle + 1,
                    // The kernel searches long where it finds nothing.
                    None => IDLE,
                };
                let pause = if idle < IDLE { PAUSE.0 } else { PAUSE.1 };
                thread::park_timeout(pause);
            }
        })?;
        Ok(Some(Self { _worker: worker }))
    }
}

/// Makes `pages` free once half of them are in use; returns whether some had to be reclaimed, or
/// `None` if the kernel found nothing to reclaim.
fn fill(room: &Room, reclaimer: &Reclaimer, pages: u64) -> Option<bool> {
    if room.free() >= pages / 2 {
        return Some(false);
    }
    // Twice as many steps as are needed: the program may take all that becomes free.
    for _ in 0..2 * pages.div_ceil(STEP) {
        let free = room.free();
        if free >= pages {
            break;
        }
        if !reclaimer.reclaim(free, STEP) {
            return None;
        }
    }
    Some(true)
}

/// Has the kernel reclaim memory of a group.
#[derive(Debug)]
enum Reclaimer {
    /// Version 1: by its limit.
    Limit { file: File, limit: Bytes },
    /// Version 2: by asking.
    Request { file: File },
}

impl Reclaimer {
    fn of(budget: &Budget, limit: Bytes) -> Option<Self> {
        let open = |path| File::options().write(true).open(path).ok();
        Some(match budget.version() {
            Version::V1 => Self::Limit {
                file: open(budget.limit_file())?,
                limit,
            },
            Version::V2 => Self::Request {
                file: open(budget.reclaim_file())?,
            },
        })
    }

    /// Returns the limit that leaves no room for the last `pages` in use, where `free` are free.
    fn lower(limit: Bytes, free: u64, pages: u64) -> Bytes {
        Bytes(limit.0.saturating_sub((free + pages) * PAGE_BYTES))
    }

    /// Reclaims `pages` where `free` are free now; returns whether the kernel did.
    fn reclaim(&self, free: u64, pages: u64) -> bool {
        let write = |file: &File, bytes: Bytes| {
            let text = bytes.0.to_string();
            file.write_all_at(text.as_bytes(), 0).is_ok()
        };
        match self {
            Self::Limit { file, limit } => {
                let done = write(file, Self::lower(*limit, free, pages));
                write(file, *limit) && done
            }
            Self::Request { file } => write(file, Bytes(pages * PAGE_BYTES)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    const LIMIT: Bytes = Bytes(1024 * PAGE_BYTES);

    /// A group of plain files, in which nothing is reclaimed, with so many pages in use.
    fn group(used: u64) -> (tempfile::TempDir, Room, Reclaimer) {
        let directory = tempfile::tempdir().unwrap();
        let path = |name| directory.path().join(name);
        std::fs::write(path("usage"), (used * PAGE_BYTES).to_string()).unwrap();
        std::fs::write(path("limit"), LIMIT.0.to_string()).unwrap();
        let room = Room::in_file(File::open(path("usage")).unwrap(), LIMIT);
        let options = File::options().read(true).write(true).to_owned();
        let file = options.open(path("limit")).unwrap();
        let reclaimer = Reclaimer::Limit { file, limit: LIMIT };
        (directory, room, reclaimer)
    }

    fn limit(reclaimer: &Reclaimer) -> String {
        let Reclaimer::Limit { file, .. } = reclaimer else {
            unreachable!("the group has one");
        };
        let (mut file, mut text) = (file.try_clone().unwrap(), String::new());
        file.rewind().unwrap();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_reserve_is_filled_once_half_of_it_is_used() {
        for (used, fills) in [
            (0, false),
            (1024 - 8, false),
            (1024 - 7, true),
            (2000, true),
        ] {
            let (_directory, room, reclaimer) = group(used);
            assert_eq!(fill(&room, &reclaimer, 16), Some(fills), "{used} pages");
            assert_eq!(limit(&reclaimer), LIMIT.0.to_string(), "it is put back");
        }
    }

    #[test]
    fn a_limit_is_lowered_to_below_what_is_in_use() {
        let pages = |pages| Bytes(pages * PAGE_BYTES);
        assert_eq!(Reclaimer::lower(LIMIT, 24, STEP), pages(1000 - STEP));
        assert_eq!(Reclaimer::lower(LIMIT, 5000, STEP), Bytes(0));
    }

    #[test]
    fn no_more_is_asked_for_once_the_kernel_refuses() {
        let (directory, room, _) = group(1024);
        let file = File::open(directory.path().join("limit")).unwrap();
        let reclaimer = Reclaimer::Request { file };
        assert!(!reclaimer.reclaim(0, STEP), "the file cannot be written");
        assert_eq!(fill(&room, &reclaimer, 16), None);
    }
}
