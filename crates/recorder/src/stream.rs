//! The accesses of one thread, on their way into the pool.

use crate::caches::{Caches, LINE_SHIFT};
use crate::level::pieces;
use crate::pool::{Chunk, Owner, Pool};
use crate::record::{Kind, MAX_STEP, Record};

/// No line and no page has this number.
const NO_UNIT: u64 = u64::MAX;

/// Who made an access, and when.
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
    /// None before the first access.
    thread: Option<u32>,
    /// The instruction of the last record.
    instruction: u64,
    /// The line or page of the last record, [`NO_UNIT`] where it may not be joined any more.
    unit: u64,
    written: bool,
    caches: Option<Box<Caches>>,
}

impl<'a> Stream<'a> {
    /// A thread of `process` that has made no access.
    pub fn new(pool: &'a Pool, process: u32) -> Self {
        let filtered = pool.settings().filtered;
        Self {
            pool,
            chunk: pool.none(),
            process,
            thread: None,
            instruction: 0,
            unit: NO_UNIT,
            written: false,
            caches: filtered.then(Box::default),
        }
    }

    /// An access is a row.
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

    /// The same where the chunk is full, or the step too long for a record.
    #[cold]
    #[inline(never)]
    fn keep_far(&mut self, address: u64, kind: Kind, origin: Origin) {
        self.instruction = origin.instruction;
        let record = Record::access(address, kind, origin.ip, 0);
        // A mark may fill the chunk: then the next one needs none.
        if self.chunk.push(Record::instruction(origin.instruction)) && self.chunk.push(record) {
            return;
        }
        self.publish();
        let thread = *self.thread.get_or_insert_with(|| self.pool.new_thread());
        let owner = Owner {
            process: self.process,
            thread,
            instruction: origin.instruction,
        };
        if let Some(chunk) = self.pool.take(owner) {
            self.chunk = chunk;
            self.chunk.push(record);
        }
    }

    /// A run of accesses to one unit of 2^`SHIFT` bytes is a row.
    #[inline(always)]
    pub fn join<const SHIFT: u32>(&mut self, address: u64, kind: Kind, origin: Origin) {
        pieces(address, kind.bytes(), SHIFT, |address, bytes| {
            let unit = address >> SHIFT;
            if unit != self.unit {
                self.keep(address, Kind::new(bytes, kind.write()), origin);
                self.unit = unit;
                self.written = kind.write();
            } else if kind.write() && !self.written {
                self.chunk.last_stores();
                self.written = true;
            }
        });
    }

    /// What the private caches let through goes on to [`Stream::keep`] or [`Stream::join`].
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

    /// [`Stream::keep`] or [`Stream::join`].
    #[inline(always)]
    pub fn row<const SHIFT: u32>(&mut self, address: u64, kind: Kind, origin: Origin) {
        if SHIFT == 0 {
            self.keep(address, kind, origin);
        } else {
            self.join::<SHIFT>(address, kind, origin);
        }
    }

    /// Hands what there is to the reader.
    pub fn publish(&mut self) {
        self.pool.publish(self.chunk);
        self.abandon();
    }

    /// Leaves what there is to whom it belongs: after a fork, the parent.
    pub fn abandon(&mut self) {
        self.chunk = self.pool.none();
        self.unit = NO_UNIT;
    }
}
