//! The memory that recorded processes share with the recorder.
//!
//! One anonymous file, mapped by all. Every thread fills a chunk of its own; a full one is made
//! *ready*, and the reader hands it back *free*. What a chunk holds is in shared memory from the
//! first record on, its length included: a process that is killed loses nothing.
//!
//! # The layout
//!
//! Numbers are in the machine's byte order (x86-64: little-endian). Offsets are in bytes.
//!
//! | offset | type | what |
//! |---|---|---|
//! | 0 | u64 | [`MAGIC`]: both sides agree on this layout |
//! | 8 | u32 | the reader's process id |
//! | 12 | u32 | `Level`: 0 accesses, 1 lines, 2 pages |
//! | 16 | u32 | whether private caches filter the accesses |
//! | 20 | u32 | whether pages' contents are reported |
//! | 24 | u64 | bytes of the least mapping whose accesses are recorded; 0: all accesses are |
//! | 32 | u32 | whether the program tells of its allocations |
//! | 36 | u32 | whether it is recorded where addresses come from |
//! | 64 | u32 | not 0: the recording has ended, nothing is to be written any more |
//! | 128 | u32 | processes seen so far: the next one's number |
//! | 132 | u32 | threads seen so far: the next one's number |
//! | 136 | u32 | programs started that leave the emulator, failed attempts taken back |
//! | 144 | u64 | records that found no chunk, all being held by other threads |
//! | 152 | u64 | runs whose page could not be reported: no memory for a copy of it |
//! | 160 | u64 × 2 | the bytes of the last instruction of the block that was translated last |
//! | 192 | u32 | chunks made ready so far, modulo 2^32; a futex the reader waits on |
//! | 196 | u32 | whether the reader waits |
//! | 256 | u32 | chunks handed back so far, modulo 2^32; a futex writers wait on |
//! | 320 | u64 | the next ready chunk's place in the order |
//! | 4096 | u32 × 65536 | the process id of each process |
//! | 266240 | u32 × 8192 | each chunk's state: 0 free, 1 held by a thread, 2 ready |
//! | 299008 | 64 × 512 | programs that leave the emulator: u32 whether taken, then the path, zero-terminated |
//! | 331776 | 1024 × 512 | files with code that has allocated: u32, 0 free, 1 being written, 2 valid; then the path, zero-terminated |
//! | 856064 | | unused |
//! | 1048576 | 8192 × 262144 | the chunks |
//! | 2148532224 | 262144 | a chunk that is full from the beginning: what a thread holds that holds none |
//!
//! A chunk:
//!
//! | offset | type | what |
//! |---|---|---|
//! | 0 | u32 | records in it, written after the record itself |
//! | 4 | u32 | the process |
//! | 8 | u32 | the thread |
//! | 12 | u32 | the process id of its holder; 0 until the holder has signed |
//! | 16 | u64 | its place in the order, once it is ready |
//! | 24 | u64 | instructions that the thread had executed before the first record, less its step |
//! | 64 | 16380 × 16 | [`Record`]s |
//!
//! # Who may write what
//!
//! The state of a chunk says who owns it. Free to held is a compare-and-swap by the thread that
//! wants it; held to ready a store by that thread; ready to free a store by the reader. Only while
//! it holds a chunk does a thread write to it, and the reader reads it when it is ready, or when
//! its holder is dead or the recording has ended. No other process waits for the second half of a
//! step, so a process may be killed between any two.
//!
//! The file has holes where nothing was written: of its 2 GiB only the chunks in use take memory,
//! and the lowest free chunk is taken first.

mod reader;
mod system;
mod writer;

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

pub use writer::{Departed, Owner};

use crate::level::Level;
use crate::record::Record;

/// The pool's first bytes: a name and the layout's number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"terrace\x08");
/// Chunks, and so threads that can write at the same time.
pub const CHUNKS: usize = 8192;
/// Records in a chunk.
pub const RECORDS: usize = (CHUNK_BYTES - 64) / size_of::<Record>();
/// Processes whose process id is kept.
pub const PROCESSES: usize = 1 << 16;
/// Paths of programs that leave the emulator that are kept.
pub const DEPARTURES: usize = 64;

/// Files with code that has allocated.
pub const MODULES: usize = 1024;

const CHUNK_BYTES: usize = 1 << 18;
const PATH_BYTES: usize = 508;
/// Ready chunks at which a writer waits: 16 MiB.
const READY_CHUNKS: u32 = 64;

const FREE: u32 = 0;
const HELD: u32 = 1;
const READY: u32 = 2;

/// The path of a module is being written.
const WRITING: u32 = 1;
/// The path of a module is valid.
const WRITTEN: u32 = 2;

