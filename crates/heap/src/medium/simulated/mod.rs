//! A persistent memory that can crash in every way in which a real one can, for tests.
//!
//! A crash leaves of each granule (a cache line; a sector or a page of a plain file) what was
//! fenced, and of the stores since then any prefix, independently of other granules. All memories
//! that a crash could leave are visited one after the other:
//!
//! ```
//! use terrace_heap::medium::simulated::{Granule, Simulated};
//! use terrace_heap::Medium;
//!
//! let pool = Simulated::new(4096, Granule::Line);
//! pool.store_word(0, 7);
//! pool.flush(0, 8);
//! pool.fence()?;
//! pool.store_word(0, 8);
//! pool.store_word(64, 9);
//! let left: Vec<_> = pool
//!     .crash_images(1000, 1)
//!     .map(|image| (image.load_word(0), image.load_word(64)))
//!     .collect();
//! assert_eq!(left, [(7, 0), (8, 0), (7, 9), (8, 9)]);
//! # Ok::<(), terrace_heap::Error>(())
//! ```
//!
//! It suffices to look before each fence ([`Simulated::at_fence`]) and when an operation returns:
//! only a fence removes images, so an image that a crash between two of these moments could leave
//! can be left by a crash at the later one as well.
//!
//! A fence here makes durable what any thread has flushed, not only the one that fences.

mod images;
mod memory;
mod spare;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use super::reservation::PAGE_BYTES;
use super::words::{check, check_words};
use super::{Counts, Kind, Medium};
use crate::error::{Error, Result};
use crate::lock::lock;

pub use images::Images;
use memory::Memory;

/// Address space of a pool; less under Miri, which allocates all of it.
const RESERVED_BYTES: u64 = if cfg!(miri) { 16 << 20 } else { 1 << 30 };

/// The unit that a crash keeps or loses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Granule {
    /// A cache line, 64 bytes: persistent memory.
    Line,
    /// A sector, 512 bytes: what a disk writes wholly or not at all.
    Sector,
    /// A page, 4096 bytes: what the kernel writes.
    Page,
}

impl Granule {
    /// Its bytes.
    pub fn bytes(self) -> u64 {
        match self {
            Granule::Line => 64,
            Granule::Sector => 512,
            Granule::Page => 4096,
        }
    }
}

type AtFence = Box<dyn FnMut(&Simulated) + Send>;

/// A simulated persistent memory.
pub struct Simulated {
    base: *mut u8,
    len: AtomicU64,
    granule: Granule,
    writes_pages: bool,
    memory: Mutex<Memory>,
    at_fence: Mutex<Option<AtFence>>,
    /// Where the memory of an image goes when this is dropped.
    home: Option<Home>,
}

/// The place to which an image's memory returns, to become the next image.
type Home = Arc<Mutex<Option<Memory>>>;

// SAFETY: the pointer is to memory that this owns, and that is changed by atomic stores under a
// lock.
unsafe impl Send for Simulated {}
// SAFETY: same as above.
unsafe impl Sync for Simulated {}

impl Simulated {
    /// Returns a memory of at least `len` bytes, all zeros and durable.
    ///
    /// # Panics
    ///
    /// If `len` is more than 1 GiB, or the machine has no address space left.
    pub fn new(len: u64, granule: Granule) -> Self {
        let len = len.next_multiple_of(PAGE_BYTES);
        let memory = Memory::new(len, RESERVED_BYTES).expect("a simulated memory is at most 1 GiB");
        Self::of(memory, granule, None)
    }

    /// Returns a memory that holds these bytes, durable, and zeros up to a whole page.
    ///
    /// # Panics
    ///
    /// Same as [`Simulated::new`].
    pub fn from_bytes(bytes: &[u8], granule: Granule) -> Self {
        let simulated = Self::new(bytes.len() as u64, granule);
        simulated.memory().fill(bytes);
        simulated
    }

    fn of(memory: Memory, granule: Granule, home: Option<Home>) -> Self {
        Self {
            base: memory.base(),
            len: AtomicU64::new(memory.len()),
            granule,
            writes_pages: false,
            memory: Mutex::new(memory),
            at_fence: Mutex::new(None),
            home,
        }
    }

