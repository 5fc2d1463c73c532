//! The recorded process's side of the pool.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::system::{is_alive, wait, wake};
use super::{
    CHUNK_BYTES, Chunk, FREE, HELD, Layout, MAGIC, PATH_BYTES, Pool, READY, READY_CHUNKS, WRITING,
    WRITTEN, text, write_text,
};
use crate::lacked::LONGEST;

/// How often a writer that waits checks that the reader is alive.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The owner of the records in a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process, from [`Pool::enter`].
    pub process: u32,
    /// The thread, from [`Pool::new_thread`].
    pub thread: u32,
    /// Instructions that the thread had executed when the chunk began.
    pub instruction: u64,
}

/// A process's departure from the emulator, to be taken back if it fails.
#[derive(Debug)]
pub struct Departed(Option<usize>);

impl Pool {
    /// Opens the pool at `path`, from [`Pool::path`].
    ///
    /// # Errors
    /// Returns an error if it cannot be opened or has another layout.
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

    /// Adds this process to the recording, and returns its number.
    pub fn enter(&self) -> u32 {
        let layout = self.layout();
        let process = self.numbers().processes.fetch_add(1, Ordering::Relaxed);
        if let Some(pid) = layout.pids.0.get(process as usize) {
            pid.store(std::process::id(), Ordering::Release);
        }
        process
    }

    /// Adds a thread to the recording, and returns its number.
    pub fn new_thread(&self) -> u32 {
        self.numbers().threads.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes an empty chunk for `owner` alone; none where all are held by other threads (one more
    /// record is counted as dropped), or the recording has ended. Waits while too many chunks are
    /// ready.
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
            self.numbers().dropped.fetch_add(1, Ordering::Relaxed);
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

    /// Notes the bytes of the last instruction of a block that is translated. One that the emulator
    /// lacks ends its block, and the program at once.
    pub fn note_translated(&self, bytes: [u8; LONGEST]) {
        let mut words = [0; 16];
        words[..LONGEST].copy_from_slice(&bytes);
        let words = u128::from_le_bytes(words);
        let [low, high] = &self.numbers().translated;
        low.store(words as u64, Ordering::Relaxed);
        high.store((words >> 64) as u64, Ordering::Relaxed);
    }

    /// Notes that the page of a run could not be reported.
    pub fn note_unreported(&self) {
        self.numbers().unreported.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the chunk without room and without an owner.
    pub fn none(&self) -> &Chunk {
        &self.layout().none
    }

    /// Hands a chunk that was [taken](Self::take) to the reader.
    pub fn publish(&self, chunk: &Chunk) {
        let layout = self.layout();
        let Some(state) = self.index(chunk).and_then(|i| layout.states.get(i)) else {
            return; // the chunk without an owner
        };
        // Releases what this thread has published before to a reader that asks for the order.
        let place = layout.order.0.fetch_add(1, Ordering::Release);
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

    /// Waits until fewer than [`READY_CHUNKS`] are ready, or the reader has ended or died.
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

    /// Notes that this process is about to become the program at `path` outside the emulator.
    pub fn depart(&self, path: &[u8]) -> Departed {
        let layout = self.layout();
        self.numbers().departed.fetch_add(1, Ordering::Relaxed);
        let free = layout.departures.iter().position(|departure| {
            let taken = &departure.taken;
            taken
                .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
        });
        if let Some(index) = free {
            write_text(&layout.departures[index].path, path);
        }
        Departed(free)
    }

    /// Returns the number of a module by its path; none where there are more than
    /// [`MODULES`](super::MODULES). One that two processes add at the same time may have two
    /// numbers.
    pub fn module(&self, path: &Path) -> Option<u16> {
        let path = path.as_os_str().as_bytes();
        let path = &path[..path.len().min(PATH_BYTES - 1)];
        for (number, module) in self.layout().modules.iter().enumerate() {
            let number = u16::try_from(number).ok();
            if module.state.load(Ordering::Acquire) == WRITTEN && text(&module.path) == path {
                return number;
            }
            let taken =
                module
                    .state
                    .compare_exchange(0, WRITING, Ordering::Acquire, Ordering::Relaxed);
            if taken.is_ok() {
                write_text(&module.path, path);
                module.state.store(WRITTEN, Ordering::Release);
                return number;
            }
        }
        None
    }

    /// Takes a departure back whose program could not be started.
    pub fn stay(&self, departed: Departed) {
        let layout = self.layout();
        if let Some(departure) = departed.0.and_then(|i| layout.departures.get(i)) {
            departure.taken.store(0, Ordering::Release);
        }
        self.numbers().departed.fetch_sub(1, Ordering::Relaxed);
    }
}
