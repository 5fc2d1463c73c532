//! What a process needs to report its pages: the program's memory, and a copy of what was reported.
//!
//! A page changes by stores, which are seen, and by other means: system calls, and stores of other
//! processes. After any system call a page is compared as a whole when it is touched for the first
//! time, and always where other processes may store to memory; otherwise only the lines to which
//! the run has stored are.
//!
//! This holds for several threads as for one. A line that two of them store to is read, under the
//! lock of its page, by each when its run ends, so the last of them reports what both left there;
//! and what a page is said to hold lacks no more than the stores of runs that have not ended, which
//! their own rows will say. A system call of one thread may change a page that another has compared
//! since the call began, so pages count as changed when it returns as well.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::guest::{Guest, Running};
use crate::page::{BYTES, LINE, SHIFT, checksum, take_line_over, take_over};
use crate::pool::Chunk;
use crate::record::Record;
use crate::shadow::{Known, Shadow};

/// The most records of a report: every word, and the end.
pub const LONGEST: usize = BYTES / 8 + 1;

/// The most lines that are compared one by one; more take longer than the page.
const FEW_LINES: u32 = 8;

/// The pages of a process, as they are and as they were reported.
#[derive(Debug)]
pub struct Observed {
    memory: Running,
    shadow: Shadow,
    /// How often pages may have changed by other means than stores of the program, from 1.
    epoch: AtomicU32,
    /// Whether other processes may store to the pages at any time.
    is_shared: AtomicBool,
}

impl Observed {
    /// Makes what a process needs that has not reported anything.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            memory: Running::default(),
            shadow: Shadow::new()?,
            epoch: AtomicU32::new(1),
            is_shared: AtomicBool::new(false),
        })
    }

    /// Begins anew in a forked child, of which nothing was reported.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn begin(&self) -> io::Result<()> {
        self.shadow.begin()
    }

    /// Notes that pages may have changed by other means than stores of the program: a system call
    /// is made or has returned, or what a run stored is not reported.
    pub fn note_change(&self) {
        // What the call has stored is seen by each thread that sees its epoch.
        self.epoch.fetch_add(1, Ordering::Release);
    }

    /// Notes that from now on other processes may store to the pages.
    pub fn share(&self) {
        self.is_shared.store(true, Ordering::Relaxed);
    }

    /// Puts into `chunk`, which has room for [`LONGEST`] records, what a page holds otherwise than
    /// was reported, after a run that has stored to these lines; where it is `sampled` or reported
    /// for the first time, with a checksum. Nothing is reported of a page that is not there any
    /// more. Returns whether there was memory for a copy.
    pub fn report(&self, page: u64, stored: u64, sampled: bool, chunk: &Chunk) -> bool {
        let guest = self.memory.guest();
        let reported = self.shadow.with(page, |known| {
            // The page is read and the report made under the lock: a later version is of a later
            // time, and what is whole of it in the pool has its earlier versions there, too. The
            // epoch is read first: a page that changes while it is compared is compared again.
            let epoch = self.epoch.load(Ordering::Acquire);
            let by_stores = *known.epoch == epoch && !self.is_shared.load(Ordering::Relaxed);
            let report = Report { page, known, chunk };
            if by_stores && !sampled && stored.count_ones() <= FEW_LINES {
                report.of_lines(guest, stored);
            } else {
                report.of_all(guest, sampled, epoch);
            }
        });
        reported.is_some()
    }
}

/// A page that is compared with what was reported of it.
struct Report<'a> {
    page: u64,
    known: Known<'a>,
    chunk: &'a Chunk,
}

impl Report<'_> {
    /// Compares some lines: nothing else can have changed since the whole page was compared.
    #[inline]
    fn of_lines(self, guest: &Guest, lines: u64) {
        let Self { page, known, chunk } = self;
        let (mut left, mut changed) = (lines, false);
        while left != 0 {
            let line = left.trailing_zeros() as usize;
            left &= left - 1;
            let mut buffer = MaybeUninit::uninit();
            let at = line * LINE / 8;
            let known = known.page[at..].first_chunk_mut();
            let (Some(known), Some(now)) = (known, guest.line(page, line, &mut buffer)) else {
                continue;
            };
            take_line_over(line, known, now, &mut |index, bytes| {
                changed = true;
                push_word(chunk, page, index, bytes);
            });
        }
        if changed {
            *known.version = next_version(*known.version);
            chunk.push(Record::reported(*known.version, 0));
        }
    }

    /// Compares the page, in this epoch.
    fn of_all(self, guest: &Guest, sampled: bool, epoch: u32) {
        let Self { page, known, chunk } = self;
        let mut buffer = MaybeUninit::uninit();
        let Some(now) = guest.page(page, &mut buffer) else {
            return;
        };
        *known.epoch = epoch;
        let mut changed = false;
        take_over(known.page, now, |index, bytes| {
            changed = true;
            push_word(chunk, page, index, bytes);
        });
        if !changed && !sampled {
            return;
        }
        let is_first = *known.version == 0;
        *known.version = next_version(*known.version);
        let checksum = match sampled || is_first {
            true => checksum(now.as_flattened()),
            false => 0,
        };
        chunk.push(Record::reported(*known.version, checksum));
    }
}

#[inline]
fn push_word(chunk: &Chunk, page: u64, index: usize, bytes: [u8; 8]) {
    let address = (page << SHIFT) | (8 * index as u64);
    chunk.push(Record::word(address, u64::from_le_bytes(bytes)));
}

/// Returns the version after `version`: 0 means that nothing is reported, so it is left out.
pub fn next_version(version: u32) -> u32 {
    version.checked_add(1).unwrap_or(1)
}
