//! A memory on the bus: banks with an open row each, and a write buffer.
//!
//! Reads are served in the order of their arrival. Writes wait in the buffer until their bank and the
//! bus are idle; a write to a full buffer waits until the oldest write is done (Fedorov 2016, 2.4.4). A
//! row stays open until another row of its bank is needed. The bank of a row is a hash of its number,
//! so that a line and its victim are rarely in one bank (Zhang et al., MICRO 2000).
//!
//! A read of a line in the write buffer goes to memory all the same, and writes are not merged: there
//! are as many reads as misses and as many writes as write-backs.

use std::collections::VecDeque;
use std::ops::Sub;

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::{Consumed, Energy, Technology, Unit, lifetime};

/// Bytes of a row, as in a DDR3 module.
pub const ROW_BYTES: u64 = 8192;
/// Banks, as in a DDR3 rank.
pub const BANKS: usize = 8;
/// Bytes a second over the bus of any memory: DDR3-1333 (Fedorov 2016, table 2.1).
pub const BANDWIDTH: u64 = 10_667_000_000;

/// The chips of a memory.
#[derive(Clone, Debug)]
pub struct Chips {
    /// Technology of the chips.
    pub technology: Technology,
    /// Capacity of the memory.
    pub capacity: Bytes,
    /// Writes that the write buffer holds.
    pub write_buffer: usize,
}

/// Latencies in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latencies {
    read: u64,
    write: u64,
    same_row: u64,
}

/// Lines transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfers {
    /// Reads in a row that was not open.
    pub reads: u64,
    /// Reads in the open row.
    pub reads_in_row: u64,
    /// Writes in a row that was not open.
    pub writes: u64,
    /// Writes in the open row.
    pub writes_in_row: u64,
}

impl Transfers {
    /// Returns all reads.
    pub fn all_reads(self) -> u64 {
        self.reads + self.reads_in_row
    }

    /// Returns all writes.
    pub fn all_writes(self) -> u64 {
        self.writes + self.writes_in_row
    }
}

