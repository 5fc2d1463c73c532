//! Statistics of a trace from one pass over it.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use terrace_base::Result;
use terrace_base::bytes::PAGE_BYTES;

use crate::access::{Block, Columns};
use crate::contents::{Memory, Verified};
use crate::discard::Discard;
use crate::reuse::{Distances, Reuse};
use crate::source::Source;

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
/// The columns that the statistics are made of.
pub const COLUMNS: Columns = Columns::ALL;

/// Statistics of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Loads and stores.
    pub accesses: u64,
    /// Accesses that store.
    pub writes: u64,
    /// Number of accesses of each size in bytes; size 0 if the format does not say.
    pub sizes: BTreeMap<u32, u64>,
    /// Different lines of 64 bytes that were touched.
    pub lines: u64,
    /// Different pages of 4 KiB that were touched.
    pub pages: u64,
    /// Different processes.
    pub processes: u64,
    /// Different threads.
    pub threads: u64,
    /// Instructions up to the last access of each thread, added up, at most 2^64 - 1; `None` if the
    /// trace does not count them.
    pub instructions: Option<u64>,
    /// Different addresses of instructions; 0 if the trace does not have them.
    pub ips: u64,
    /// What pages held; `None` if the trace does not say.
    pub contents: Option<Contents>,
    /// Memory that was given back; `None` if the trace says of none.
    pub discarded: Option<Discarded>,
    /// Reuse distances in pages. An access that crosses into another page touches both.
    pub reuse: Reuse,
}

/// Memory that the processes of a trace gave back: [`crate::discard`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// How often pages were given back.
    pub times: u64,
    /// Pages that had been touched then, each as often as that happened.
    pub pages: u64,
    /// The most pages at once that were touched and not given back.
    pub most_at_once: u64,
}

/// What the pages of a trace held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Pages with a report.
    pub pages: u64,
    /// Words of 8 bytes that were reported.
    pub words: u64,
    /// How much of what was sampled held.
    pub verified: Verified,
}

impl Info {
    /// Reads `source` to its end. `progress` is called now and then with the number of accesses
    /// read.
    ///
    /// # Errors
    /// Returns the errors of the source.
    pub fn of(source: &mut dyn Source, mut progress: impl FnMut(u64)) -> Result<Self> {
        let counts_instructions = source.meta().counts_instructions;
        let mut gathering = Gathering {
            memory: source.meta().has_contents.then(Memory::default),
            ..Gathering::default()
        };
        let mut block = Block::default();
        while source.next_block(&mut block)? {
            gathering.add(&block);
            progress(gathering.info.accesses);
        }
        Ok(gathering.finish(counts_instructions))
    }
}

/// Sizes below this are counted in an array.
const SMALL: usize = 32;

/// Visits that are processed together.
const BATCH: usize = 4096;

#[derive(Debug, Default)]
struct Gathering {
    info: Info,
    small_sizes: [u64; SMALL],
    pages: Pages,
    distances: Distances,
    batch: Batch,
    /// The process and page of the last visit.
    last: Option<(u16, u64)>,
    /// Touches of the page that was touched before, in these visits.
    again: u64,
    answers: Vec<Option<u32>>,
    processes: FxHashSet<u16>,
    /// The instructions of each thread so far.
    threads: FxHashMap<u16, u64>,
    ips: FxHashSet<u64>,
    /// All pages, as far as the trace says what they held.
    memory: Option<Memory>,
    /// Words that were reported of them.
    words: u64,
    /// How often pages were given back.
    discards: u64,
}

impl Gathering {
    /// Processes column after column, so that the tables of each loop stay in the cache.
    fn add(&mut self, block: &Block) {
        self.info.accesses += block.len() as u64;
        self.info.writes += block.write.iter().filter(|write| **write).count() as u64;
        self.add_sizes(block);
        self.add_threads(block);
        add_runs(&mut self.processes, &block.process);
        add_runs(&mut self.ips, &block.ip);
        self.add_pages(block);
        self.add_contents(block);
    }

