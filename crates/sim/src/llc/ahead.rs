//! Lines that the second level of a core reads ahead of their use.

use rustc_hash::FxHashSet;
use terrace_policy::llc::Prefetcher;

/// Counts of the lines that second levels read ahead, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetchCounts {
    /// Lines read ahead: those that the level did not have.
    pub issued: u64,
    /// Lines of those that the first level asked for while they were there.
    pub useful: u64,
    /// Lines of those that left, or that the first level wrote back to, before it asked for them.
    pub useless: u64,
}

impl PrefetchCounts {
    /// Lines that are there at the end, without having been asked for.
    pub fn unused(self) -> u64 {
        self.issued - self.useful - self.useless
    }
}

impl std::ops::Add for PrefetchCounts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            issued: self.issued + other.issued,
            useful: self.useful + other.useful,
            useless: self.useless + other.useless,
        }
    }
}

/// What a second level reads ahead.
#[derive(Clone, Debug)]
pub struct Ahead {
    prefetcher: Prefetcher,
    /// Lines that were read ahead and not asked for since.
    unused: FxHashSet<u64>,
    /// Whether the line that the first level asked for last was one of those, until it is taken.
    asked: Option<bool>,
    counts: PrefetchCounts,
}

impl Ahead {
    /// Makes the state of a level that has read nothing.
    pub fn new(prefetcher: Prefetcher) -> Self {
        Self {
            prefetcher,
            unused: FxHashSet::default(),
            asked: None,
            counts: PrefetchCounts::default(),
        }
    }

    /// Notes that the first level asks for a line.
    pub fn ask(&mut self, line: u64) {
        let useful = self.unused.remove(&line);
        self.counts.useful += u64::from(useful);
        self.asked = Some(useful);
    }

    /// Takes whether the line that was asked for was read ahead; `None` if none was asked for since
    /// the last time.
    pub fn take_asked(&mut self) -> Option<bool> {
        self.asked.take()
    }

    /// Returns the lines to be read ahead, if they are not there, after an instruction has asked
    /// for one.
    pub fn after(&mut self, line: u64, ip: u64) -> impl Iterator<Item = u64> + use<> {
        self.prefetcher.ahead(line, ip)
    }

    /// Notes that a line is read ahead.
    pub fn issue(&mut self, line: u64) {
        self.counts.issued += 1;
        self.unused.insert(line);
    }

    /// Notes that a line leaves the level, or is written back to it.
    pub fn lose(&mut self, line: u64) {
        self.counts.useless += u64::from(self.unused.remove(&line));
    }

    /// Returns the counts.
    pub fn counts(&self) -> PrefetchCounts {
        self.counts
    }
}
