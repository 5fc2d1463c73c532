//! Lines that the last level writes to memory before it evicts them, and keeps, clean.
//!
//! Only lines of the low-hit part are ([`terrace_policy::llc::LlcPolicy::low_hit`]), in three ways:
//!
//! - *Eager* (Lee, Tyson and Farrens, MICRO 2000): a set that has such a line after a request joins
//!   a queue. In idle cycles of the memory the set that has waited longest writes its least recent
//!   such line, and the next, and leaves the queue when it has none. The paper's queue is short;
//!   this one has room for every set.
//! - *Last write* (Wang, Khan and Jimenez, ISCA 2012): the same for those lines whose last write is
//!   predicted to stay the last ([`LastWrites`]).
//! - *Rows* (Lee et al., TR-HPS-2010-002; Stuecheli et al., ISCA 2010): when a line goes to memory,
//!   the low-hit dirty lines of its row follow it into the write buffer, by address, as far as that
//!   has room, so that no core waits for one.
//!
//! An early write is premature if the line is written again before it leaves.

use std::collections::VecDeque;
use std::ops::Sub;

use rustc_hash::FxHashSet;
use terrace_base::Nanos;
use terrace_policy::llc::{Cache, Geometry, Kind, LastWrites, Outcome, Place};

use super::batch::Asked;
use super::flush::Flushed;
use super::memory::{Memory, ROW_BYTES};
use super::settings::{LlcMachine, WriteBack};

/// What was written before it was evicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlyWrites {
    /// Lines written early.
    pub writes: u64,
    /// Lines of those that were written again before they left.
    pub premature: u64,
    /// Idle time of the memory that they took.
    pub idle: Nanos,
}

/// The state of what is written early.
pub struct Early {
    write_back: WriteBack,
    lines_a_row: u64,
    last_writes: Option<LastWrites>,
    /// Sets that wait for idle cycles, and since when, in picoseconds.
    queue: VecDeque<(usize, u64)>,
    /// Whether each set is in the queue.
    waits: Vec<bool>,
    /// Lines in the cache that were written early, and not again since.
    written: FxHashSet<u64>,
    counts: EarlyCounts,
}

/// Counts of what was written early, with time in picoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct EarlyCounts {
    premature: u64,
    idle: u64,
}

impl EarlyCounts {
    /// Returns these counts beside the number of early writes.
    pub fn with(self, writes: u64) -> EarlyWrites {
        EarlyWrites {
            writes,
            premature: self.premature,
            idle: Nanos(self.idle / 1000),
        }
    }
}

impl Sub for EarlyCounts {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            premature: self.premature - before.premature,
            idle: self.idle - before.idle,
        }
    }
}

impl Early {
    /// Makes the state for an empty cache of this shape; `None` where lines are written on demand.
    pub fn new(settings: &LlcMachine, geometry: Geometry) -> Option<Self> {
        let write_back = settings.write_back;
        let predicts = write_back == WriteBack::LastWrite;
        (write_back != WriteBack::Demand).then(|| Self {
            write_back,
            lines_a_row: (ROW_BYTES / settings.line).max(1),
            last_writes: predicts.then(|| LastWrites::new(geometry)),
            queue: VecDeque::new(),
            waits: vec![false; geometry.sets],
            written: FxHashSet::default(),
            counts: EarlyCounts::default(),
        })
    }

    /// Writes a line of the sets that wait, if the memory is idle before its latest request;
    /// returns the line.
    pub fn write_in_idle_time(&mut self, cache: &mut Cache, memory: &mut Memory) -> Option<u64> {
        while let Some((set, since)) = self.queue.front().copied() {
            let Some(place) = self.next_of(cache, set) else {
                self.queue.pop_front();
                self.waits[set] = false;
                continue;
            };
            let took = memory.write_if_idle(cache.tags().line(place), since)?;
            self.counts.idle += took;
            return Some(self.write(cache, place));
        }
        None
    }

    /// Returns the place of the line that a set writes next.
    fn next_of(&self, cache: &Cache, set: usize) -> Option<Place> {
        cache.least_recent_low_hit_dirty(set, |place| match &self.last_writes {
            Some(last_writes) => last_writes.is_last(place),
            None => true,
        })
    }

    fn write(&mut self, cache: &mut Cache, place: Place) -> u64 {
        let line = cache.write_early(place);
        self.written.insert(line);
        line
    }

    /// Notes a request that was served with this outcome.
    pub fn note(&mut self, asked: &Asked, outcome: &Outcome, cache: &Cache, now: u64) {
        let request = &asked.request;
        match outcome {
            Outcome::Hit { .. } if request.kind == Kind::WriteBack => {
                self.end(request.line, true);
            }
            // It is dirty if the level above had written to it.
            Outcome::Miss {
                evicted: Some(evicted),
            } => self.end(evicted.line, evicted.dirty),
            _ => {}
        }
        if let Some(last_writes) = &mut self.last_writes
            && let Some(place) = cache.tags().place(request.line)
        {
            let filled = matches!(outcome, Outcome::Miss { .. });
            last_writes.note(place, request, filled);
        }
        let set = cache.geometry().set_of(request.line);
        let waits = self.write_back != WriteBack::Rows && !self.waits[set];
        if waits && self.next_of(cache, set).is_some() {
            self.waits[set] = true;
            self.queue.push_back((set, now));
        }
    }

    /// Notes a flush, which wrote the line to memory if it was dirty in any level.
    pub fn note_flush(&mut self, flushed: &Flushed, written: bool) {
        if written || flushed.invalidates {
            self.end(flushed.line, written);
        }
    }

    /// Ends the time in which a line that was written early stays so: it is written again, or
    /// leaves.
    fn end(&mut self, line: u64, written_again: bool) {
        let was_written = self.written.remove(&line);
        self.counts.premature += u64::from(was_written && written_again);
    }

    /// Writes the low-hit dirty lines of the row of a line that goes to memory, while the write
    /// buffer has room; returns them.
    pub fn write_row(&mut self, line: u64, cache: &mut Cache, memory: &mut Memory) -> Vec<u64> {
        let mut written = Vec::new();
        if self.write_back != WriteBack::Rows {
            return written;
        }
        let first = line - line % self.lines_a_row;
        for other in first..first + self.lines_a_row {
            let Some(place) = cache.low_hit_dirty(other) else {
                continue;
            };
            if !memory.write_if_room(other) {
                break;
            }
            written.push(self.write(cache, place));
        }
        written
    }

    /// Returns what was counted so far.
    pub fn counts(&self) -> EarlyCounts {
        self.counts
    }
}
