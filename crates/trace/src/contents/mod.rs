//! What pages held, in a trace recorded with contents.
//!
//! A row of such a trace is a run of accesses of one thread to one page. When the run had ended,
//! the recorder compared the page with what it had reported of it until then (zeros at first) and
//! reported each aligned word of 8 bytes that differed, whatever had changed it: stores, system
//! calls, a mapped file, another thread. So a reader that applies the rows in their order holds
//! each page as of its latest touch.
//!
//! Several threads may report one page, and their rows reach the trace in another order than they
//! were made. So each report of a page carries its *version*: 1, 2, 3 and so on, for each process
//! and page; a reader keeps a report back until it has the version before. Some reports carry a
//! *checksum* of the page as it was then, to be compared when exactly that version has been
//! applied.

use rustc_hash::FxHashMap;
use terrace_base::bytes::PAGE_BYTES;

use crate::access::Block;
use crate::changes::{Change, Word};

pub use terrace_recorder::observed::next_version;
pub use terrace_recorder::page::{WORDS, checksum};

/// A page's contents.
pub type Contents = [u8; PAGE_BYTES as usize];

/// How many deviating pages are named.
const NAMED: usize = 10;

/// All pages of a trace, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pages: FxHashMap<(u16, u64), Page>,
    /// Reports that wait for the version before, by process and page.
    waiting: FxHashMap<(u16, u64), FxHashMap<u32, Report>>,
    sampled: u64,
    held: u64,
    deviating: Vec<(u16, u64)>,
}

/// One page.
#[derive(Clone, Debug)]
struct Page {
    version: u32,
    contents: Box<Contents>,
}

/// A change that waits.
#[derive(Clone, Debug)]
struct Report {
    words: Vec<Word>,
    checksum: u64,
}

/// How much of what was sampled held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Samples: checksums, and pages with missing reports.
    pub sampled: u64,
    /// Those that the contents agree with.
    pub held: u64,
    /// The process and the number of the first pages that deviate.
    pub deviating: Vec<(u16, u64)>,
}

impl Memory {
    /// Applies what a row of `block` changed in its page.
    ///
    /// # Panics
    /// Panics if the block has no such row.
    pub fn apply(&mut self, block: &Block, row: usize) {
        let change = block.changes.of(row);
        if change.version == 0 {
            return;
        }
        let process = block.process.get(row).copied().unwrap_or_default();
        let key = (process, block.address[row] / PAGE_BYTES);
        let version = self.pages.entry(key).or_default().version;
        if change.version != next_version(version) {
            let report = Report {
                words: change.words.to_vec(),
                checksum: change.checksum,
            };
            let waiting = self.waiting.entry(key).or_default();
            waiting.insert(change.version, report);
            return;
        }
        self.apply_next(key, change);
        if !self.waiting.is_empty() {
            self.apply_waiting(key);
        }
    }

    /// Applies what waited for the present version of the page, and for those that follow.
    fn apply_waiting(&mut self, key: (u16, u64)) {
        while let Some(waiting) = self.waiting.get_mut(&key) {
            let version = next_version(self.pages.entry(key).or_default().version);
            let Some(report) = waiting.remove(&version) else {
                return;
            };
            if waiting.is_empty() {
                self.waiting.remove(&key);
            }
            let change = Change {
                words: &report.words,
                version,
                checksum: report.checksum,
            };
            self.apply_next(key, change);
        }
    }

    /// Applies the version after the present one.
    fn apply_next(&mut self, key: (u16, u64), change: Change<'_>) {
        let page = self.pages.entry(key).or_default();
        let words = page.contents.as_chunks_mut::<8>().0;
        for word in change.words {
            if let Some(bytes) = words.get_mut(usize::from(word.index)) {
                *bytes = word.value.to_le_bytes();
            }
        }
        page.version = change.version;
        if change.checksum != 0 {
            self.sampled += 1;
            match checksum(&*page.contents) == change.checksum {
                true => self.held += 1,
                false => name(&mut self.deviating, key),
            }
        }
    }

    /// Returns the contents of a page, by its number (not its address): zeros if nothing was
    /// reported.
    pub fn page(&self, process: u16, page: u64) -> &Contents {
        const ZEROS: &Contents = &[0; PAGE_BYTES as usize];
        let page = self.pages.get(&(process, page));
        page.map_or(ZEROS, |page| &page.contents)
    }

    /// Returns the numbers of the pages with a report, with their processes.
    pub fn pages(&self) -> impl Iterator<Item = (u16, u64)> {
        self.pages.keys().copied()
    }

    /// Returns how much of what was sampled held. A page with a report that still waits for a
    /// version that did not come is a sample that did not hold.
    pub fn verified(&self) -> Verified {
        let mut deviating = self.deviating.clone();
        let mut incomplete: Vec<_> = self.waiting.keys().copied().collect();
        incomplete.sort_unstable();
        incomplete.iter().for_each(|key| name(&mut deviating, *key));
        Verified {
            sampled: self.sampled + incomplete.len() as u64,
            held: self.held,
            deviating,
        }
    }
}

impl Default for Page {
    fn default() -> Self {
        Self {
            version: 0,
            contents: Box::new([0; PAGE_BYTES as usize]),
        }
    }
}

/// Names a page that deviates, unless it is named already or enough are.
fn name(deviating: &mut Vec<(u16, u64)>, key: (u16, u64)) {
    if deviating.len() < NAMED && !deviating.contains(&key) {
        deviating.push(key);
    }
}

#[cfg(test)]
mod tests;
