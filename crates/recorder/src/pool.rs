//! The memory that the recorded processes share with who records them.
//!
//! One anonymous file, mapped by all. Every thread fills a chunk of its own; a full one is made
//! *ready*, and the reader hands it back *free*. What a chunk holds is in shared memory from the
//! first record on, its length with it: a process that is killed loses nothing.
//!
//! # The layout
//!
//! Numbers are in the machine's byte order (x86-64: little-endian). Offsets are in bytes.
//!
//! | offset | type | what |
//! |---|---|---|
//! | 0 | u64 | [`MAGIC`]: both sides agree on this layout |
//! | 8 | u32 | the reader's process id |
//! | 12 | u32 | [`Level`](crate::level::Level): 0 accesses, 1 lines, 2 pages |
//! | 16 | u32 | whether private caches filter the accesses |
//! | 64 | u32 | not 0: the recording has ended, nothing is to be written any more |
//! | 128 | u32 | processes seen so far: the next one's number |
//! | 132 | u32 | threads seen so far: the next one's number |
//! | 136 | u32 | programs started that leave the emulator, failed attempts taken back |
//! | 144 | u64 | records that found no chunk, all being held by other threads |
//! | 192 | u32 | chunks made ready so far, modulo 2^32; a futex the reader waits on |
//! | 196 | u32 | whether the reader waits |
//! | 256 | u32 | chunks handed back so far, modulo 2^32; a futex writers wait on |
//! | 320 | u64 | the next ready chunk's place in the order |
//! | 4096 | u32 × 65536 | the process id of each process |
//! | 266240 | u32 × 8192 | each chunk's state: 0 free, 1 held by a thread, 2 ready |
//! | 299008 | 64 × 512 | programs that leave the emulator: u32 whether taken, then the path, zero-terminated |
//! | 331776 | | unused |
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
//! | 12 | u32 | the process id of who holds it; 0 while it has not signed |
//! | 16 | u64 | its place in the order, once it is ready |
//! | 24 | u64 | instructions that the thread had executed before the first record, less its step |
//! | 64 | 16380 × 16 | [`Record`]s |
//!
//! # Who may write what
//!
//! A chunk's state says whose it is. Free to held is a compare-and-swap by the thread that wants
//! it; held to ready a store by that thread; ready to free a store by the reader. Only while it
//! holds a chunk does a thread write to it, and the reader reads it when it is ready, or when its
//! holder is dead or the recording has ended. No step leaves anything half done that somebody
//! else waits for, so a process may be killed between any two.
//!
//! The file has holes where nothing was written: of its 2 GiB only the chunks in use take memory,
//! and the lowest free chunk is taken first.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use crate::level::Level;
use crate::record::Record;

/// Begins the pool: a name and the layout's number.
pub const MAGIC: u64 = u64::from_le_bytes(*b"terrace\x01");
/// How many chunks there are: as many threads can write at a time.
pub const CHUNKS: usize = 8192;
/// How many records a chunk holds.
pub const RECORDS: usize = (CHUNK_BYTES - 64) / size_of::<Record>();
/// How many processes have their process id kept.
pub const PROCESSES: usize = 1 << 16;
/// How many paths of programs that leave the emulator are kept.
pub const DEPARTURES: usize = 64;

const CHUNK_BYTES: usize = 1 << 18;
const PATH_BYTES: usize = 508;
/// A writer waits while so many chunks are ready: 16 MiB.
const READY_CHUNKS: u32 = 64;
/// Who waits for the other side looks this often whether it is still there.
const LOOK_AFTER: Duration = Duration::from_secs(1);

const FREE: u32 = 0;
const HELD: u32 = 1;
const READY: u32 = 2;

#[repr(C, align(64))]
struct Line<T>(T);

#[repr(C)]
struct Layout {
    magic: AtomicU64,
    reader: AtomicU32,
    level: AtomicU32,
    filtered: AtomicU32,
    ended: Line<AtomicU32>,
    numbers: Line<Numbers>,
    published: Line<Published>,
    drained: Line<AtomicU32>,
    order: Line<AtomicU64>,
    pids: Page<[AtomicU32; PROCESSES]>,
    states: [AtomicU32; CHUNKS],
    departures: [Departure; DEPARTURES],
    unused: [AtomicU8; 716_800],
    chunks: [Chunk; CHUNKS],
    none: Chunk,
}

