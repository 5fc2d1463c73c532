//! The stream of one thread's accesses into the pool.

mod report;

use crate::caches::{Caches, LINE_SHIFT};
use crate::discard::Pages;
use crate::frame::Frame;
use crate::level::pieces;
use crate::observed::Observed;
use crate::order::Event;
use crate::pool::{Chunk, Owner, Pool};
use crate::record::{Kind, MAX_STEP, Record};
use crate::zeros::Zeros;

/// A number that no line and no page has.
const NO_UNIT: u64 = u64::MAX;

/// The instruction that made an access, and its time.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The instruction's address.
    pub ip: u64,
    /// Instructions that the thread had executed before it.
    pub instruction: u64,
}

/// The accesses of one thread.
pub struct Stream<'a> {
    pool: &'a Pool,
    chunk: &'a Chunk,
    process: u32,
    /// The number of the thread; none before its first access.
    thread: Option<u32>,
    /// The instruction of the last record.
    instruction: u64,
    /// The line or page of the last record, [`NO_UNIT`] where it may not be joined any more.
    unit: u64,
    /// The address of the last record.
    address: u64,
    written: bool,
    /// The lines of the page to which the run has stored, a bit each, where its page is reported.
    stored: u64,
    caches: Option<Box<Caches>>,
    /// What is needed to report pages; none where that is not asked for.
    observed: Option<&'a Observed>,
    /// What is needed to say which pages hold zeros; none where that is not asked for, or units are
    /// not pages.
    zeros: Option<&'a Zeros>,
    /// Runs until the next one that is sampled.
    until_sample: u32,
}

impl<'a> Stream<'a> {
    /// Begins the stream of a new thread of `process`, whose pages are reported if they are
    /// `observed`, and looked at for `zeros`.
    pub fn new(
        pool: &'a Pool,
        process: u32,
        observed: Option<&'a Observed>,
        zeros: Option<&'a Zeros>,
    ) -> Self {
        let filtered = pool.settings().filtered;
        Self {
            pool,
            chunk: pool.none(),
            process,
            thread: None,
            instruction: 0,
            unit: NO_UNIT,
            address: 0,
            written: false,
            stored: 0,
            caches: filtered.then(Box::default),
            observed,
            zeros,
            until_sample: 0,
        }
    }

    /// Records an access as a row.
    #[inline(always)]
    pub fn keep(&mut self, address: u64, kind: Kind, origin: Origin) {
        let step = origin.instruction.wrapping_sub(self.instruction);
        let record = Record::access(address, kind, origin.ip, step);
        if step <= MAX_STEP && self.chunk.push(record) {
            self.instruction = origin.instruction;
        } else {
            self.keep_far(address, kind, origin);
        }
    }

    /// Records an access whose address comes from a load so many instructions before; 0 is none.
    #[inline(always)]
    pub fn keep_dependent(&mut self, address: u64, kind: Kind, origin: Origin, depends: u8) {
        if depends != 0 {
            // The three records of an access are in one chunk.
            if self.chunk.room() < 3 {
                self.renew();
            }
            self.chunk.push(Record::depends(depends));
        }
        self.keep(address, kind, origin);
    }

    /// Same as [`Stream::keep`] where the chunk is full, or the step too long for a record.
    #[cold]
    #[inline(never)]
    fn keep_far(&mut self, address: u64, kind: Kind, origin: Origin) {
        self.instruction = origin.instruction;
        let record = Record::access(address, kind, origin.ip, 0);
        // A mark may fill the chunk: then the next one needs none.
        if self.chunk.push(Record::instruction(origin.instruction)) && self.chunk.push(record) {
            return;
        }
        self.renew();
        self.chunk.push(record);
    }

    /// Says that the process has given pages back. A touch of one is no part of the run before.
    pub fn discard(&mut self, pages: &Pages) {
        if pages.is_empty() {
            return;
        }
        self.tell(&[Record::discard(pages.start, pages.end - pages.start)]);
    }

