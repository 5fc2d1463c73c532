//! A file or a block device, past the page cache, with several transfers under way.

mod part;

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use io_uring::IoUring;
use rustc_hash::FxHashMap;
use terrace_base::block::header::HEADER;
use terrace_base::{Context, Result};
use terrace_policy::page::PAGE_BYTES;

use super::blocks::{PAGE_SIZE, block, blocks, runs};
use super::device::Device;
use super::layers::Layers;
use super::nameless::open_in;
use super::{Buffer, Done, Read, Side, Slow, Wait, Write};
use crate::descriptor::Kept;
use part::Part;

/// Transfers that the kernel is given at once. A disk that is asked for 32 pages at once reads
/// three times as many a second as for one at a time.
const DEPTH: usize = 64;

/// Pages that are written, or read ahead, as one transfer if their places lie in a row.
const TOGETHER: usize = 32;

/// A file or a block device.
pub struct Disk {
    /// Dropped first: it waits for the transfers that are under way.
    engine: Engine,
    /// By ticket.
    flights: FxHashMap<u32, Flight>,
    /// Transfers of neighbours, by the ticket of the first.
    rows: FxHashMap<u32, Row>,
    /// Writes that were begun, and that the kernel is not given yet: more neighbours may
    /// follow.
    gathered: Vec<Whole>,
    done: VecDeque<Done>,
    layers: Layers,
    /// The unit in which is written, in bytes.
    block: usize,
    /// The byte at which the first place lies.
    start: u64,
    /// The device that this has taken; dropped last, which clears it.
    taken: Option<Device>,
}

/// How transfers are carried out.
enum Engine {
    /// Several at once.
    Ring(Box<Ring>),
    /// One after the other, where io_uring is not allowed.
    Calls,
}

/// The ring, and what waits for a place in it.
struct Ring {
    ring: Kept<IoUring>,
    waiting: VecDeque<Part>,
    under_way: usize,
}

/// A page that is transferred.
struct Flight {
    buffer: Box<Buffer>,
    /// Parts that have not ended yet.
    left: u32,
    result: io::Result<()>,
}

/// A whole page that is transferred.
struct Whole {
    ticket: u32,
    place: u32,
    layer: u8,
    buffer: Box<Buffer>,
}

/// Pages whose places lie in a row, in one transfer.
struct Row {
    write: bool,
    pages: Vec<Whole>,
    /// The buffers, for the kernel.
    parts: Vec<libc::iovec>,
}

// SAFETY: the parts point to the buffers of `pages`, which go wherever the row does.
unsafe impl Send for Row {}

impl Disk {
    /// Uses a file without a name in a directory, which is gone when this is.
    ///
    /// # Errors
    /// Returns a failure if no file can be made there.
    pub fn in_directory(directory: &Path) -> Result<Self> {
        let cannot = || format!("cannot make a file in {}", directory.display());
        // A program may go to another working directory.
        let directory = directory.canonicalize().or_fail(cannot)?;
        let file = open_in(&directory).or_fail(cannot)?;
        Ok(Self::over(file, Some(directory)))
    }

    /// Takes a block device for as long as this is: one that nothing uses, and that is blank. It is
    /// cleared when this is dropped.
    ///
    /// # Errors
    /// Returns those of [`Device::take`], and a failure if the device cannot be opened past the
    /// page cache.
    pub fn on_device(path: &Path) -> Result<Self> {
        let device = Device::take(path)?;
        let mut disk = Self::on_taken(device.path())?;
        disk.taken = Some(device);
        Ok(disk)
    }

