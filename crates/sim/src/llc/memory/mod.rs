//! A memory on the bus: banks with an open row each, and a write buffer.
//!
//! Reads are served in the order of their arrival. Writes wait in the buffer until their bank and
//! the bus are idle; a write to a full buffer waits until the oldest write is done (Fedorov 2016,
//! 2.4.4), and half of the buffer is written with it, as turning the bus takes time. A row stays
//! open until another row of its bank is needed. The bank of a row is a hash of its number
//! ([`interleaved`]), so that a line and its victim are rarely in one bank.
//!
//! A bank opens a row no sooner than the row cycle (tRC) after the one before, and all banks
//! together no more than four in a time (tFAW); lines of an open row follow each other as fast as
//! the bus takes them. A request that waits for its bank leaves the bus to others ([`Bus`]).
//!
//! Where a technology has an `array_write`, writes change the open row alone. When it is closed,
//! the bank is busy for that time, and each line that was changed is written to its cells once;
//! energy and lifetime count those (Lee et al., ISCA 2009, 5).
//!
//! A line that may be written at any time is written in idle cycles: while no write waits, and bank
//! and bus are idle before the next request ([`Memory::write_if_idle`]).
//!
//! A read of a line in the write buffer goes to memory all the same, and writes are not merged on
//! their way: there are as many reads as misses and as many writes as write-backs.

use std::collections::VecDeque;
use std::ops::Sub;

use terrace_base::{Bytes, Error, Nanos, Result};
use terrace_device::channels::interleaved;
use terrace_device::{Consumed, Energy, Figure, Technology, Unit, lifetime};

use super::bus::Bus;

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

/// Latencies and distances in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Latencies {
    read: u64,
    write: u64,
    same_row: u64,
    row_cycle: u64,
    four_rows: u64,
    /// Of what was changed in a row, when it is closed; `None` where writes reach the cells at
    /// once.
    array_write: Option<u64>,
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
    /// Lines written to cells.
    pub array_writes: u64,
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
            array_writes: self.array_writes - before.array_writes,
        }
    }
}

/// Rows that may be opened in [`Latencies::four_rows`].
const ROWS: usize = 4;
/// Openings of rows that are known at most; a row is opened only after those that are not known any
/// more.
const KNOWN_ROWS: usize = 32;

#[derive(Clone, Debug, Default)]
struct Bank {
    /// The open row, and the time at which it was opened.
    open: Option<(u64, u64)>,
    /// The time of the next command for the open row.
    ready: u64,
    /// The end of the last transfer, before which the row stays open.
    done: u64,
    /// The lines of the open row whose cells hold something else.
    dirty: Vec<u64>,
}

