//! A slow memory whose transfers fail now and then, as a fault of the test demands.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use terrace_region::slow::{Buffer, Done, Slow, Wait, Write};

/// Which transfers fail.
#[derive(Clone, Copy)]
pub enum Fault {
    /// Writes to places from this one on: no space is left.
    Full(u32),
    /// All writes, after a millisecond.
    LateWrites,
    /// Every write of this number.
    Writes(u64),
    /// Reads of this place.
    ReadsOf(u32),
}

/// A memory with a fault. A failed transfer leaves noise.
pub struct Faulty<S> {
    memory: S,
    fault: Fault,
    writes: u64,
    /// Tickets of transfers that fail when they end.
    failing: HashSet<u32>,
    /// Failed writes, and when that is told.
    failed: VecDeque<(Instant, Done)>,
}

impl<S: Slow> Faulty<S> {
    pub fn new(memory: S, fault: Fault) -> Self {
        Self {
            memory,
            fault,
            writes: 0,
            failing: HashSet::new(),
            failed: VecDeque::new(),
        }
    }

    /// Stores nothing, and says so after a time.
    fn fail(&mut self, ticket: u32, write: Write, after: Duration) {
        let done = Done {
            ticket,
            buffer: write.buffer,
            result: Err(io::Error::from_raw_os_error(28)),
        };
        self.failed.push_back((Instant::now() + after, done));
    }
}

impl<S: Slow> Slow for Faulty<S> {
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>) {
        if matches!(self.fault, Fault::ReadsOf(broken) if broken == place) {
            self.failing.insert(ticket);
        }
        self.memory.read(ticket, place, buffer);
    }

    fn write(&mut self, ticket: u32, place: u32, mut write: Write) {
        self.writes += 1;
        match self.fault {
            Fault::LateWrites => return self.fail(ticket, write, Duration::from_millis(1)),
            Fault::Full(places) if place >= places => {
                return self.fail(ticket, write, Duration::ZERO);
            }
            // Something else is stored.
            Fault::Writes(every) if self.writes.is_multiple_of(every) => {
                self.failing.insert(ticket);
                write.buffer.0.fill(0xEE);
            }
            _ => {}
        }
        self.memory.write(ticket, place, write);
    }

    fn done(&mut self) -> Option<Done> {
        let now = Instant::now();
        if self.failed.front().is_some_and(|(at, _)| *at <= now) {
            return self.failed.pop_front().map(|(_, failed)| failed);
        }
        let mut done = self.memory.done()?;
        if self.failing.remove(&done.ticket) {
            done.buffer.0.fill(0xEE);
            done.result = Err(io::Error::from_raw_os_error(5));
        }
        Some(done)
    }

    fn wait(&self) -> Wait {
        match self.failed.is_empty() {
            true => self.memory.wait(),
            false => Wait::Until(Instant::now()),
        }
    }
}
