//! What a program writes to a tier of zram: a thread looks at the contents of the places in which
//! its pages lie.
//!
//! The page tables tell at which place of the tier a page lies, and the device tells what the place
//! holds. This is what was written of the page, as long as three things are minded:
//!
//! - A place may hold what another page has left there: the kernel writes nothing of a page of
//!   zeros (Linux 6.12, mm/page_io.c), and does not tell which pages these are. zram empties a
//!   place that is given up (`swap_slot_free_notify`), a disk does not; so what is written to a
//!   disk cannot be told in this way.
//! - A place may not be written yet. Then it holds zeros; so it is looked at when its page is found
//!   there again. A page that the kernel keeps unwritten for longer counts as zeros.
//! - The page may have left before its place was read. So its page table is read again afterwards.
//!
//! A page that is found at one place, and later at another, was written in between, once or more
//! often. What is counted is a part of what the kernel has written, and [`Written`] is to be told
//! beside that. A page that goes back to the place where it lay is taken not to be written, as
//! clean pages go back; one that processes share since a fork counts for each. Where a round over
//! all pages would take long, it goes over a part of them, the same each time: what a page held
//! before has to be known.

mod pages;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use terrace_base::{Bytes, Context, Result, lock};
use terrace_policy::{Location, Page, Space};

use crate::group::cgroup::processes_in;
use crate::system::worker::Worker;
use crate::watch::pagemap::{place_of, private, read_entries};
use crate::watch::slots::Slots;

pub use pages::Counts;
use pages::{BYTES, Pages};

/// Pages that are looked at together.
const BLOCK: usize = 64;
/// Processor time of a round at which it ends, and the next goes over half as many pages.
const LONG: Duration = Duration::from_millis(20);
/// How many times as long as a round the thread rests after it: it takes a tenth of a processor at
/// most.
const REST: u32 = 9;
/// The least rest.
const LEAST_REST: Duration = Duration::from_millis(20);

/// What was seen of a program's writes, and what that cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The writes.
    pub counts: Counts,
    /// Bytes that were read from the tier for this.
    pub read: Bytes,
    /// Processor time that it took.
    pub cpu: Duration,
}

/// The area that is looked at.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    /// Path of the device.
    pub path: PathBuf,
    /// Its swap type, by which page tables name it.
    pub kind: u64,
}

/// A thread that looks at the writes of a program.
pub(crate) struct Watch {
    written: Arc<Mutex<Written>>,
    worker: Worker,
}

impl Watch {
    /// Starts to look at what the processes of a cgroup write to an area.
    ///
    /// # Errors
    /// A failure if the area cannot be read or no thread can be started.
    pub fn start(group: PathBuf, area: &Area) -> Result<Self> {
        let mut options = File::options();
        let device = options
            .read(true)
            .custom_flags(libc::O_DIRECT)
            .open(&area.path);
        let mut watcher = Watcher {
            group,
            device: device.or_fail(|| format!("cannot read {}", area.path.display()))?,
            kind: area.kind,
            pages: Pages::default(),
            part: Part::default(),
            contents: Box::new(Contents([[0; BYTES]; BLOCK])),
            read: 0,
        };
        let written = Arc::new(Mutex::new(Written::default()));
        let told = Arc::clone(&written);
        let worker = Worker::start("terrace-writes", move |stop| {
            while !stop.load(Ordering::Relaxed) {
                let took = watcher.round(stop);
                *lock(&told) = watcher.written();
                let until = Instant::now() + (took * REST).max(LEAST_REST);
                while !stop.load(Ordering::Relaxed) && Instant::now() < until {
                    thread::park_timeout(until - Instant::now());
                }
            }
        })?;
        Ok(Self { written, worker })
    }

    /// Ends the thread, and returns what it saw.
    pub fn finish(self) -> Written {
        drop(self.worker);
        *lock(&self.written)
    }
}

/// Contents of a block of pages, aligned as reads past the page cache need it.
#[repr(C, align(4096))]
struct Contents([[u8; BYTES]; BLOCK]);

struct Watcher {
    /// Directory of the cgroup.
    group: PathBuf,
    device: File,
    kind: u64,
    pages: Pages,
    part: Part,
    contents: Box<Contents>,
    /// Pages that were read.
    read: u64,
}

impl Watcher {
    /// Looks at a part of the pages of all processes, and returns the processor time that it took.
    /// The next part is a half of it if that was long, and twice as large if it was short.
    fn round(&mut self, stop: &AtomicBool) -> Duration {
        let began = processor_time();
        let took = || processor_time().saturating_sub(began);
        let whole = self.look_until(|| stop.load(Ordering::Relaxed) || took() > LONG);
        let took = took();
        if !whole {
            self.part.halvings += 1;
        } else if took < LONG / 4 {
            self.part.halvings = self.part.halvings.saturating_sub(1);
        }
        took
    }