#[repr(C, align(64))]
struct Line<T>(T);

#[repr(C)]
struct Layout {
    magic: AtomicU64,
    reader: AtomicU32,
    level: AtomicU32,
    filtered: AtomicU32,
    contents: AtomicU32,
    least_mapping: AtomicU64,
    allocations: AtomicU32,
    depends: AtomicU32,
    ended: Line<AtomicU32>,
    numbers: Line<Numbers>,
    published: Line<Published>,
    drained: Line<AtomicU32>,
    order: Line<AtomicU64>,
    pids: Page<[AtomicU32; PROCESSES]>,
    states: [AtomicU32; CHUNKS],
    departures: [Departure; DEPARTURES],
    modules: [Module; MODULES],
    unused: [AtomicU8; 192_512],
    chunks: [Chunk; CHUNKS],
    none: Chunk,
}

#[repr(C)]
struct Numbers {
    processes: AtomicU32,
    threads: AtomicU32,
    departed: AtomicU32,
    dropped: AtomicU64,
    unreported: AtomicU64,
    translated: [AtomicU64; 2],
}

#[repr(C)]
struct Published {
    count: AtomicU32,
    awaited: AtomicU32,
}

#[repr(C, align(4096))]
struct Page<T>(T);

#[repr(C)]
struct Departure {
    taken: AtomicU32,
    path: [AtomicU8; PATH_BYTES],
}

#[repr(C)]
struct Module {
    state: AtomicU32,
    path: [AtomicU8; PATH_BYTES],
}

const _: () = {
    assert!(offset_of!(Layout, allocations) == 32);
    assert!(offset_of!(Layout, depends) == 36);
    assert!(offset_of!(Layout, modules) == 331_776);
    assert!(size_of::<Module>() == 512);
    assert!(offset_of!(Layout, unused) == 856_064);
    assert!(offset_of!(Layout, ended) == 64);
    assert!(offset_of!(Layout, numbers) == 128);
    assert!(offset_of!(Layout, contents) == 20);
    assert!(offset_of!(Layout, least_mapping) == 24);
    assert!(offset_of!(Numbers, dropped) == 16);
    assert!(offset_of!(Numbers, unreported) == 24);
    assert!(offset_of!(Numbers, translated) == 32);
    assert!(offset_of!(Layout, published) == 192);
    assert!(offset_of!(Layout, drained) == 256);
    assert!(offset_of!(Layout, order) == 320);
    assert!(offset_of!(Layout, pids) == 4096);
    assert!(offset_of!(Layout, states) == 266_240);
    assert!(offset_of!(Layout, departures) == 299_008);
    assert!(size_of::<Departure>() == 512);
    assert!(offset_of!(Layout, chunks) == 1_048_576);
    assert!(offset_of!(Layout, none) == 2_148_532_224);
    assert!(size_of::<Chunk>() == CHUNK_BYTES);
    assert!(offset_of!(Chunk, records) == 64);
    assert!(RECORDS == 16_380);
};

/// A run of records of one thread.
#[repr(C, align(64))]
pub struct Chunk {
    length: AtomicU32,
    process: AtomicU32,
    thread: AtomicU32,
    pid: AtomicU32,
    place: AtomicU64,
    instruction: AtomicU64,
    records: Line<[[AtomicU64; 2]; RECORDS]>,
}

impl Chunk {
    /// Appends a record, and returns false where there is no room. Only the holder of the chunk may
    /// call this.
    #[inline(always)]
    pub fn push(&self, record: Record) -> bool {
        let length = self.length.load(Ordering::Relaxed);
        let Some(slot) = self.records.0.get(length as usize) else {
            return false;
        };
        let [what, whence] = record.words();
        slot[0].store(what, Ordering::Relaxed);
        slot[1].store(whence, Ordering::Relaxed);
        self.length.store(length + 1, Ordering::Release);
        true
    }

    /// Returns how many more records there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        RECORDS.saturating_sub(self.length.load(Ordering::Relaxed) as usize)
    }

    /// Makes the last record, an access, another one at the same time. Only the holder of the chunk
    /// may call this.
    #[inline]
    pub fn change_last(&self, change: impl FnOnce(Record) -> Record) {
        let length = self.length.load(Ordering::Relaxed) as usize;
        if let Some(slot) = length.checked_sub(1).and_then(|i| self.records.0.get(i)) {
            let words = slot.each_ref().map(|word| word.load(Ordering::Relaxed));
            let [what, _] = change(Record::of(words)).words();
            slot[0].store(what, Ordering::Relaxed);
        }
    }

    /// Returns the records that are there now.
    pub fn records(&self) -> impl ExactSizeIterator<Item = Record> {
        let length = self.length.load(Ordering::Acquire) as usize;
        self.records.0[..length.min(RECORDS)]
            .iter()
            .map(|slot| Record::of(slot.each_ref().map(|word| word.load(Ordering::Relaxed))))
    }

    /// Returns the process, as numbered by [`Pool::enter`].
    pub fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed)
    }

    /// Returns the thread, as numbered by [`Pool::new_thread`].
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Returns the instructions executed before the first record, less its step.
    pub fn instruction(&self) -> u64 {
        self.instruction.load(Ordering::Relaxed)
    }
}