    fn add_contents(&mut self, block: &Block) {
        if let Some(memory) = &mut self.memory {
            self.words += block.changes.words.len() as u64;
            (0..block.len()).for_each(|row| memory.apply(block, row));
        }
    }

    fn add_sizes(&mut self, block: &Block) {
        for size in &block.size {
            match self.small_sizes.get_mut(*size as usize) {
                Some(count) => *count += 1,
                None => *self.info.sizes.entry(*size).or_default() += 1,
            }
        }
    }

    /// The last access of each thread says how far it came; of a run, only its last is looked at.
    fn add_threads(&mut self, block: &Block) {
        let mut index = 0;
        for run in block.thread.chunk_by(|a, b| a == b) {
            index += run.len();
            let done = block
                .instruction
                .get(index - 1)
                .map_or(0, |n| n.saturating_add(1));
            self.threads.insert(run[0], done);
        }
    }

    fn add_pages(&mut self, block: &Block) {
        let mut discards = block.discards.iter().peekable();
        for (index, address) in block.address.iter().enumerate() {
            while let Some(discard) = discards.next_if(|discard| discard.row == index as u64) {
                self.discard(discard);
            }
            let process = block.process.get(index).copied().unwrap_or_default();
            let size = block.size.get(index).copied().unwrap_or_default();
            let last = address.saturating_add(u64::from(size.max(1)) - 1);
            let mut start = *address;
            while start / PAGE_BYTES < last / PAGE_BYTES {
                let end = start | (PAGE_BYTES - 1);
                self.touch(process, start, end);
                start = end + 1;
            }
            self.touch(process, start, last);
        }
        self.follow();
    }

    fn discard(&mut self, discard: &Discard) {
        self.follow();
        self.last = None;
        self.discards += 1;
        self.pages.discard(discard);
    }

    /// Touches `first..=last`, which lie in one page.
    fn touch(&mut self, process: u16, first: u64, last: u64) {
        let key = (process, first / PAGE_BYTES);
        let lines = lines(first, last);
        match self.batch.lines.last_mut() {
            Some(visited) if self.last == Some(key) => {
                *visited |= lines;
                self.again += 1;
            }
            _ => {
                if self.batch.pages.len() == BATCH {
                    self.follow();
                }
                let page = self.pages.number(process, first / PAGE_BYTES);
                self.batch.pages.push(page);
                self.batch.lines.push(lines);
                self.last = Some(key);
            }
        }
    }

    /// Processes the visits of the batch, table after table, so that the processor does not wait
    /// for an entry before it requests the next.
    fn follow(&mut self) {
        let Batch { pages, lines } = &mut self.batch;
        self.pages.mark(pages, lines);
        self.distances.touch_all(pages, &mut self.answers);
        for distance in self.answers.drain(..) {
            self.info.reuse.add(distance);
        }
        self.info.reuse.add_zeros(std::mem::take(&mut self.again));
        pages.clear();
        lines.clear();
    }

    fn finish(self, counts_instructions: bool) -> Info {
        let mut info = self.info;
        info.contents = self.memory.map(|memory| Contents {
            pages: memory.pages().count() as u64,
            words: self.words,
            verified: memory.verified(),
        });
        let small = (0..).zip(self.small_sizes);
        info.sizes.extend(small.filter(|(_, count)| *count > 0));
        info.pages = info.reuse.cold;
        info.lines = self.pages.lines();
        info.discarded = (self.discards > 0).then_some(Discarded {
            times: self.discards,
            pages: self.pages.discarded,
            most_at_once: self.pages.most,
        });
        // A trace without processes and threads counts as one process with one thread.
        let least = u64::from(info.accesses > 0);
        info.processes = least.max(self.processes.len() as u64);
        info.threads = least.max(self.threads.len() as u64);
        let threads = self.threads.values();
        info.instructions = counts_instructions
            .then(|| threads.fold(0, |sum: u64, done| sum.saturating_add(*done)));
        info.ips = self.ips.iter().filter(|ip| **ip != 0).count() as u64;
        info
    }
}

