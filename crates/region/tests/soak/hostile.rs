//! A slow memory whose transfers fail, end late, and end in another order, as a seeded generator
//! has it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_policy::write::Contents;
use terrace_region::slow::{Buffer, Done, Side, Slow, Wait, Write};

/// One of how many transfers fail; none if 0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Reads, which leave noise in the buffer.
    pub reads: u64,
    /// Writes, which store a part of the lines, and noise in others.
    pub writes: u64,
    /// Transfers whose end is told late.
    pub late: u64,
}

/// A memory that fails. It also checks that transfers of a place do not overlap.
pub struct Hostile {
    memory: Box<dyn Slow>,
    random: Xoshiro256PlusPlus,
    rates: Rates,
    /// Tickets of transfers that fail when they end.
    failing: HashSet<u32>,
    /// Transfers that have ended, and when that is told.
    late: VecDeque<(Instant, Done)>,
    /// Places of transfers whose end was not told yet, by ticket.
    places: HashMap<u32, u32>,
}

impl Hostile {
    pub fn new(memory: Box<dyn Slow>, rates: Rates, seed: u64) -> Self {
        Self {
            memory,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            rates,
            failing: HashSet::new(),
            late: VecDeque::new(),
            places: HashMap::new(),
        }
    }

    fn hits(&mut self, one_of: u64) -> bool {
        one_of > 0 && self.random.next_u64().is_multiple_of(one_of)
    }

    fn begin(&mut self, ticket: u32, place: u32, fails: bool) {
        let busy = self.places.values().any(|busy| *busy == place);
        assert!(!busy, "two transfers of place {place} at once");
        self.places.insert(ticket, place);
        if fails {
            self.failing.insert(ticket);
        }
    }

    fn noise(&mut self, buffer: &mut Buffer) {
        self.random.fill_bytes(&mut buffer.0);
    }

    /// Takes a transfer that is reported now.
    fn next(&mut self) -> Option<Done> {
        let now = Instant::now();
        let due = self.late.iter().position(|(at, _)| *at <= now);
        if let Some((_, done)) = due.and_then(|at| self.late.remove(at)) {
            return Some(done);
        }
        let done = self.memory.done()?;
        if !self.hits(self.rates.late) {
            return Some(done);
        }
        let wait = Duration::from_micros(self.random.next_u64() % 2000);
        self.late.push_back((now + wait, done));
        None
    }
}

impl Slow for Hostile {
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>) {
        let fails = self.hits(self.rates.reads);
        self.begin(ticket, place, fails);
        self.memory.read(ticket, place, buffer);
    }

    fn write(&mut self, ticket: u32, place: u32, mut write: Write) {
        let fails = self.hits(self.rates.writes);
        self.begin(ticket, place, fails);
        if fails {
            write.lines &= self.random.next_u64();
            let half = write.buffer.0.len() / 2;
            self.random.fill_bytes(&mut write.buffer.0[half..]);
        }
        self.memory.write(ticket, place, write);
    }

    fn done(&mut self) -> Option<Done> {
        let mut done = self.next()?;
        self.places.remove(&done.ticket);
        if self.failing.remove(&done.ticket) {
            self.noise(&mut done.buffer);
            done.result = Err(io::Error::from_raw_os_error(libc::EIO));
        }
        Some(done)
    }

    fn wait(&self) -> Wait {
        match self.late.is_empty() {
            true => self.memory.wait(),
            false => Wait::Until(Instant::now()),
        }
    }

    fn holds(&self, place: u32) -> Option<&Contents> {
        self.memory.holds(place)
    }

    fn share(&mut self) -> io::Result<()> {
        self.memory.share()
    }

    fn forked(&mut self, side: Side) -> io::Result<()> {
        self.memory.forked(side)
    }
}
