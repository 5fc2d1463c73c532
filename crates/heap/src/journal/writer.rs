//! The writer of the journal: one thread appends for all that wait.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::entry::{self, Place};
use super::numbers::set_number;
use crate::error::Result;
use crate::layout::header;
use crate::lock::lock;
use crate::medium::lines::lines;
use crate::medium::syncs::Syncs;
use crate::medium::{Counts, Medium};

/// The journal of a medium in use.
pub(super) struct Writer {
    /// Its range of bytes of the pool.
    bytes: Range<u64>,
    /// Lines that were flushed but are in no entry yet.
    flushed: Mutex<Vec<Range<u64>>>,
    /// The state of writing: at most one thread writes at a time, for all that wait.
    writes: Syncs,
    next: Mutex<Place>,
    lines: AtomicU64,
    fences: AtomicU64,
}

impl Writer {
    /// Returns a journal that follows the given generation.
    pub fn new(bytes: Range<u64>, generation: u64) -> Self {
        let offset = bytes.start;
        Self {
            bytes,
            flushed: Mutex::default(),
            writes: Syncs::default(),
            next: Mutex::new(Place { offset, generation }),
            lines: AtomicU64::new(0),
            fences: AtomicU64::new(0),
        }
    }

    /// Notes bytes that the next fence must make durable.
    pub fn flush(&self, offset: u64, len: u64) {
        let lines = lines(offset, len);
        let count = lines.end - lines.start;
        self.lines.fetch_add(count, Ordering::Relaxed);
        if !lines.is_empty() {
            lock(&self.flushed).push(lines);
        }
    }

    /// Makes durable what was flushed.
    ///
    /// # Errors
    ///
    /// The medium failed; nothing can be made durable after that.
    pub fn fence<M: Medium>(&self, medium: &M) -> Result<()> {
        self.fences.fetch_add(1, Ordering::Relaxed);
        // The order matters: lines that another thread has taken, it has begun to write before.
        if lock(&self.flushed).is_empty() && !self.writes.under_way() {
            return self.writes.outcome();
        }
        self.writes.sync(|| self.write(medium)).map(drop)
    }

    /// Returns the counts of lines and fences that were requested.
    pub fn counts(&self) -> Counts {
        Counts {
            lines: self.lines.load(Ordering::Relaxed),
            fences: self.fences.load(Ordering::Relaxed),
            ..Counts::default()
        }
    }

    fn write<M: Medium>(&self, medium: &M) -> Result<()> {
        let taken = std::mem::take(&mut *lock(&self.flushed));
        let runs = entry::merge(taken);
        if runs.is_empty() {
            return Ok(());
        }
        let bytes = entry::bytes_of(&runs);
        let place = *lock(&self.next);
        if bytes > self.bytes.end - place.offset {
            // Everything becomes durable in its own place, so that the journal can begin anew.
            medium.sync()?;
            return self.renew(medium);
        }
        let words = entry::encode(medium, place, &runs);
        medium.write_through(place.offset, bytemuck::cast_slice(&words))?;
        lock(&self.next).offset += bytes;
        Ok(())
    }

    /// Begins a new generation, so that the contents of the journal no longer count.
    pub fn renew<M: Medium>(&self, medium: &M) -> Result<()> {
        let mut next = lock(&self.next);
        next.generation += 1;
        next.offset = self.bytes.start;
        set_number(medium, header::GENERATION_AT, next.generation)
    }
}
