//! Media: what a heap lies on.
//!
//! A medium is bytes that loads see at once and that become durable when they are flushed and
//! fenced. Stores before the fence may become durable too, line by line: of the stores to one line
//! any prefix, of two lines each independently of the other. `simulated::Simulated` (feature
//! `simulated`) has exactly these freedoms, so a heap that is right on it is right on all media.

mod counts;
mod flush;
mod life;
pub mod lines;
pub mod mapped;
pub(crate) mod reservation;
#[cfg(feature = "simulated")]
pub mod simulated;
pub(crate) mod syncs;
mod words;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::contiguity::Purpose;
use crate::error::Result;

pub use counts::Counts;
pub use mapped::Mapped;
use words::{check_words, word_at};

/// Bytes of a cache line, which one flush writes back.
pub const LINE_BYTES: u64 = 64;
/// Bytes of a word, which one store changes wholly or not at all.
pub const WORD_BYTES: u64 = 8;

/// Bytes that loads see at once and that become durable when they are flushed and fenced.
///
/// Offsets count bytes from the beginning of the pool. All methods panic where a range does not lie
/// within [`len`](Medium::len), or where an offset that must be a multiple of [`WORD_BYTES`] is
/// not: offsets that were read from a pool are checked first.
///
/// # Safety
///
/// The `max_len` bytes of address space from `base` on belong to the medium as long as it lives;
/// the first `len` can be read and written, and `len` never shrinks. `base` is a multiple of 4096.
pub unsafe trait Medium: Send + Sync {
    /// Returns the address of the pool's first byte in this process, which never changes while the
    /// medium lives.
    fn base(&self) -> *mut u8;

    /// Returns the number of bytes that can be used now, a multiple of 4096.
    fn len(&self) -> u64;

    /// Returns the number of bytes to which the pool can grow, a multiple of 4096.
    fn max_len(&self) -> u64;

    /// Allocates room for everything that will be stored. Called once for a medium that is known to
    /// hold a pool, before the first store.
    ///
    /// # Errors
    ///
    /// There is no room.
    fn secure(&self) -> Result<()> {
        Ok(())
    }

    /// Grows the pool to at least `len` bytes, durably; new bytes read as zeros.
    ///
    /// # Errors
    ///
    /// `len` is more than `max_len`, or there is no room.
    fn grow(&self, len: u64) -> Result<()>;

    /// Stores bytes as words in ascending order: the first words of a line are durable before the
    /// last. `offset` is a multiple of [`WORD_BYTES`]; the other bytes of a last word that is not
    /// filled stay as they were (they are read and stored again).
    fn store(&self, offset: u64, bytes: &[u8]);

    /// Stores bytes past the caches, for large copies, and flushes them, so that only a fence is
    /// needed. Until then words may become durable, and visible to other threads, in any order and
    /// after later stores. Otherwise the same as [`store`](Medium::store).
    fn store_streaming(&self, offset: u64, bytes: &[u8]) {
        self.store(offset, bytes);
        self.flush(offset, bytes.len() as u64);
    }

    /// Stores one word, wholly or not at all, after all stores before it.
    fn store_word(&self, offset: u64, word: u64);

    /// Begins to write back the lines of these bytes, as they are now.
    fn flush(&self, offset: u64, len: u64);

    /// Waits until everything that this thread has flushed is durable.
    ///
    /// # Errors
    ///
    /// The machine failed to write; flushed data may be lost, and every later fence fails too.
    fn fence(&self) -> Result<()>;

    /// Stores bytes and makes them durable at once; other flushed bytes need not become durable. No
    /// thread loads them meanwhile. `offset` is a multiple of [`WORD_BYTES`].
    ///
    /// # Errors
    ///
    /// Same as [`fence`](Medium::fence).
    fn write_through(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.store(offset, bytes);
        self.flush(offset, bytes.len() as u64);
        self.fence()
    }

    /// Makes all stores durable.
    ///
    /// # Errors
    ///
    /// Same as [`fence`](Medium::fence).
    fn sync(&self) -> Result<()> {
        self.flush(0, self.len());
        self.fence()
    }

    /// Returns whether a fence writes whole pages wherever they lie, so that writing the lines side
    /// by side first is faster.
    fn writes_pages(&self) -> bool {
        false
    }

    /// Announces that these bytes are going to be used for something new, so that the medium can
    /// get memory for them.
    fn prepare(&self, _offset: u64, _len: u64, _purpose: Purpose) {}

    /// Announces that these bytes are going to be read or written soon, so that the processor can
    /// begin to fetch them. They need not lie within the pool.
    #[inline]
    fn prefetch(&self, _offset: u64, _len: u64) {}

    /// Returns the counts since the medium was opened, of all threads together. The latest counts
    /// of threads at work may be missing.
    fn counts(&self) -> Counts;

    /// Returns the kind of the medium.
    fn kind(&self) -> Kind;