    /// Uses a block device that another process has taken for this one ([`Device`]).
    ///
    /// # Errors
    /// Returns a failure if it cannot be opened past the page cache.
    pub fn on_taken(device: &Path) -> Result<Self> {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_DIRECT);
        let cannot = || format!("cannot use the device {} as slow memory", device.display());
        let mut disk = Self::new(options.open(device).or_fail(cannot)?);
        disk.start = HEADER as u64;
        Ok(disk)
    }

    /// Uses an open file or block device, whose contents are overwritten from the start on. It is
    /// best opened with `O_DIRECT`.
    pub fn new(file: File) -> Self {
        Self::over(file, None)
    }

    fn over(file: File, directory: Option<PathBuf>) -> Self {
        Self {
            engine: Engine::new(),
            flights: FxHashMap::default(),
            rows: FxHashMap::default(),
            gathered: Vec::new(),
            done: VecDeque::new(),
            block: block(&file),
            layers: Layers::new(file, directory),
            start: 0,
            taken: None,
        }
    }

    /// Returns the byte at which a place lies.
    fn at(&self, place: u32) -> u64 {
        self.start + u64::from(place) * PAGE_BYTES
    }

    fn begin(&mut self, ticket: u32, mut buffer: Box<Buffer>, parts: Vec<Part>) {
        let bytes = buffer.0.as_mut_ptr();
        let flight = Flight {
            buffer,
            left: parts.len() as u32,
            result: Ok(()),
        };
        if parts.is_empty() {
            return self.done.push_back(flight.done(ticket));
        }
        self.flights.insert(ticket, flight);
        for part in parts {
            let bytes = bytes.wrapping_add((part.offset % PAGE_BYTES) as usize);
            let part = Part { bytes, ..part };
            match &mut self.engine {
                // Reads first: a thread waits for each.
                Engine::Ring(ring) if part.write => ring.waiting.push_back(part),
                Engine::Ring(ring) => ring.waiting.push_front(part),
                Engine::Calls => {
                    let result = part.carry_out(self.layers.file(part.layer));
                    self.part_ended(ticket, result);
                }
            }
        }
        self.submit();
    }

    /// Begins to transfer a page by itself.
    fn begin_whole(&mut self, write: bool, page: Whole) {
        let part = Part {
            ticket: page.ticket,
            write,
            layer: page.layer,
            row: None,
            bytes: std::ptr::null_mut(),
            number: PAGE_BYTES as u32,
            offset: self.at(page.place),
        };
        self.begin(page.ticket, page.buffer, vec![part]);
    }

    /// Begins to transfer neighbours, behind all transfers that were begun before.
    fn begin_row(&mut self, write: bool, mut pages: Vec<Whole>) {
        let (ticket, place, layer) = match &pages[..] {
            [] => return,
            [first, ..] => (first.ticket, first.place, first.layer),
        };
        let offset = self.at(place);
        let Engine::Ring(ring) = &mut self.engine else {
            let pages = pages.into_iter();
            return pages.for_each(|page| self.begin_whole(write, page));
        };
        let parts = pages.iter_mut().map(|page| libc::iovec {
            iov_base: page.buffer.0.as_mut_ptr().cast(),
            iov_len: PAGE_SIZE,
        });
        let parts: Vec<_> = parts.collect();
        let part = Part {
            ticket,
            write,
            layer,
            row: Some((parts.as_ptr(), parts.len() as u32)),
            bytes: std::ptr::null_mut(),
            number: (parts.len() * PAGE_SIZE) as u32,
            offset,
        };
        let row = Row {
            write,
            pages,
            parts,
        };
        self.rows.insert(ticket, row);
        ring.waiting.push_back(part);
    }

    /// Adds a write to those of its neighbours, and begins these if it is none.
    fn gather(&mut self, page: Whole) {
        if !goes_on(&self.gathered, page.place, page.layer) {
            self.begin_gathered();
        }
        self.gathered.push(page);
    }

    /// Begins the writes that were gathered.
    fn begin_gathered(&mut self) {
        if !self.gathered.is_empty() {
            let pages = std::mem::take(&mut self.gathered);
            self.begin_row(true, pages);
            self.submit();
        }
    }

    /// Hands the kernel what waits, as much as there is room for.
    fn submit(&mut self) {
        let Engine::Ring(ring) = &mut self.engine else {
            return;
        };
        let mut any = false;
        while ring.under_way < DEPTH
            && let Some(part) = ring.waiting.pop_front()
        {
            let entry = part.entry(self.layers.file(part.layer).as_raw_fd());
            // SAFETY: the buffer lives in `flights` until the part's end is taken, or the ring is
            // dropped, which waits for it. The ring has more places than parts are under way.
            unsafe { ring.ring.submission().push(&entry) }.expect("a ring that is not full");
            ring.under_way += 1;
            any = true;
        }
        if any && let Err(error) = ring.ring.submit() {
            // The parts stay in the ring, and go with the next call.
            assert!(
                matches!(
                    error.raw_os_error(),
                    Some(libc::EAGAIN | libc::EINTR | libc::EBUSY)
                ),
                "the kernel refuses the ring: {error}"
            );
        }
    }

    fn take_completions(&mut self) {
        let Engine::Ring(ring) = &mut self.engine else {
            return;
        };
        let ended: Vec<(u64, i32)> = ring
            .ring
            .completion()
            .map(|entry| (entry.user_data(), entry.result()))
            .collect();
        ring.under_way -= ended.len();
        for (data, result) in &ended {
            let (ticket, number) = (*data as u32, (data >> 32) as i32);
            let result = match *result {
                error if error < 0 => Err(io::Error::from_raw_os_error(-error)),
                all if all == number => Ok(()),
                _ => Err(io::ErrorKind::UnexpectedEof.into()),
            };
            self.part_ended(ticket, result);
        }
        if !ended.is_empty() {
            self.submit();
        }
    }

    /// A row was transferred. If that failed, each of its pages is transferred by itself: others
    /// may succeed.
    fn row_ended(&mut self, row: Row, result: &io::Result<()>) {
        for page in row.pages {
            match result {
                Ok(()) => self.done.push_back(Done {
                    ticket: page.ticket,
                    buffer: page.buffer,
                    result: Ok(()),
                }),
                Err(_) => self.begin_whole(row.write, page),
            }
        }
    }

    fn part_ended(&mut self, ticket: u32, result: io::Result<()>) {
        if let Some(row) = self.rows.remove(&ticket) {
            debug_assert_eq!(row.pages.len(), row.parts.len());
            return self.row_ended(row, &result);
        }
        let Some(flight) = self.flights.get_mut(&ticket) else {
            return;
        };
        flight.left -= 1;
        if result.is_err() {
            flight.result = result;
        }
        if flight.left == 0
            && let Some(flight) = self.flights.remove(&ticket)
        {
            self.done.push_back(flight.done(ticket));
        }
    }
}