    /// Returns the memory with [`Medium::writes_pages`] true, so that a heap keeps a journal on it
    /// and on its images.
    pub fn writing_pages(mut self) -> Self {
        self.writes_pages = true;
        self
    }

    /// Returns the bytes that loads see now.
    pub fn bytes(&self) -> Vec<u8> {
        self.memory().bytes()
    }

    /// Returns every memory that a crash could leave now, if they are at most `limit`; otherwise a
    /// sample of `limit`: nothing kept, all kept, then half of them with one granule unlike all
    /// others, half at random. The same stores and the same `seed` give the same images in the same
    /// order.
    ///
    /// An image is a memory of its own, all of it durable. If it is dropped before the next is
    /// requested, as in a loop, it costs only the differences from one to the next.
    pub fn crash_images(&self, limit: u64, seed: u64) -> Images {
        Images::new(self, limit, seed)
    }

    /// Calls `look` at each fence before it takes effect, when a crash could still lose all that it
    /// will make durable; usually to try [`Simulated::crash_images`]. It replaces an earlier
    /// `look`. Images do not inherit it.
    pub fn at_fence(&self, look: impl FnMut(&Simulated) + Send + 'static) {
        *lock(&self.at_fence) = Some(Box::new(look));
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    fn call_at_fence(&self) {
        // Nothing is locked meanwhile, so `look` may use this memory freely.
        let look = lock(&self.at_fence).take();
        if let Some(mut look) = look {
            look(self);
            lock(&self.at_fence).get_or_insert(look);
        }
    }
}

// SAFETY: `Memory` reserves `max_len` bytes at `base` and holds them until this is dropped.
unsafe impl Medium for Simulated {
    fn base(&self) -> *mut u8 {
        self.base
    }

    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn max_len(&self) -> u64 {
        RESERVED_BYTES
    }

    fn grow(&self, len: u64) -> Result<()> {
        if len > RESERVED_BYTES {
            let max = RESERVED_BYTES;
            return Err(Error::full(format!(
                "{len} bytes are more than the {max} of a simulated memory"
            )));
        }
        let len = self.memory().grow(len.next_multiple_of(PAGE_BYTES))?;
        self.len.store(len, Ordering::Release);
        Ok(())
    }

    fn store(&self, offset: u64, bytes: &[u8]) {
        check_words(offset, bytes.len() as u64, self.len());
        let mut memory = self.memory();
        memory.counts.bytes += bytes.len() as u64;
        for (at, piece) in (offset..).step_by(8).zip(bytes.chunks(8)) {
            memory.store(at, piece, self.granule);
        }
    }

    /// Words become durable in any order: here the last first, the least expected.
    fn store_streaming(&self, offset: u64, bytes: &[u8]) {
        check_words(offset, bytes.len() as u64, self.len());
        let pieces: Vec<_> = (offset..).step_by(8).zip(bytes.chunks(8)).collect();
        for (at, piece) in pieces.into_iter().rev() {
            self.store(at, piece);
        }
        self.flush(offset, bytes.len() as u64);
    }

    fn store_word(&self, offset: u64, word: u64) {
        self.store(offset, &word.to_ne_bytes());
    }

    fn flush(&self, offset: u64, len: u64) {
        check(offset, len, self.len());
        self.memory().flush(offset, len, self.granule);
    }

    fn fence(&self) -> Result<()> {
        self.call_at_fence();
        self.memory().fence();
        Ok(())
    }

    fn writes_pages(&self) -> bool {
        self.writes_pages
    }

    fn counts(&self) -> Counts {
        self.memory().counts
    }

    fn kind(&self) -> Kind {
        Kind::Simulated
    }
}

impl Drop for Simulated {
    fn drop(&mut self) {
        if let Some(home) = &self.home {
            *lock(home) = Some(std::mem::take(&mut *self.memory()));
        }
    }
}

#[cfg(test)]
mod tests;
