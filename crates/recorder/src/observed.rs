//! What a process needs to report its pages: the program's memory, and a copy of what was reported.

use std::io;
use std::mem::MaybeUninit;
use std::sync::OnceLock;

use crate::copy;
use crate::guest::Guest;
use crate::page::{BYTES, Page, SHIFT, checksum, take_over};
use crate::pool::Chunk;
use crate::record::Record;
use crate::shadow::{Known, Shadow};

/// The most records of a report: every word, and the end.
pub const LONGEST: usize = BYTES / 8 + 1;

/// The pages of a process, as they are and as they were reported.
#[derive(Debug)]
pub struct Observed {
    /// Known once the program runs.
    guest: OnceLock<Guest>,
    shadow: Shadow,
}

impl Observed {
    /// Makes what a process needs that has not reported anything.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            guest: OnceLock::new(),
            shadow: Shadow::new()?,
        })
    }

    /// Begins anew in a forked child, of which nothing was reported.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn begin(&self) -> io::Result<()> {
        self.shadow.begin()
    }

    /// Puts into `chunk`, which has room for [`LONGEST`] records, what a page holds otherwise than was
    /// reported; where it is `sampled` or reported for the first time, with a checksum. Nothing is reported of
    /// a page that is not there any more. Returns whether there was memory for a copy.
    pub fn report(&self, page: u64, sampled: bool, chunk: &Chunk) -> bool {
        let guest = self.guest.get_or_init(|| {
            // Only now: QEMU has installed its own handlers, and set the base.
            let _ = copy::prepare();
            Guest::of_this_process()
        });
        let reported = self.shadow.with(page, |known| {
            // The page is read and the report made under the lock: a later version is of a later time, and
            // what is whole of it in the pool has its earlier versions there, too.
            let mut buffer = MaybeUninit::uninit();
            if let Some(now) = guest.page(page, &mut buffer) {
                report(page, now, known, sampled, chunk);
            }
        });
        reported.is_some()
    }
}

fn report(page: u64, now: &Page, known: Known<'_>, sampled: bool, chunk: &Chunk) {
    let mut changed = false;
    take_over(known.page, now, |index, bytes| {
        let address = page << SHIFT | 8 * index as u64;
        chunk.push(Record::word(address, u64::from_le_bytes(bytes)));
        changed = true;
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

/// Returns the version after `version`: 0 means that nothing is reported, so it is left out.
pub fn next_version(version: u32) -> u32 {
    version.checked_add(1).unwrap_or(1)
}