impl Slow for Disk {
    fn read(&mut self, ticket: u32, place: u32, buffer: Box<Buffer>) {
        let page = Whole {
            ticket,
            place,
            layer: self.layers.of(place),
            buffer,
        };
        self.begin_whole(false, page);
    }

    fn read_ahead(&mut self, reads: Vec<Read>) {
        let mut row = Vec::new();
        for Read {
            ticket,
            place,
            buffer,
        } in reads
        {
            let layer = self.layers.of(place);
            if !goes_on(&row, place, layer) {
                self.begin_row(false, std::mem::take(&mut row));
            }
            row.push(Whole {
                ticket,
                place,
                layer,
                buffer,
            });
        }
        self.begin_row(false, row);
        self.submit();
    }

    fn write(&mut self, ticket: u32, place: u32, write: Write) {
        let buffer = write.buffer;
        let lines = match self.layers.choose(place) {
            Ok(false) => write.lines,
            // Nothing of the page is there yet.
            Ok(true) => u64::MAX,
            Err(error) => {
                let result = Err(error);
                return self.done.push_back(Done {
                    ticket,
                    buffer,
                    result,
                });
            }
        };
        let layer = self.layers.of(place);
        self.layers.lengthen(layer, self.at(place) + PAGE_BYTES);
        let runs = runs(blocks(lines, self.block), self.block);
        if let [(0, PAGE_SIZE)] = runs[..] {
            return self.gather(Whole {
                ticket,
                place,
                layer,
                buffer,
            });
        }
        let parts = runs.into_iter().map(|(start, number)| Part {
            ticket,
            write: true,
            layer,
            row: None,
            bytes: std::ptr::null_mut(),
            number: number as u32,
            offset: self.at(place) + start as u64,
        });
        self.begin(ticket, buffer, parts.collect());
    }

    /// As nothing ends before it was begun, this begins what was gathered too.
    fn done(&mut self) -> Option<Done> {
        self.begin_gathered();
        if self.done.is_empty() {
            self.take_completions();
        }
        self.done.pop_front()
    }

    fn wait(&self) -> Wait {
        match &self.engine {
            _ if !self.gathered.is_empty() => Wait::Until(Instant::now()),
            Engine::Ring(ring) if ring.under_way > 0 => Wait::Descriptor(ring.ring.as_raw_fd()),
            Engine::Ring(_) | Engine::Calls => Wait::Idle,
        }
    }

    fn share(&mut self) -> io::Result<()> {
        self.layers.share()
    }

    fn forked(&mut self, side: Side) -> io::Result<()> {
        self.layers.forked(side);
        if side == Side::Child {
            // The ring is the parent's.
            self.engine = Engine::new();
        }
        Ok(())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The kernel writes to the buffers until all reads have ended.
        while let Engine::Ring(ring) = &mut self.engine
            && ring.under_way > 0
        {
            ring.waiting.clear();
            if ring.ring.submit_and_wait(1).is_err() {
                // Rather lose the buffers than have the kernel write to others.
                return std::mem::forget((
                    std::mem::take(&mut self.flights),
                    std::mem::take(&mut self.rows),
                ));
            }
            self.take_completions();
        }
    }
}

/// Whether the page of a place can be transferred with those of a row.
fn goes_on(row: &[Whole], place: u32, layer: u8) -> bool {
    let behind = |last: &Whole| last.place + 1 == place && last.layer == layer;
    row.len() < TOGETHER && row.last().is_none_or(behind)
}

impl Engine {
    fn new() -> Self {
        match IoUring::new(DEPTH as u32) {
            Ok(ring) => Self::Ring(Box::new(Ring {
                ring: Kept::in_place(ring),
                waiting: VecDeque::new(),
                under_way: 0,
            })),
            Err(_) => Self::Calls,
        }
    }
}

impl Flight {
    fn done(self, ticket: u32) -> Done {
        Done {
            ticket,
            buffer: self.buffer,
            result: self.result,
        }
    }
}

#[cfg(test)]
mod tests;