#[repr(C)]
struct Numbers {
    processes: AtomicU32,
    threads: AtomicU32,
    departed: AtomicU32,
    dropped: AtomicU64,
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

const _: () = {
    assert!(offset_of!(Layout, ended) == 64);
    assert!(offset_of!(Layout, numbers) == 128);
    assert!(offset_of!(Numbers, dropped) == 16);
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
    /// Appends a record; false where there is no room. Only who holds the chunk may call this.
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

    /// Makes the last record a store. Only who holds the chunk may call this.
    pub fn last_stores(&self) {
        let length = self.length.load(Ordering::Relaxed) as usize;
        if let Some(slot) = length.checked_sub(1).and_then(|i| self.records.0.get(i)) {
            let words = slot.each_ref().map(|word| word.load(Ordering::Relaxed));
            let [what, _] = Record::of(words).stored().words();
            slot[0].store(what, Ordering::Relaxed);
        }
    }

    /// What is in it.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let length = self.length.load(Ordering::Acquire) as usize;
        self.records.0[..length.min(RECORDS)]
            .iter()
            .map(|slot| Record::of(slot.each_ref().map(|word| word.load(Ordering::Relaxed))))
    }

    /// How many records are in it.
    pub fn len(&self) -> usize {
        (self.length.load(Ordering::Acquire) as usize).min(RECORDS)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The process, as numbered by [`Pool::enter`].
    pub fn process(&self) -> u32 {
        self.process.load(Ordering::Relaxed)
    }

    /// The thread, as numbered by [`Pool::new_thread`].
    pub fn thread(&self) -> u32 {
        self.thread.load(Ordering::Relaxed)
    }

    /// Instructions executed before the first record, less its step.
    pub fn instruction(&self) -> u64 {
        self.instruction.load(Ordering::Relaxed)
    }
}

/// Whose records a chunk is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process, from [`Pool::enter`].
    pub process: u32,
    /// The thread, from [`Pool::new_thread`].
    pub thread: u32,
    /// Instructions that the thread had executed when the chunk begins.
    pub instruction: u64,
}

/// A program that a process turned into, beyond the emulator's sight; to take back if it fails.
#[derive(Debug)]
pub struct Departed(Option<usize>);

/// How a process is to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What is one row.
    pub level: Level,
    /// Whether private caches filter the accesses.
    pub filtered: bool,
}