    /// Checks that no page of the bytes was missing when it was loaded or stored to.
    ///
    /// # Errors
    ///
    /// One was: the file was cut, or its device cannot read it. What was loaded since is not to be
    /// trusted.
    #[inline]
    fn expect_there(&self) -> Result<()> {
        Ok(())
    }

    /// Returns the identity of the file in which the bytes lie, by which it is told from its
    /// copies; `None` if there is none.
    fn identity(&self) -> Option<[u64; 2]> {
        None
    }

    /// Returns whether this process is a child of the one that opened the pool, where the pool's
    /// bytes are not mapped.
    #[inline]
    fn is_child(&self) -> bool {
        false
    }

    /// Returns whether the pool has no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Loads one word, before all loads after it.
    #[inline]
    fn load_word(&self, offset: u64) -> u64 {
        check_words(offset, WORD_BYTES, self.len());
        // SAFETY: the word lies within the pool, is aligned, and pools are only written by words.
        unsafe { word_at(self.base(), offset) }.load(Ordering::Acquire)
    }

    /// Loads words, each before all loads after it.
    #[inline]
    fn load_words(&self, offset: u64, into: &mut [u64]) {
        check_words(offset, size_of_val(into) as u64, self.len());
        let base = self.base();
        for (at, word) in (offset..).step_by(8).zip(into) {
            // SAFETY: same as in `load_word`.
            *word = unsafe { word_at(base, at) }.load(Ordering::Acquire);
        }
    }

    /// Loads bytes, word by word. `offset` is a multiple of [`WORD_BYTES`].
    #[inline]
    fn load(&self, offset: u64, into: &mut [u8]) {
        check_words(offset, into.len() as u64, self.len());
        let base = self.base();
        let word = |at| {
            // SAFETY: same as in `load_word`; the pool ends at a multiple of 4096.
            let word = unsafe { word_at(base, at) };
            word.load(Ordering::Acquire).to_ne_bytes()
        };
        let (words, rest) = into.as_chunks_mut::<8>();
        let end = offset + size_of_val(words) as u64;
        for (at, into) in (offset..).step_by(8).zip(words) {
            *into = word(at);
        }
        if !rest.is_empty() {
            rest.copy_from_slice(&word(end)[..rest.len()]);
        }
    }
}

/// The kind of a medium, which tells what a fence on it guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A file on persistent memory (`MAP_SYNC`): lines are flushed.
    Dax(Instruction),
    /// A file that is taken for persistent memory, as on tmpfs: lines are flushed, and flushed data
    /// survive the program but not the machine.
    Assumed(Instruction),
    /// A file in the page cache: a fence writes it to its device.
    Synced,
    /// Memory that is gone when it is closed: flushes and fences do nothing.
    Volatile,
    /// A simulated memory (feature `simulated`).
    Simulated,
}

/// An instruction that writes a cache line back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// `clwb`: the line may stay in the cache.
    Clwb,
    /// `clflushopt`: the line leaves the cache.
    Clflushopt,
    /// `clflush`: the line leaves the cache, one after the other.
    Clflush,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Dax(by) => write!(f, "persistent memory, flushed by {by}"),
            Kind::Assumed(by) => write!(f, "taken for persistent memory, flushed by {by}"),
            Kind::Synced => f.write_str("a plain file, synced by the kernel"),
            Kind::Volatile => f.write_str("volatile memory"),
            Kind::Simulated => f.write_str("simulated persistent memory"),
        }
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Instruction::Clwb => "clwb",
            Instruction::Clflushopt => "clflushopt",
            Instruction::Clflush => "clflush",
        })
    }
}

/// Implements methods of [`Medium`] by the same methods of another medium.
macro_rules! forward {
    ($self:ident => $medium:expr;
     $(fn $method:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[inline]
            fn $method(&$self $(, $argument: $type)*) $(-> $result)? {
                $medium.$method($($argument),*)
            }
        )*
    };
}
pub(crate) use forward;

// SAFETY: every method is the inner medium's own.
unsafe impl<M: Medium + ?Sized> Medium for Arc<M> {
    forward! {
        self => (**self);
        fn base() -> *mut u8;
        fn len() -> u64;
        fn max_len() -> u64;
        fn secure() -> Result<()>;
        fn grow(len: u64) -> Result<()>;
        fn store(offset: u64, bytes: &[u8]);
        fn store_streaming(offset: u64, bytes: &[u8]);
        fn store_word(offset: u64, word: u64);
        fn flush(offset: u64, len: u64);
        fn fence() -> Result<()>;
        fn write_through(offset: u64, bytes: &[u8]) -> Result<()>;
        fn sync() -> Result<()>;
        fn writes_pages() -> bool;
        fn prepare(offset: u64, len: u64, purpose: Purpose);
        fn prefetch(offset: u64, len: u64);
        fn counts() -> Counts;
        fn kind() -> Kind;
        fn is_child() -> bool;
        fn expect_there() -> Result<()>;
        fn identity() -> Option<[u64; 2]>;
    }
}