    /// Looks at the pages of all processes until it is told to stop, and returns whether it came to
    /// their end.
    fn look_until(&mut self, stop: impl Fn() -> bool) -> bool {
        let processes = processes_in(&self.group);
        let spaces: Vec<Space> = processes.into_iter().map(Space).collect();
        self.pages.retain(&spaces);
        for space in spaces {
            // Opened anew each time: a process may have replaced its memory.
            let Ok(tables) = File::open(format!("/proc/{}/pagemap", space.0)) else {
                continue;
            };
            let held = |block: &Range<u64>| self.part.holds(block.start);
            let blocks = private(space).into_iter().flat_map(blocks);
            for block in blocks.filter(held).collect::<Vec<_>>() {
                if stop() {
                    return false;
                }
                // A process that has ended has no pages any more.
                let _ = self.look(space, &tables, block);
            }
        }
        true
    }

    /// Looks at a block of pages; `None` if its process has ended.
    fn look(&mut self, space: Space, tables: &File, block: Range<u64>) -> Option<()> {
        let count = (block.end - block.start) as usize;
        let mut entries = [0; BLOCK];
        let known = read_entries(tables, block.start, &mut entries[..count])?;
        let mut looked = Vec::new();
        for (index, entry) in entries[..known].iter().enumerate() {
            let at = Location::new(space, Page(block.start + index as u64));
            if let Some(offset) = self.offset(*entry)
                && self.pages.found(at, offset)
                && read_at(&self.device, &mut self.contents.0[looked.len()], offset).is_ok()
            {
                self.read += 1;
                looked.push((index, at, offset));
            }
        }
        if looked.is_empty() {
            return Some(());
        }
        let known = read_entries(tables, block.start, &mut entries[..count])?;
        for ((index, at, offset), contents) in looked.into_iter().zip(&self.contents.0) {
            if index < known && self.offset(entries[index]) == Some(offset) {
                self.pages.look(at, contents);
            }
        }
        Some(())
    }

    /// Returns the page of the area in which the page of this entry lies, if it lies there.
    fn offset(&self, entry: u64) -> Option<u64> {
        let (kind, offset) = Slots::parts(place_of(entry)?);
        (kind == self.kind).then_some(offset)
    }

    fn written(&self) -> Written {
        Written {
            counts: self.pages.counts(),
            read: Bytes::of_pages(self.read),
            cpu: processor_time(),
        }
    }
}

/// The pages that are looked at: all, a half, a quarter and so on.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    halvings: u32,
}

impl Part {
    /// Whether a page is one of them, as all of its block are.
    fn holds(self, page: u64) -> bool {
        // Fibonacci hashing: the high bits depend on all of the number.
        let hash = (page / BLOCK as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash.leading_zeros() >= self.halvings
    }
}

/// Cuts pages where blocks begin.
fn blocks(pages: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let block = BLOCK as u64;
    let numbers = pages.start / block..pages.end.div_ceil(block);
    numbers.map(move |number| pages.start.max(number * block)..pages.end.min((number + 1) * block))
}

/// Returns the processor time of this thread.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn read_at(device: &File, contents: &mut [u8; BYTES], offset: u64) -> io::Result<()> {
    device.read_exact_at(contents, offset * BYTES as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_cut_where_they_begin() {
        let cut = |pages: Range<u64>| -> Vec<(u64, u64)> {
            blocks(pages)
                .map(|block| (block.start, block.end))
                .collect()
        };
        assert_eq!(cut(10..20), [(10, 20)]);
        assert_eq!(cut(60..200), [(60, 64), (64, 128), (128, 192), (192, 200)]);
        assert_eq!(cut(64..128), [(64, 128)]);
        assert!(cut(64..64).is_empty());
    }

    #[test]
    fn each_part_is_half_of_the_one_before() {
        let pages = || (0..1 << 20).step_by(BLOCK);
        for halvings in 0..6 {
            let (part, next) = (
                Part { halvings },
                Part {
                    halvings: halvings + 1,
                },
            );
            let held = pages().filter(|page| part.holds(*page)).count();
            let expected = pages().count() >> halvings;
            assert!(
                held.abs_diff(expected) <= expected / 4 + 2,
                "{halvings}: {held}"
            );
            assert!(pages().all(|page| part.holds(page) || !next.holds(page)));
        }
    }
}