    /// Says that the program has allocated an object by these calls, in one chunk.
    pub fn allocate(&mut self, address: u64, bytes: u64, stack: &[Frame]) {
        let frames = stack.iter().map(|frame| Record::frame(*frame));
        let records: Vec<Record> = frames.chain([Record::allocated(address, bytes)]).collect();
        self.tell(&records);
    }

    /// Says that the program has freed an object.
    pub fn free(&mut self, address: u64) {
        self.tell(&[Record::freed(address)]);
    }

    /// Says how the accesses of this thread are ordered with those of others.
    pub fn order(&mut self, event: Event) {
        self.tell(&[Record::order(event)]);
    }

    /// Writes records that end a run into one chunk.
    fn tell(&mut self, records: &[Record]) {
        self.end_run();
        self.end_row();
        if self.chunk.room() < records.len() {
            self.renew();
        }
        for record in records {
            self.chunk.push(*record);
        }
    }

    /// Hands the chunk to the reader, and takes an empty one if there is any.
    fn renew(&mut self) {
        self.publish();
        let thread = *self.thread.get_or_insert_with(|| self.pool.new_thread());
        let owner = Owner {
            process: self.process,
            thread,
            instruction: self.instruction,
        };
        if let Some(chunk) = self.pool.take(owner) {
            self.chunk = chunk;
        }
    }

    /// Records a run of accesses to one unit of 2^`SHIFT` bytes as a row.
    #[inline(always)]
    pub fn join<const SHIFT: u32>(&mut self, address: u64, kind: Kind, origin: Origin) {
        pieces(address, kind.bytes(), SHIFT, |address, bytes| {
            let unit = address >> SHIFT;
            if unit != self.unit {
                self.end_row();
                self.keep(address, Kind::new(bytes, kind.write()), origin);
                (self.unit, self.address) = (unit, address);
                self.written = kind.write();
            } else if kind.write() && !self.written {
                self.chunk.change_last(Record::stored);
                self.written = true;
            }
        });
    }

    /// Sends an access through the private caches, and their requests to [`Stream::keep`] or
    /// [`Stream::join`].
    #[inline(always)]
    pub fn filter<const SHIFT: u32>(&mut self, address: u64, kind: Kind, origin: Origin) {
        let Some(mut caches) = self.caches.take() else {
            return;
        };
        pieces(address, kind.bytes(), LINE_SHIFT, |address, _| {
            caches.touch(address >> LINE_SHIFT, kind.write(), |line, write| {
                let kind = Kind::new(1 << LINE_SHIFT, write);
                let ip = if write { 0 } else { origin.ip };
                self.row::<SHIFT>(line << LINE_SHIFT, kind, Origin { ip, ..origin });
            });
        });
        self.caches = Some(caches);
    }

    /// Records by [`Stream::keep`] or [`Stream::join`].
    #[inline(always)]
    pub fn row<const SHIFT: u32>(&mut self, address: u64, kind: Kind, origin: Origin) {
        if SHIFT == 0 {
            self.keep(address, kind, origin);
        } else {
            self.join::<SHIFT>(address, kind, origin);
        }
    }

    /// Ends the row, to which no access is joined any more, and says whether its page holds nothing
    /// but zeros now.
    #[inline(always)]
    fn end_row(&mut self) {
        let unit = std::mem::replace(&mut self.unit, NO_UNIT);
        let fill = |zeros: &Zeros| zeros.fill_page_of(self.address);
        if unit != NO_UNIT && self.zeros.is_some_and(fill) {
            self.chunk.change_last(Record::of_zeros);
        }
    }

    /// Hands the chunk to the reader, with a report of the run that ends.
    pub fn publish(&mut self) {
        self.end_run();
        self.end_row();
        self.pool.publish(self.chunk);
        self.abandon();
    }

    /// Gives the chunk up to its owner: after a fork, the parent.
    pub fn abandon(&mut self) {
        self.chunk = self.pool.none();
        self.unit = NO_UNIT;
    }
}

#[cfg(test)]
mod tests;