/// Adds the values to the set; those equal to their neighbours before are passed over.
fn add_runs<T: Copy + Eq + std::hash::Hash>(set: &mut FxHashSet<T>, values: &[T]) {
    for run in values.chunk_by(|a, b| a == b) {
        set.insert(run[0]);
    }
}

/// Visits of pages, each of consecutive touches, that are not processed yet.
#[derive(Debug, Default)]
struct Batch {
    /// The number of the page of each.
    pages: Vec<u32>,
    /// The page's lines that each touched, a bit a line.
    lines: Vec<u64>,
}

/// The bits of the lines in which `first..=last` lie, within their page.
fn lines(first: u64, last: u64) -> u64 {
    let line = |address: u64| address % PAGE_BYTES / LINE_BYTES;
    (u64::MAX >> (63 - line(last))) & (u64::MAX << line(first))
}

/// The binary logarithm of the number of neighbouring pages that are looked up together: one entry
/// of the hash table for all of them. With it the number of a group and that of a process make 64
/// bits.
const GROUP: u32 = 4;

/// Numbers of pages, and which of their lines were touched.
#[derive(Debug, Default)]
struct Pages {
    /// The number of each group of pages.
    groups: FxHashMap<u64, u32>,
    /// A bit a line, for each page.
    lines: Vec<u64>,
    /// A bit a page, for each group: the pages that were touched and not given back.
    live: Vec<u16>,
    /// The number of these pages, and the most so far.
    count: u64,
    most: u64,
    /// Pages that were given back.
    discarded: u64,
}

impl Pages {
    /// Returns the number of a page.
    fn number(&mut self, process: u16, page: u64) -> u32 {
        let key = (page >> GROUP << 16) | u64::from(process);
        let fresh = self.groups.len() as u32;
        let group = *self.groups.entry(key).or_insert(fresh);
        if group == fresh {
            self.lines.resize((fresh as usize + 1) << GROUP, 0);
            self.live.push(0);
        }
        (group << GROUP) | (page as u32 & ((1 << GROUP) - 1))
    }

    /// Notes which lines of each of the pages were touched.
    fn mark(&mut self, pages: &[u32], lines: &[u64]) {
        for (page, lines) in pages.iter().zip(lines) {
            self.lines[*page as usize] |= lines;
            let live = &mut self.live[(*page >> GROUP) as usize];
            let bit = 1 << (*page & ((1 << GROUP) - 1));
            self.count += u64::from(*live & bit == 0);
            *live |= bit;
        }
        self.most = self.most.max(self.count);
    }

    /// Takes pages for given back.
    fn discard(&mut self, discard: &Discard) {
        let groups = discard.page >> GROUP..(discard.end() + ((1 << GROUP) - 1)) >> GROUP;
        let process = u64::from(discard.process);
        if groups.end - groups.start <= self.groups.len() as u64 {
            for first in groups {
                let known = self.groups.get(&(first << 16 | process)).copied();
                known
                    .into_iter()
                    .for_each(|group| self.discard_of(group, first, discard));
            }
            return;
        }
        let own = |key: &u64| key & 0xffff == process && groups.contains(&(key >> 16));
        let all = self.groups.iter().filter(|(key, _)| own(key));
        let all: Vec<(u64, u32)> = all.map(|(key, group)| (key >> 16, *group)).collect();
        for (first, group) in all {
            self.discard_of(group, first, discard);
        }
    }

    /// Takes the pages for given back that lie in a group, which begins with 2^[`GROUP`] times
    /// `first`.
    fn discard_of(&mut self, group: u32, first: u64, discard: &Discard) {
        let range = discard.page..discard.end();
        let bits = (0..1 << GROUP).filter(|bit| range.contains(&((first << GROUP) + bit)));
        let mask = bits.fold(0_u16, |mask, bit| mask | 1 << bit);
        let live = &mut self.live[group as usize];
        let gone = u64::from((*live & mask).count_ones());
        *live &= !mask;
        self.count -= gone;
        self.discarded += gone;
    }

    fn lines(&self) -> u64 {
        self.lines.iter().map(|l| u64::from(l.count_ones())).sum()
    }
}

#[cfg(test)]
mod tests;