impl Sub for Transfers {
    type Output = Self;
    fn sub(self, before: Self) -> Self {
        Self {
            reads: self.reads - before.reads,
            reads_in_row: self.reads_in_row - before.reads_in_row,
            writes: self.writes - before.writes,
            writes_in_row: self.writes_in_row - before.writes_in_row,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Bank {
    row: u64,
    free: u64,
}

/// A memory; times are in picoseconds.
#[derive(Clone, Debug)]
pub struct Memory {
    latencies: Latencies,
    /// The time of a line on the bus.
    transfer: u64,
    lines_a_row: u64,
    banks: [Bank; BANKS],
    bus_free: u64,
    /// The time of the latest request.
    now: u64,
    buffer: VecDeque<(u64, u64)>,
    write_buffer: usize,
    transfers: Transfers,
}

impl Chips {
    /// Returns an idle memory of these chips, in lines of `line` bytes.
    ///
    /// # Errors
    /// A usage error where the technology has no latency of a line.
    pub fn memory(&self, line: u64) -> Result<Memory> {
        Ok(Memory {
            latencies: self.latencies()?,
            transfer: line * 1_000_000_000_000 / BANDWIDTH,
            lines_a_row: (ROW_BYTES / line).max(1),
            banks: [Bank {
                row: u64::MAX,
                free: 0,
            }; BANKS],
            bus_free: 0,
            now: 0,
            buffer: VecDeque::with_capacity(self.write_buffer),
            write_buffer: self.write_buffer,
            transfers: Transfers::default(),
        })
    }

    fn latencies(&self) -> Result<Latencies> {
        let technology = &self.technology;
        let picos = |figure: &Option<terrace_device::Figure<Nanos>>| {
            figure.as_ref().map(|figure| figure.value.0 * 1000)
        };
        let read = picos(&technology.line_read);
        let write = picos(&technology.line_write);
        let (Some(read), Some(write)) = (read, write) else {
            return Err(Error::usage(format!(
                "nothing says how long `{}` takes for a line; give line_read and line_write in a file of your own, with like = \"{}\"",
                technology.name, technology.name
            )));
        };
        let same_row = picos(&technology.same_row).unwrap_or(read.max(write));
        Ok(Latencies {
            read,
            write,
            same_row,
        })
    }

    /// Returns the energy of these transfers and this time, in joules; `None` where the technology has no
    /// powers.
    pub fn consumed(&self, transfers: Transfers, elapsed: Nanos) -> Option<Consumed> {
        let row = Energy::of(&self.technology, Unit::Line)?;
        let in_row = Energy::of(&self.technology, Unit::LineInRow)?;
        let rows = row.consumed(transfers.reads, transfers.writes, self.capacity, elapsed);
        let (reads, writes) = (transfers.reads_in_row, transfers.writes_in_row);
        Some(rows + in_row.consumed(reads, writes, Bytes(0), Nanos::ZERO))
    }

    /// Returns the years until the cells wear out, if they are written evenly at this rate (Fedorov
    /// 2016, 2.4.5); `None` where nothing is written or the endurance is not known.
    pub fn lifetime(&self, writes: u64, line: u64, elapsed: Nanos) -> Option<f64> {
        let endurance = self.technology.endurance.as_ref()?.value;
        let writes_a_cell = (writes * line) as f64 / self.capacity.0 as f64;
        lifetime::fedorov(endurance, writes_a_cell, elapsed)
    }
}

impl Memory {
    /// Reads a line for a core whose clock is at `at`, and returns the time of completion.
    pub fn read(&mut self, line: u64, at: u64) -> u64 {
        self.arrive(at);
        let done = self.transfer(line, self.now, false);
        at + (done - self.now)
    }

    /// Writes a line for a core whose clock is at `at`, and returns the time at which the write buffer
    /// has room for it.
    pub fn write(&mut self, line: u64, at: u64) -> u64 {
        self.arrive(at);
        let mut until = self.now;
        if self.buffer.len() >= self.write_buffer {
            until = match self.buffer.pop_front() {
                Some((line, since)) => self.transfer(line, since, true),
                None => self.transfer(line, until, true),
            };
        }
        if self.write_buffer > 0 {
            self.buffer.push_back((line, self.now));
        }
        at + until.saturating_sub(self.now)
    }

    /// Advances to the time of a request. The clocks of cores differ; a request of a core that lags
    /// counts as one at the latest time.
    fn arrive(&mut self, at: u64) {
        self.now = self.now.max(at);
        while let Some(&(line, since)) = self.buffer.front() {
            let start = since.max(self.banks[self.bank(line).0].free);
            if start >= self.now {
                break;
            }
            self.buffer.pop_front();
            self.transfer(line, since, true);
        }
    }

    /// Does all waiting writes.
    pub fn flush(&mut self) {
        while let Some((line, since)) = self.buffer.pop_front() {
            self.transfer(line, since, true);
        }
    }

    /// Returns bank and row of a line.
    #[inline]
    fn bank(&self, line: u64) -> (usize, u64) {
        let row = line / self.lines_a_row;
        let mixed = row ^ row >> 4 ^ row >> 8 ^ row >> 12;
        ((mixed % BANKS as u64) as usize, row)
    }

    /// Transfers a line as soon as its bank is free, and returns the time of completion.
    fn transfer(&mut self, line: u64, earliest: u64, write: bool) -> u64 {
        let (index, row) = self.bank(line);
        let bank = &mut self.banks[index];
        let open = std::mem::replace(&mut bank.row, row) == row;
        let latency = match (open, write) {
            (true, _) => self.latencies.same_row,
            (false, false) => self.latencies.read,
            (false, true) => self.latencies.write,
        };
        let start = earliest.max(bank.free);
        self.bus_free = self.bus_free.max(start) + self.transfer;
        let done = self.bus_free.max(start + latency);
        bank.free = done;
        let transfers = &mut self.transfers;
        *match (open, write) {
            (true, false) => &mut transfers.reads_in_row,
            (false, false) => &mut transfers.reads,
            (true, true) => &mut transfers.writes_in_row,
            (false, true) => &mut transfers.writes,
        } += 1;
        done
    }

    /// Returns the lines transferred so far.
    pub fn transfers(&self) -> Transfers {
        self.transfers
    }
}

#[cfg(test)]
mod tests {
    use terrace_device::Catalogue;

    use super::*;

    fn chips(name: &str, write_buffer: usize) -> Chips {
        let technology = Catalogue::builtin().get(name).unwrap().clone();
        Chips {
            technology,
            capacity: Bytes(4 << 30),
            write_buffer,
        }
    }

    fn memory(name: &str, write_buffer: usize) -> Memory {
        chips(name, write_buffer).memory(64).unwrap()
    }

    /// Fedorov 2016, table 2.2.
    #[test]
    fn a_row_is_opened_once() {
        let mut pcm = memory("pcm-row", 32);
        assert_eq!(pcm.read(0, 0), 28_000);
        assert_eq!(pcm.read(1, 100_000), 115_000);
        assert_eq!(pcm.read(1 << 40, 200_000), 228_000);
        assert_eq!(
            pcm.transfers(),
            Transfers {
                reads: 2,
                reads_in_row: 1,
                ..Transfers::default()
            }
        );
    }

    #[test]
    fn writes_wait_for_idle_time_and_delay_only_who_comes_right_after() {
        let mut pcm = memory("pcm-row", 32);
        assert_eq!(pcm.write(0, 0), 0);
        assert_eq!(
            pcm.read(1, 1000),
            165_000,
            "the write has begun, the row is open"
        );
        assert_eq!(pcm.transfers().writes, 1);
        assert_eq!(pcm.write(64 * 128, 200_000), 200_000);
        assert_eq!(pcm.transfers().writes, 1, "it waits");
        pcm.flush();
        assert_eq!(pcm.transfers().writes, 2);
    }

    #[test]
    fn who_finds_the_buffer_full_waits() {
        let mut pcm = memory("pcm-row", 2);
        // Lines of rows of one bank: the hashed bits of their numbers are equal.
        let line = |n: u64| n << 40;
        for n in 0..3 {
            assert_eq!(pcm.write(line(n), 0), if n < 2 { 0 } else { 150_000 });
        }
        assert!(pcm.write(line(3), 0) >= 300_000);
        let mut bare = memory("pcm-row", 0);
        assert_eq!(
            bare.write(0, 5),
            150_005,
            "without a buffer everybody waits"
        );
    }

    #[test]
    fn the_bus_carries_a_line_at_a_time() {
        let mut dram = memory("dram", 32);
        let rows = (0..8).map(|row| dram.read(row * 128, 0));
        let last = rows.max().unwrap();
        assert_eq!(
            last,
            8 * (64 * 1_000_000_000_000 / BANDWIDTH),
            "48 ns, though 15 each"
        );
    }

    #[test]
    fn energy_and_lifetime_follow_the_table() {
        let pcm = chips("pcm-row", 32);
        let transfers = Transfers {
            reads: 1,
            reads_in_row: 2,
            writes: 3,
            writes_in_row: 4,
        };
        let consumed = pcm.consumed(transfers, Nanos(1000)).unwrap();
        let close = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        assert!(
            close(consumed.read, 78e-3 * (28e-9 + 2.0 * 15e-9)),
            "{consumed:?}"
        );
        assert!(close(consumed.write, 773e-3 * (3.0 * 150e-9 + 4.0 * 15e-9)));
        assert!(close(consumed.activate, 25e-3 * 28e-9 * 4.0));
        assert!(close(consumed.standby, 4.0 * 45e-3 * 1e-6));
        let year = Nanos(31_557_600_000_000_000);
        let writes = (4 << 30) / 64 * 10_000_000;
        assert!(close(pcm.lifetime(writes, 64, year).unwrap(), 1.0));
    }

    #[test]
    fn what_has_no_figures_for_lines_is_refused() {
        let error = chips("flash", 32).memory(64).unwrap_err().to_string();
        assert!(error.contains("line_read"), "{error}");
    }
}