/// How processes record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordSettings {
    /// What one row is.
    pub level: Level,
    /// Whether private caches filter the accesses.
    pub filtered: bool,
    /// Whether rows are followed by what they changed in their pages; at [`Level::Pages`] and
    /// without a filter only.
    pub contents: bool,
    /// Bytes of the least private anonymous mapping whose accesses are recorded, and no others;
    /// none: all accesses are.
    pub least_mapping: Option<u64>,
    /// Whether the library in the program reports allocations ([`crate::allocation`]); set by the
    /// session that loads it.
    pub allocations: bool,
    /// Whether it is recorded where addresses come from; at [`Level::Accesses`] and
    /// without a filter only.
    pub depends: bool,
}

impl RecordSettings {
    /// Whether rows say which pages hold nothing but zeros: where they are runs of accesses to
    /// pages, which it takes some ten nanoseconds each. With contents it follows from these, and
    /// behind caches a row is not a run of the program's.
    pub fn tell_zeros(&self) -> bool {
        self.level == Level::Pages && !self.filtered && !self.contents
    }
}

/// Returns the bytes up to a zero.
fn text(bytes: &[AtomicU8]) -> Vec<u8> {
    let bytes = bytes.iter().map(|byte| byte.load(Ordering::Relaxed));
    bytes.take_while(|&byte| byte != 0).collect()
}

/// Writes bytes, as many as there is room for, and a zero.
fn write_text(to: &[AtomicU8], bytes: &[u8]) {
    let bytes = bytes.iter().take(to.len() - 1).chain([&0]);
    for (slot, byte) in to.iter().zip(bytes) {
        slot.store(*byte, Ordering::Relaxed);
    }
}

/// The mapped pool.
#[derive(Debug)]
pub struct Pool {
    layout: NonNull<Layout>,
    /// The file, in the reader only: a recorded program must not find it among its descriptors.
    file: Option<File>,
}

// SAFETY: the layout is made of atomics alone and stays mapped as long as the pool lives.
unsafe impl Send for Pool {}
// SAFETY: as above.
unsafe impl Sync for Pool {}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: mapped by `map` with this length; no reference outlives the pool.
        unsafe { libc::munmap(self.layout.as_ptr().cast(), size_of::<Layout>()) };
    }
}

/// What both sides do.
impl Pool {
    fn map(file: &File) -> io::Result<NonNull<Layout>> {
        // SAFETY: a new mapping of a file that is open; it touches no other memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Layout>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(address.cast()).ok_or_else(|| io::Error::other("mapped at address 0"))
    }

    fn layout(&self) -> &Layout {
        // SAFETY: mapped with the layout's size, page-aligned as it asks, and made of atomics,
        // for which every bit pattern is a value.
        unsafe { self.layout.as_ref() }
    }

    fn numbers(&self) -> &Numbers {
        &self.layout().numbers.0
    }

    /// Returns how processes record, as the reader has asked.
    pub fn settings(&self) -> RecordSettings {
        RecordSettings {
            level: Level::of(self.layout().level.load(Ordering::Relaxed)),
            filtered: self.layout().filtered.load(Ordering::Relaxed) != 0,
            contents: self.layout().contents.load(Ordering::Relaxed) != 0,
            least_mapping: match self.layout().least_mapping.load(Ordering::Relaxed) {
                0 => None,
                least => Some(least),
            },
            allocations: self.layout().allocations.load(Ordering::Relaxed) != 0,
            depends: self.layout().depends.load(Ordering::Relaxed) != 0,
        }
    }

    /// Ends the recording; nothing is written afterwards.
    pub fn end(&self) {
        self.layout().ended.0.store(1, Ordering::Release);
        system::wake(&self.layout().drained.0);
    }

    /// Whether the recording has ended.
    pub fn has_ended(&self) -> bool {
        self.layout().ended.0.load(Ordering::Acquire) != 0
    }
}

#[cfg(test)]
mod tests;