/// A memory; times are in picoseconds.
#[derive(Clone, Debug)]
pub struct Memory {
    latencies: Latencies,
    /// The time of a line on the bus.
    transfer: u64,
    lines_a_row: u64,
    banks: [Bank; BANKS],
    /// The times at which the last rows were opened, in ascending order.
    opened: VecDeque<u64>,
    /// The time from which on rows keep their distance to those that are not known any more.
    clear: u64,
    bus: Bus,
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
        let transfer = line * 1_000_000_000_000 / BANDWIDTH;
        let technology = &self.technology;
        Ok(Memory {
            latencies: self.latencies()?,
            transfer,
            lines_a_row: (ROW_BYTES / line).max(1),
            banks: std::array::from_fn(|_| Bank::default()),
            opened: VecDeque::with_capacity(KNOWN_ROWS + 1),
            clear: 0,
            bus: Bus::new(
                transfer,
                picos(&technology.write_to_read).unwrap_or(0),
                picos(&technology.read_to_write).unwrap_or(0),
            ),
            now: 0,
            buffer: VecDeque::with_capacity(self.write_buffer),
            write_buffer: self.write_buffer,
            transfers: Transfers::default(),
        })
    }

    fn latencies(&self) -> Result<Latencies> {
        let technology = &self.technology;
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
            row_cycle: picos(&technology.row_cycle).unwrap_or(0),
            four_rows: picos(&technology.four_rows).unwrap_or(0),
            array_write: picos(&technology.array_write),
        })
    }

    /// Returns the energy of these transfers and this time, in joules; `None` where the technology
    /// has no powers.
    pub fn consumed(&self, transfers: Transfers, elapsed: Nanos) -> Option<Consumed> {
        let row = Energy::of(&self.technology, Unit::Line)?;
        let in_row = Energy::of(&self.technology, Unit::LineInRow)?;
        let Transfers {
            reads,
            reads_in_row,
            writes,
            writes_in_row,
            array_writes,
        } = transfers;
        if self.technology.array_write.is_none() {
            let rows = row.consumed(reads, writes, self.capacity, elapsed);
            let in_row = in_row.consumed(reads_in_row, writes_in_row, Bytes(0), Nanos::ZERO);
            return Some(rows + in_row);
        }
        let mut all = row.consumed(reads, 0, self.capacity, elapsed)
            + in_row.consumed(reads_in_row, 0, Bytes(0), Nanos::ZERO);
        all.activate += row.activate * writes as f64;
        // No source tells what changing the open row takes; assumed: what reading it does.
        all.write += in_row.read * transfers.all_writes() as f64;
        all.write += row.write * array_writes as f64;
        Some(all)
    }

    /// Returns the years until the cells wear out, if they are written evenly at this rate of
    /// [`Transfers::array_writes`] (Fedorov 2016, 2.4.5); `None` where nothing is written or the
    /// endurance is not known.
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

    /// Writes a line for a core whose clock is at `at`, and returns the time at which the write
    /// buffer has room for it.
    pub fn write(&mut self, line: u64, at: u64) -> u64 {
        self.arrive(at);
        let until = match self.buffer.len() < self.write_buffer {
            true => self.now,
            false => self.drain(line),
        };
        if self.write_buffer > 0 {
            self.buffer.push_back((line, self.now));
        }
        at + until.saturating_sub(self.now)
    }

    /// Writes half of the full buffer, or `line` where there is none, and returns the time at which
    /// the first write is done.
    fn drain(&mut self, line: u64) -> u64 {
        let Some((first, since)) = self.buffer.pop_front() else {
            return self.transfer(line, self.now, true);
        };
        let done = self.transfer(first, since, true);
        while self.buffer.len() > self.write_buffer / 2
            && let Some((line, _)) = self.buffer.pop_front()
        {
            self.transfer(line, self.now, true);
        }
        done
    }

    /// Puts a line behind the others of the write buffer, if there is room; returns whether there
    /// was.
    pub fn write_if_room(&mut self, line: u64) -> bool {
        let room = self.buffer.len() < self.write_buffer;
        if room {
            self.buffer.push_back((line, self.now));
        }
        room
    }

    /// Writes a line that has been waiting since a moment, if the memory is idle after it and
    /// before the latest request. Returns the idle time that this takes.
    pub fn write_if_idle(&mut self, line: u64, since: u64) -> Option<u64> {
        let start = since.max(self.idle(line));
        if !self.buffer.is_empty() || start >= self.now {
            return None;
        }
        let done = self.transfer(line, start, true);
        Some(done.min(self.now) - start)
    }

    /// Returns the time of the latest request.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Advances to the time of a request. The clocks of cores differ; a request of a core that lags
    /// counts as one at the latest time.
    pub fn arrive(&mut self, at: u64) {
        self.now = self.now.max(at);
        while let Some(&(line, since)) = self.buffer.front() {
            let start = since.max(self.idle(line));
            if start >= self.now {
                break;
            }
            self.buffer.pop_front();
            self.transfer(line, start, true);
        }
    }

    /// Does all waiting writes, and closes all rows.
    pub fn flush(&mut self) {
        while let Some((line, since)) = self.buffer.pop_front() {
            self.transfer(line, since, true);
        }
        for bank in &mut self.banks {
            self.transfers.array_writes += bank.dirty.len() as u64;
            bank.dirty.clear();
        }
    }

    /// Returns the time from which on the bank of a line and the bus are idle.
    fn idle(&self, line: u64) -> u64 {
        self.banks[self.bank(line).0].done.max(self.bus.end())
    }

    /// Returns bank and row of a line.
    #[inline]
    fn bank(&self, line: u64) -> (usize, u64) {
        let row = line / self.lines_a_row;
        (interleaved(row, BANKS as u64) as usize, row)
    }

    /// Transfers a line as soon as its bank is ready, and returns the time of completion.
    fn transfer(&mut self, line: u64, earliest: u64, write: bool) -> u64 {
        let (index, row) = self.bank(line);
        let is_open = self.banks[index].open.is_some_and(|(open, _)| open == row);
        let start = match is_open {
            true => earliest.max(self.banks[index].ready),
            false => self.open(index, row, earliest),
        };
        let Latencies {
            read,
            write: to_cells,
            same_row,
            array_write,
            ..
        } = self.latencies;
        let latency = match (is_open, write && array_write.is_none()) {
            (true, _) => same_row,
            (false, true) => to_cells,
            (false, false) => read,
        };
        let data = start + latency.saturating_sub(self.transfer);
        let done = self.bus.transfer(data, write);
        let bank = &mut self.banks[index];
        bank.done = bank.done.max(done);
        bank.ready = (done + self.transfer).saturating_sub(same_row).max(start);
        if write {
            self.note_write(index, line);
        }
        let transfers = &mut self.transfers;
        *match (is_open, write) {
            (true, false) => &mut transfers.reads_in_row,
            (false, false) => &mut transfers.reads,
            (true, true) => &mut transfers.writes_in_row,
            (false, true) => &mut transfers.writes,
        } += 1;
        done
    }

    /// Opens a row, after the changes of the one before are in its cells, and returns the time at
    /// which that begins.
    fn open(&mut self, index: usize, row: u64, earliest: u64) -> u64 {
        let Latencies {
            row_cycle,
            four_rows,
            array_write,
            ..
        } = self.latencies;
        let bank = &mut self.banks[index];
        let mut start = earliest;
        if let Some((_, opened)) = bank.open {
            start = start.max(bank.done).max(opened + row_cycle);
        }
        if !bank.dirty.is_empty() {
            start += array_write.unwrap_or(0);
            self.transfers.array_writes += bank.dirty.len() as u64;
            bank.dirty.clear();
        }
        let start = self.among_four(start, four_rows);
        self.banks[index].open = Some((row, start));
        start
    }

    /// Returns the first time from `earliest` on at which a row can be opened so that no five are
    /// opened within `time`, and notes it.
    fn among_four(&mut self, earliest: u64, time: u64) -> u64 {
        let mut start = earliest.max(self.clear);
        while let Some(later) = self.crowded_until(start, time) {
            start = later;
        }
        self.opened.insert(self.opened_before(start), start);
        if self.opened.len() > KNOWN_ROWS
            && let Some(forgotten) = self.opened.pop_front()
        {
            self.clear = forgotten + time;
        }
        start
    }

    /// Returns the next time to look at if a row that is opened at `start` is one of five within
    /// `time`.
    fn crowded_until(&self, start: u64, time: u64) -> Option<u64> {
        let place = self.opened_before(start);
        let after = self.opened.len() - place;
        // How many of the five were opened before this one.
        let mut befores = ROWS.saturating_sub(after)..=ROWS.min(place);
        befores.find_map(|before| {
            let first = if before == 0 {
                start
            } else {
                self.opened[place - before]
            };
            let last = if before == ROWS {
                start
            } else {
                self.opened[place + ROWS - 1 - before]
            };
            let next = if before == 0 {
                self.opened[place]
            } else {
                first + time
            };
            (last - first < time).then_some(next)
        })
    }

    /// Returns how many of the known rows were opened up to a time, nearly all in most cases.
    fn opened_before(&self, time: u64) -> usize {
        let last = self.opened.iter().rposition(|opened| *opened <= time);
        last.map_or(0, |last| last + 1)
    }

    /// Notes that a line of the open row of a bank is written.
    fn note_write(&mut self, index: usize, line: u64) {
        let dirty = &mut self.banks[index].dirty;
        if self.latencies.array_write.is_none() {
            self.transfers.array_writes += 1;
        } else if !dirty.contains(&line) {
            dirty.push(line);
        }
    }

    /// Returns the lines transferred so far.
    pub fn transfers(&self) -> Transfers {
        self.transfers
    }
}

/// Returns a time in picoseconds.
fn picos(figure: &Option<Figure<Nanos>>) -> Option<u64> {
    figure.as_ref().map(|figure| figure.value.0 * 1000)
}

#[cfg(test)]
mod tests;