/// The memory, mapped.
#[derive(Debug)]
pub struct Pool {
    layout: NonNull<Layout>,
    /// Only with the reader: a recorded program shall not find it among its descriptors.
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

/// Both sides.
impl Pool {
    fn map(file: &File) -> io::Result<NonNull<Layout>> {
        // SAFETY: a new mapping of a file that is open; it touches no memory of ours.
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

    /// How it is recorded; the reader's wish.
    pub fn settings(&self) -> Settings {
        Settings {
            level: Level::of(self.layout().level.load(Ordering::Relaxed)),
            filtered: self.layout().filtered.load(Ordering::Relaxed) != 0,
        }
    }

    /// Ends the recording: from now on nothing is written.
    pub fn end(&self) {
        self.layout().ended.0.store(1, Ordering::Release);
        wake(&self.layout().drained.0);
    }

    /// Whether the recording has ended.
    pub fn has_ended(&self) -> bool {
        self.layout().ended.0.load(Ordering::Acquire) != 0
    }
}

/// The side that is recorded.
impl Pool {
    /// The one at `path`, as [`Pool::path`] names it.
    ///
    /// # Errors
    /// Where it cannot be opened or is of another layout.
    pub fn open(path: &str) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open(path)?;
        if file.metadata()?.len() != size_of::<Layout>() as u64 {
            return Err(io::Error::other("it has another size"));
        }
        let layout = Self::map(&file)?;
        let pool = Self { layout, file: None };
        if pool.layout().magic.load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::other("it is of another version"));
        }
        Ok(pool)
    }

    /// This process is to be recorded from now on; its number.
    pub fn enter(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        let process = numbers.processes.fetch_add(1, Ordering::Relaxed);
        if let Some(pid) = self.layout().pids.0.get(process as usize) {
            pid.store(std::process::id(), Ordering::Release);
        }
        process
    }

    /// A thread is to be recorded from now on; its number.
    pub fn new_thread(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        numbers.threads.fetch_add(1, Ordering::Relaxed)
    }

    /// A chunk for `owner` alone, empty. None where all are held by other threads (one more
    /// record is counted as dropped), or the recording has ended. Waits for the reader where it
    /// is behind.
    pub fn take(&self, owner: Owner) -> Option<&Chunk> {
        self.wait_for_the_reader();
        if self.has_ended() {
            return None;
        }
        let layout = self.layout();
        let free = layout.states.iter().position(|state| {
            state.load(Ordering::Relaxed) == FREE
                && state
                    .compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        });
        let Some(index) = free else {
            let dropped = &layout.numbers.0.dropped;
            dropped.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let chunk = &layout.chunks[index];
        chunk.process.store(owner.process, Ordering::Relaxed);
        chunk.thread.store(owner.thread, Ordering::Relaxed);
        chunk.pid.store(std::process::id(), Ordering::Relaxed);
        let instruction = owner.instruction;
        chunk.instruction.store(instruction, Ordering::Relaxed);
        Some(chunk)
    }

    /// The chunk that takes no record, of which nobody is the owner.
    pub fn none(&self) -> &Chunk {
        &self.layout().none
    }

    /// Hands a chunk that was [taken](Self::take) to the reader.
    pub fn publish(&self, chunk: &Chunk) {
        let layout = self.layout();
        let Some(state) = self.index(chunk).and_then(|i| layout.states.get(i)) else {
            return; // the chunk that nobody owns
        };
        let place = layout.order.0.fetch_add(1, Ordering::Relaxed);
        chunk.place.store(place, Ordering::Relaxed);
        state.store(READY, Ordering::Release);
        // Sequentially consistent, both here and where the reader sets `awaited`: one of the two
        // sees the other.
        let published = &layout.published.0;
        published.count.fetch_add(1, Ordering::SeqCst);
        if published.awaited.load(Ordering::SeqCst) != 0 {
            wake(&published.count);
        }
    }

    fn index(&self, chunk: &Chunk) -> Option<usize> {
        let first = self.layout().chunks.as_ptr() as usize;
        (std::ptr::from_ref(chunk) as usize)
            .checked_sub(first)
            .map(|bytes| bytes / CHUNK_BYTES)
    }

    /// Until fewer than [`READY_CHUNKS`] are ready, or the reader has ended, or died.
    fn wait_for_the_reader(&self) {
        let layout = self.layout();
        loop {
            let drained = layout.drained.0.load(Ordering::Acquire);
            let published = layout.published.0.count.load(Ordering::Relaxed);
            let ready = published.wrapping_sub(drained) as i32;
            if ready < READY_CHUNKS as i32 || self.has_ended() {
                return;
            }
            wait(&layout.drained.0, drained, LOOK_AFTER);
            if !is_alive(layout.reader.load(Ordering::Relaxed)) {
                self.end();
            }
        }
    }

    /// Notes that this process is about to become the program at `path`, beyond our sight.
    pub fn depart(&self, path: &[u8]) -> Departed {
        let layout = self.layout();
        let departed = &layout.numbers.0.departed;
        departed.fetch_add(1, Ordering::Relaxed);
        let free = layout.departures.iter().position(|departure| {
            let taken = &departure.taken;
            taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        });
        if let Some(index) = free {
            let text = path.iter().take(PATH_BYTES - 1).chain([&0]);
            for (slot, byte) in layout.departures[index].path.iter().zip(text) {
                slot.store(*byte, Ordering::Relaxed);
            }
        }
        Departed(free)
    }

    /// It did not: the program could not be started.
    pub fn stay(&self, departed: Departed) {
        let layout = self.layout();
        if let Some(departure) = departed.0.and_then(|i| layout.departures.get(i)) {
            departure.taken.store(0, Ordering::Release);
        }
        let departed = &layout.numbers.0.departed;
        departed.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The side that reads.
impl Pool {
    /// A new one.
    ///
    /// # Errors
    /// Where the system refuses the file or the mapping.
    pub fn create(settings: Settings) -> io::Result<Self> {
        // SAFETY: a name that ends in zero, and flags.
        let fd = unsafe { libc::memfd_create(c"terrace-record".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let file = unsafe { File::from_raw_fd(fd) };
        file.set_len(size_of::<Layout>() as u64)?;
        let layout = Self::map(&file)?;
        let file = Some(file);
        let pool = Self { layout, file };
        let layout = pool.layout();
        layout.reader.store(std::process::id(), Ordering::Relaxed);
        layout.level.store(settings.level as u32, Ordering::Relaxed);
        let filtered = u32::from(settings.filtered);
        layout.filtered.store(filtered, Ordering::Relaxed);
        layout.none.length.store(RECORDS as u32, Ordering::Relaxed);
        layout.magic.store(MAGIC, Ordering::Release);
        Ok(pool)
    }

    /// Where other processes of this user [open](Self::open) it while the reader lives; none
    /// where this is not the reader's.
    pub fn path(&self) -> Option<String> {
        let descriptor = self.file.as_ref()?.as_raw_fd();
        Some(format!("/proc/{}/fd/{descriptor}", std::process::id()))
    }

    /// Waits until more chunks were published than `seen`, or `at_most` has passed; how many
    /// were published by now, modulo 2^32.
    pub fn wait(&self, seen: u32, at_most: Duration) -> u32 {
        let published = &self.layout().published.0;
        published.awaited.store(1, Ordering::SeqCst);
        if published.count.load(Ordering::SeqCst) == seen {
            wait(&published.count, seen, at_most);
        }
        published.awaited.store(0, Ordering::SeqCst);
        published.count.load(Ordering::Relaxed)
    }

    /// The chunks that are ready, in their order.
    pub fn ready(&self) -> Vec<usize> {
        let mut ready = self.in_state(READY);
        ready.sort_unstable_by_key(|&i| self.chunk(i).place.load(Ordering::Relaxed));
        ready
    }

    /// The chunks held by processes that are dead; all that are held once the recording has
    /// ended.
    pub fn abandoned(&self) -> Vec<usize> {
        let mut held = self.in_state(HELD);
        if !self.has_ended() {
            held.retain(|&i| {
                let pid = self.chunk(i).pid.load(Ordering::Relaxed);
                pid != 0 && !is_alive(pid)
            });
        }
        held
    }

    fn in_state(&self, wanted: u32) -> Vec<usize> {
        let states = self.layout().states.iter().enumerate();
        states
            .filter(|(_, state)| state.load(Ordering::Acquire) == wanted)
            .map(|(index, _)| index)
            .collect()
    }

    /// One of [`Pool::ready`] or [`Pool::abandoned`].
    ///
    /// # Panics
    /// Where `index` is not below [`CHUNKS`].
    pub fn chunk(&self, index: usize) -> &Chunk {
        &self.layout().chunks[index]
    }

    /// Hands a chunk back that was read.
    ///
    /// # Panics
    /// Where `index` is not below [`CHUNKS`].
    pub fn release(&self, index: usize) {
        let layout = self.layout();
        let chunk = self.chunk(index);
        chunk.length.store(0, Ordering::Relaxed);
        // Who takes it next holds it before it has signed; until then nobody must find it dead.
        chunk.pid.store(0, Ordering::Relaxed);
        let was = layout.states[index].swap(FREE, Ordering::Release);
        if was == READY {
            layout.drained.0.fetch_add(1, Ordering::Release);
            wake(&layout.drained.0);
        }
    }

    /// How many processes have been recorded.
    pub fn processes(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        numbers.processes.load(Ordering::Relaxed)
    }

    /// How many threads.
    pub fn threads(&self) -> u32 {
        let numbers = &self.layout().numbers.0;
        numbers.threads.load(Ordering::Relaxed)
    }

    /// How many records found no chunk.
    pub fn dropped(&self) -> u64 {
        let numbers = &self.layout().numbers.0;
        numbers.dropped.load(Ordering::Relaxed)
    }

    /// The process ids of the recorded processes that live.
    pub fn living(&self) -> Vec<u32> {
        let pids = &self.layout().pids.0;
        let seen = self.processes() as usize;
        pids.iter()
            .take(seen)
            .map(|pid| pid.load(Ordering::Acquire))
            .filter(|&pid| pid != 0 && is_alive(pid))
            .collect()
    }

    /// How often a process became a program beyond our sight, and some of the programs' paths.
    pub fn departures(&self) -> (u32, Vec<Vec<u8>>) {
        let layout = self.layout();
        let taken = layout
            .departures
            .iter()
            .filter(|departure| departure.taken.load(Ordering::Acquire) != 0);
        let paths = taken.map(|departure| {
            let bytes = departure.path.iter();
            bytes
                .map(|byte| byte.load(Ordering::Relaxed))
                .take_while(|&byte| byte != 0)
                .collect()
        });
        let numbers = &layout.numbers.0;
        (numbers.departed.load(Ordering::Relaxed), paths.collect())
    }
}

/// Whether the process runs: a zombie does not.
fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 is sent to nobody; it only asks.
    let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
    if answer != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return false;
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which stands in brackets and may have brackets in it.
    let state = status
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
}

fn wait(futex: &AtomicU32, seen: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: the futex and the timeout live across the call. That it returns early is allowed.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            futex.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            &raw const timeout,
        )
    };
}

fn wake(futex: &AtomicU32) {
    // SAFETY: the futex lives across the call.
    unsafe { libc::syscall(libc::SYS_futex, futex.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Kind, Said};
    use std::thread;
    use std::time::Instant;

    const PLAIN: Settings = Settings {
        level: Level::Accesses,
        filtered: false,
    };
    const ME: Owner = Owner {
        process: 0,
        thread: 0,
        instruction: 0,
    };

    fn record(address: u64) -> Record {
        Record::access(address, Kind::new(8, false), 0, 1)
    }

    fn addresses(chunk: &Chunk) -> Vec<u64> {
        let address = |record: Record| match record.said() {
            Said::Access { address, .. } => Some(address),
            Said::Instruction(_) => None,
        };
        chunk.records().filter_map(address).collect()
    }

    /// Writes `count` records whose addresses count up, and publishes what is full.
    fn write(pool: &Pool, thread: u32, count: u64) {
        let owner = Owner { thread, ..ME };
        let mut chunk = pool.none();
        for address in 0..count {
            if !chunk.push(record(address)) {
                pool.publish(chunk);
                chunk = pool.take(owner).unwrap();
                assert!(chunk.push(record(address)));
            }
        }
        pool.publish(chunk);
    }

    #[test]
    fn another_mapping_sees_the_same() {
        let settings = Settings {
            level: Level::Pages,
            filtered: true,
        };
        let reader = Pool::create(settings).unwrap();
        let writer = Pool::open(&reader.path().unwrap()).unwrap();
        assert_eq!(writer.settings(), settings);
        assert_eq!((writer.enter(), writer.enter()), (0, 1));
        assert_eq!((writer.new_thread(), writer.new_thread()), (0, 1));
        assert_eq!((reader.processes(), reader.threads()), (2, 2));
        write(&writer, 0, 10);
        let ready = reader.ready();
        assert_eq!(ready.len(), 1);
        let expected: Vec<u64> = (0..10).collect();
        assert_eq!(addresses(reader.chunk(ready[0])), expected);
    }

    #[test]
    fn a_file_that_is_no_pool_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().to_str().unwrap();
        let refused = |path| Pool::open(path).unwrap_err().to_string();
        assert!(refused(path).contains("size"));
        file.as_file().set_len(size_of::<Layout>() as u64).unwrap();
        assert!(refused(path).contains("version"));
        assert!(Pool::open("/no/such/file").is_err());
    }

    #[test]
    fn threads_lose_nothing_and_wait_for_the_reader() {
        const THREADS: usize = 4;
        const EACH: u64 = 60 * RECORDS as u64 + 17;
        let pool = Pool::create(PLAIN).unwrap();
        let mut seen = vec![0; THREADS];
        thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn({
                        let pool = &pool;
                        move || write(pool, thread as u32, EACH)
                    })
                })
                .collect();
            let mut published = 0;
            loop {
                let ended = writers.iter().all(|writer| writer.is_finished());
                let ready = pool.ready();
                assert!(ready.len() <= READY_CHUNKS as usize + THREADS);
                for index in ready {
                    let chunk = pool.chunk(index);
                    let next = &mut seen[chunk.thread() as usize];
                    for address in addresses(chunk) {
                        assert_eq!(address, *next);
                        *next += 1;
                    }
                    pool.release(index);
                }
                if ended {
                    break;
                }
                published = pool.wait(published, Duration::from_millis(1));
            }
        });
        assert_eq!(seen, [EACH; THREADS]);
    }

    #[test]
    fn the_end_frees_whoever_waits() {
        let pool = Pool::create(PLAIN).unwrap();
        write(&pool, 0, (READY_CHUNKS as usize * RECORDS) as u64);
        thread::scope(|scope| {
            let writer = scope.spawn(|| pool.take(ME).is_none());
            thread::sleep(Duration::from_millis(50));
            assert!(!writer.is_finished());
            pool.end();
            assert!(writer.join().unwrap());
        });
    }

    #[test]
    fn the_reader_is_woken() {
        let pool = Pool::create(PLAIN).unwrap();
        let began = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(20));
                write(&pool, 0, 1);
            });
            assert_eq!(pool.wait(0, Duration::from_secs(60)), 1);
        });
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn without_a_chunk_records_are_counted_as_dropped() {
        let pool = Pool::create(PLAIN).unwrap();
        for _ in 0..CHUNKS {
            assert!(pool.take(ME).is_some());
        }
        assert!(pool.take(ME).is_none());
        assert_eq!(pool.dropped(), 1);
    }

    /// Runs `child` in a forked process; its process id, when it has ended.
    fn forked(child: impl FnOnce()) -> libc::pid_t {
        // SAFETY: the child only runs the closure, which uses atomics and system calls and
        // allocates nothing, and does not return.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            child();
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(0) };
        }
        assert!(pid > 0);
        pid
    }

    fn reap(pid: libc::pid_t) {
        let mut status = 0;
        // SAFETY: the status is ours.
        assert_eq!(unsafe { libc::waitpid(pid, &raw mut status, 0) }, pid);
    }

    #[test]
    fn a_killed_process_loses_nothing() {
        let pool = Pool::create(PLAIN).unwrap();
        let held_here = pool.take(ME).unwrap();
        held_here.push(record(1));
        let pid = forked(|| {
            write(&pool, 1, RECORDS as u64);
            if let Some(chunk) = pool.take(Owner { thread: 1, ..ME }) {
                (0..5).for_each(|address| {
                    chunk.push(record(address));
                });
            }
            // SAFETY: kills this process alone.
            unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
        });
        // Before it is reaped it is a zombie: dead all the same.
        while pool.abandoned().is_empty() {
            thread::sleep(Duration::from_millis(1));
        }
        reap(pid);
        assert_eq!(pool.ready().len(), 1);
        let abandoned = pool.abandoned();
        assert_eq!(abandoned.len(), 1);
        assert_eq!(addresses(pool.chunk(abandoned[0])), [0, 1, 2, 3, 4]);
        pool.release(abandoned[0]);
        assert!(pool.abandoned().is_empty());
        pool.end();
        assert_eq!(pool.abandoned().len(), 1);
        assert_eq!(addresses(held_here), [1]);
    }

    #[test]
    fn a_writer_whose_reader_is_dead_does_not_wait() {
        let pool = Pool::create(PLAIN).unwrap();
        let dead = forked(|| {});
        reap(dead);
        pool.layout().reader.store(dead as u32, Ordering::Relaxed);
        write(&pool, 0, (READY_CHUNKS as usize * RECORDS) as u64);
        assert!(pool.take(ME).is_none());
        assert!(pool.has_ended());
    }

    #[test]
    fn departures_are_noted_and_taken_back() {
        let pool = Pool::create(PLAIN).unwrap();
        let failed = pool.depart(b"/not/there");
        let _departed = pool.depart(b"/bin/true");
        assert_eq!(pool.departures().0, 2);
        pool.stay(failed);
        assert_eq!(pool.departures(), (1, vec![b"/bin/true".to_vec()]));
        let long = vec![b'a'; 2000];
        let kept: Vec<_> = (0..DEPARTURES + 10).map(|_| pool.depart(&long)).collect();
        let (count, paths) = pool.departures();
        assert_eq!((count, paths.len()), (75, DEPARTURES));
        assert!(paths.contains(&long[..PATH_BYTES - 1].to_vec()));
        kept.into_iter().for_each(|departed| pool.stay(departed));
        assert_eq!(pool.departures().0, 1);
    }

    #[test]
    fn the_living_are_known() {
        let pool = Pool::create(PLAIN).unwrap();
        pool.enter();
        let pid = forked(|| {
            pool.enter();
        });
        reap(pid);
        assert_eq!(pool.processes(), 2);
        assert_eq!(pool.living(), [std::process::id()]);
    }
}
