//! Mapped memory: of a file, or without one.
//!
//! What a file lies on is detected, reported ([`Mapped::kind`](super::Medium::kind)), and can be
//! forced ([`Mode`]). The file is locked while it is open, its bytes are allocated on the device
//! (in memory as huge pages, where there are some), and address space is reserved behind it so that
//! it can grow in place. If another program cuts the file meanwhile, or takes a snapshot of it on a
//! file system that then copies written blocks and has no room, a page is missing, which is noted
//! (`cut`): all calls fail.

mod copied;
mod cut;
mod file;
mod mode;
mod room;
mod tally;
mod unnamed;

use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::life::Life;
use super::lines::lines;
use super::reservation::{PAGE_BYTES, Reservation};
use super::syncs::Syncs;
use super::words::{check, check_words, store_words, word_at};
use super::{Counts, Instruction, Kind, LINE_BYTES, Medium, flush};
use crate::contiguity::{Backing, Purpose};
use crate::error::{Error, Result};
use cut::Watched;
use file::{DAX, PoolFile};
pub use mode::Mode;
pub(crate) use room::allocate;
use tally::{Counter, Tally};

/// Address space for a pool to grow into, if that much is free: it costs nothing.
const RESERVED_BYTES: u64 = 1 << 40;

/// Mapped memory of a file, or without one.
pub struct Mapped {
    /// Unmapped before the file is closed and unlocked; never in a child, where it is not mapped.
    space: ManuallyDrop<Reservation>,
    file: Option<PoolFile>,
    /// Whether the file is shared with children.
    life: Option<Life>,
    /// Notes pages of the file that are missing.
    watched: Option<Watched>,
    /// Flags of mmap by which pages of the file are shared.
    sharing: i32,
    kind: Kind,
    backing: Backing,
    len: AtomicU64,
    growing: Mutex<()>,
    syncs: Syncs,
    tally: Tally,
}

impl Mapped {
    /// Creates a file of at least `len` bytes, all zeros. It has no name before [`Mapped::name`].
    ///
    /// # Errors
    ///
    /// The file exists, there is no room, `len` is zero, or `mode` is impossible.
    pub fn create(path: &Path, len: u64, mode: Mode) -> Result<Self> {
        let len = whole_pages(len)?;
        if mode == Mode::Private {
            let path = path.display();
            let sentence = format!("{path} would be private when new; take anonymous memory");
            return Err(Error::usage(sentence));
        }
        let file = PoolFile::create(path)?;
        file.allocate(len)?;
        let pool = Self::of(file, len, mode)?;
        pool.sync_file()?;
        Ok(pool)
    }

    /// Gives a new file the name with which it was created, durably, because its contents are
    /// complete.
    ///
    /// # Errors
    ///
    /// A file has this name by now, or the folder cannot be written.
    pub fn name(&mut self) -> Result<()> {
        self.sync_file()?;
        self.file.as_mut().map_or(Ok(()), PoolFile::name)
    }

    /// Opens an existing file. Its header says how long it should be; of the file's own length the
    /// whole pages are used.
    ///
    /// # Errors
    ///
    /// The file is missing, empty, shorter than a page, not a regular file, not writable, or open
    /// already; or `mode` is impossible.
    pub fn open(path: &Path, mode: Mode) -> Result<Self> {
        let (file, len) = PoolFile::open(path, mode != Mode::Private)?;
        Self::of(file, len, mode)
    }

    /// Returns the bytes of the file that are not allocated on its device yet, as in a copy with
    /// holes: opening it as a heap allocates them.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn missing(&self) -> Result<u64> {
        self.file.as_ref().map_or(Ok(0), PoolFile::missing)
    }

    /// Returns the free bytes on the file's device, if there is a file and the device tells.
    pub fn free(&self) -> Option<u64> {
        self.file.as_ref().and_then(PoolFile::free)
    }

    /// Maps at least `len` bytes of memory without a file, all zeros: capacity only.
    ///
    /// # Errors
    ///
    /// There is not enough memory, or `len` is zero.
    pub fn anonymous(len: u64) -> Result<Self> {
        let len = whole_pages(len)?;
        let space = reserve(len)?;
        space.map_anonymous(0..len).map_err(no_memory(len))?;
        Ok(Self::with(space, None, 0, Kind::Volatile, len))
    }

    /// Sets how its pages are requested from the kernel from now on. Existing pages may become huge
    /// pages.
    ///
    /// # Errors
    ///
    /// The kernel has no huge pages for the mapping.
    pub fn with_backing(mut self, backing: Backing) -> Result<Self> {
        self.backing = backing;
        self.apply_backing(0..self.len())?;
        Ok(self)
    }

    fn apply_backing(&self, range: Range<u64>) -> Result<()> {
        let len = range.end - range.start;
        // SAFETY: within the pool.
        let applied = unsafe {
            let first = self.base().add(range.start as usize);
            if self.file.is_some() {
                self.backing.collapse(first, len);
            }
            self.backing.apply(first, len)
        };
        applied.map_err(|reason| Error::system("the kernel refuses huge pages", reason))
    }

    fn of(file: PoolFile, len: u64, mode: Mode) -> Result<Self> {
        let space = reserve(len)?;
        let (kind, sharing) = map(&space, &file, len, mode)?;
        let mut pool = Self::with(space, Some(file), sharing, kind, len);
        let refused = |reason| Error::system("the kernel refuses a handler of SIGBUS", reason);
        pool.watched = Some(Watched::new(&pool.space).map_err(refused)?);
        if mode != Mode::Private {
            let no_page = |reason| Error::system("the kernel has no page for the pool", reason);
            pool.life = Some(Life::new().map_err(no_page)?);
            pool.keep_from_children(0..len)?;
        }
        Ok(pool)
    }

    /// Unmaps these pages in children of this process, which would share them with their parent.
    fn keep_from_children(&self, range: Range<u64>) -> Result<()> {
        // SAFETY: the advice only affects children.
        let done = unsafe { self.space.advise(range, libc::MADV_DONTFORK) };
        done.map_err(|reason| Error::system("a pool cannot be kept from children", reason))
    }

    /// Shares these pages with children of this process.
    pub(crate) fn leave_to_children(&self, range: Range<u64>) -> Result<()> {
        // SAFETY: nothing is taken away.
        let done = unsafe { self.space.advise(range, libc::MADV_DOFORK) };
        done.map_err(|reason| Error::system("a pool cannot be left to children", reason))
    }

    fn with(
        space: Reservation,
        file: Option<PoolFile>,
        sharing: i32,
        kind: Kind,
        len: u64,
    ) -> Self {
        Self {
            space: ManuallyDrop::new(space),
            file,
            life: None,
            watched: None,
            sharing,
            kind,
            backing: Backing::OnTouch,
            len: AtomicU64::new(len),
            growing: Mutex::new(()),
            syncs: Syncs::default(),
            tally: Tally::new(),
        }
    }

    /// Makes the file's length and contents durable, if its mode requires that.
    fn sync_file(&self) -> Result<()> {
        match (&self.file, self.kind) {
            (Some(file), Kind::Dax(_) | Kind::Synced) => file.sync(),
            _ => Ok(()),
        }
    }

    /// One fdatasync for all flushed lines, and for all waiting threads. A fence after stores to 3
    /// pages apart from each other, and to 60, took on ext4 (the fastest of 4 runs on a busy
    /// machine, which varied by a factor of 3 and more): fdatasync 0.32 and 1.7 ms; msync of each
    /// range 0.49 and 9.0 ms, because each waits for the device by itself. Starting the write of
    /// each page with sync_file_range first (0.25 and 1.5 ms) does not differ from the noise.
    fn sync_once(&self) -> Result<()> {
        if let Some(pool) = &self.file
            && self.syncs.sync(|| pool.file.sync_data().map_err(lost))?
        {
            self.tally.mine().add(Counter::Syncs, 1);
        }
        Ok(())
    }
}

/// Flags for a private mapping: few of its pages are changed, so no memory is reserved for the
/// others.
const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_NORESERVE;

/// Reserves as much address space as possible, at least `len` bytes.
fn reserve(len: u64) -> Result<Reservation> {
    let mut bytes = RESERVED_BYTES;
    while bytes > len {
        if let Ok(space) = Reservation::new(bytes) {
            return Ok(space);
        }
        bytes /= 2;
    }
    let what = || format!("{len} bytes of address space cannot be reserved, ask for less");
    Reservation::new(len).map_err(|reason| Error::system(what(), reason))
}

#[cold]
fn missing() -> Error {
    Error::damaged(
        "the file of the pool was cut while it was open, or its device cannot read it, so that a part of \
         the pool is missing; close it, and open a copy",
    )
}

fn lost(reason: io::Error) -> Error {
    let what = "the pool cannot be written to its device, so that the latest changes may be lost; \
                open it again when the device is repaired";
    Error::system(what, reason)
}

/// Maps a file in a mode; returns its kind, and the flags of the mapping.
fn map(space: &Reservation, pool: &PoolFile, len: u64, mode: Mode) -> Result<(Kind, i32)> {
    let lines = matches!(mode, Mode::Detected | Mode::Lines);
    let instruction = Instruction::detect().filter(|_| lines);
    let (kind, sharing) = match (mode, instruction) {
        (_, Some(by)) if pool.is_dax() => (Kind::Dax(by), DAX),
        (Mode::Lines, None) => {
            return Err(Error::usage(
                "this processor has no instruction that makes a line durable; sync the pool as a \
                 plain file",
            ));
        }
        (Mode::Lines, Some(by)) => (Kind::Assumed(by), libc::MAP_SHARED),
        (Mode::Detected, Some(by)) if pool.is_in_memory() => (Kind::Assumed(by), libc::MAP_SHARED),
        (Mode::Private, _) => (Kind::Volatile, PRIVATE),
        _ => (Kind::Synced, libc::MAP_SHARED),
    };
    pool.map(space, 0..len, sharing).map_err(no_memory(len))?;
    Ok((kind, sharing))
}

fn whole_pages(len: u64) -> Result<u64> {
    let pages = len.checked_next_multiple_of(PAGE_BYTES);
    let sentence = || format!("a pool cannot have {len} bytes; take at least 4096");
    let pages = pages.filter(|&pages| pages > 0);
    pages.ok_or_else(|| Error::usage(sentence()))
}

fn no_memory(len: u64) -> impl FnOnce(io::Error) -> Error {
    let what = move || format!("{len} bytes cannot be mapped, ask for less");
    move |reason| Error::system(what(), reason)
}

// SAFETY: the reservation is held until this is dropped; its first `len` bytes are mapped.
unsafe impl Medium for Mapped {
    #[inline]
    fn base(&self) -> *mut u8 {
        self.space.base()
    }

    #[inline]
    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn max_len(&self) -> u64 {
        self.space.len()
    }

    fn secure(&self) -> Result<()> {
        match &self.file {
            Some(file) if self.sharing != PRIVATE => file.secure(),
            _ => Ok(()),
        }
    }

    fn grow(&self, len: u64) -> Result<()> {
        let _alone = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let (now, max) = (self.len(), self.max_len());
        if len <= now {
            return Ok(());
        }
        if len > max {
            let sentence = format!("{len} bytes are more than the {max} that a pool can have here");
            return Err(Error::full(sentence));
        }
        let len = whole_pages(len)?;
        let mapped = match &self.file {
            Some(pool) if self.sharing != PRIVATE => {
                pool.allocate(len)?;
                self.sync_file()?;
                pool.map(&self.space, now..len, self.sharing)
            }
            _ => self.space.map_anonymous(now..len),
        };
        mapped.map_err(no_memory(len))?;
        if self.life.is_some() {
            self.keep_from_children(now..len)?;
        }
        self.apply_backing(now..len)?;
        self.len.store(len, Ordering::Release);
        Ok(())
    }

    #[inline]
    fn store(&self, offset: u64, bytes: &[u8]) {
        check_words(offset, bytes.len() as u64, self.len());
        self.tally.mine().add(Counter::Bytes, bytes.len() as u64);
        // SAFETY: they lie within the pool, on a word's boundary, and pools end with a whole word.
        unsafe { store_words(self.base(), offset, bytes) };
    }

    fn store_streaming(&self, offset: u64, bytes: &[u8]) {
        let store = |at: u64, bytes: &[u8]| {
            self.store(at, bytes);
            self.flush(at, bytes.len() as u64);
        };
        let first = offset.next_multiple_of(LINE_BYTES) - offset;
        let (Kind::Dax(_) | Kind::Assumed(_), Some((head, rest))) =
            (self.kind, bytes.split_at_checked(first as usize))
        else {
            return store(offset, bytes);
        };
        check_words(offset, bytes.len() as u64, self.len());
        let (whole, tail) = rest.as_chunks::<64>();
        store(offset, head);
        store(offset + (bytes.len() - tail.len()) as u64, tail);
        let mine = self.tally.mine();
        mine.add(Counter::Bytes, whole.len() as u64 * LINE_BYTES);
        mine.add(Counter::Lines, whole.len() as u64);
        for (at, line) in (offset + first..).step_by(64).zip(whole) {
            // SAFETY: it lies within the pool, at a multiple of 64 of a base that is one too.
            unsafe { flush::stream_line(self.base().add(at as usize), line) };
        }
    }

    #[inline]
    fn store_word(&self, offset: u64, word: u64) {
        check_words(offset, 8, self.len());
        self.tally.mine().add(Counter::Bytes, 8);
        // SAFETY: it lies within the pool, on a word's boundary.
        unsafe { word_at(self.base(), offset) }.store(word, Ordering::Release);
    }

    #[inline]
    fn flush(&self, offset: u64, len: u64) {
        check(offset, len, self.len());
        if self.kind == Kind::Volatile {
            return;
        }
        let (lines, mine) = (lines(offset, len), self.tally.mine());
        mine.add(Counter::Lines, lines.end - lines.start);
        let (Kind::Dax(by) | Kind::Assumed(by)) = self.kind else {
            return mine.flushed();
        };
        for line in lines {
            // SAFETY: it lies within the pool; `by` was detected.
            unsafe { flush::flush_line(by, self.base().add((line * LINE_BYTES) as usize)) };
        }
    }

    #[inline]
    fn fence(&self) -> Result<()> {
        if self.kind == Kind::Volatile {
            return Ok(());
        }
        let mine = self.tally.mine();
        mine.add(Counter::Fences, 1);
        if self.kind != Kind::Synced {
            flush::fence();
        } else if mine.take_flushed() {
            self.sync_once()?;
        }
        Ok(())
    }

    fn write_through(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let Some(pool) = self.file.as_ref().filter(|_| self.writes_pages()) else {
            self.store(offset, bytes);
            self.flush(offset, bytes.len() as u64);
            return self.fence();
        };
        check_words(offset, bytes.len() as u64, self.len());
        pool.write_through(offset, bytes).map_err(lost)?;
        let mine = self.tally.mine();
        mine.add(Counter::Bytes, bytes.len() as u64);
        mine.add(Counter::Syncs, 1);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        if self.writes_pages() {
            return self.sync_once();
        }
        self.flush(0, self.len());
        self.fence()
    }

    fn writes_pages(&self) -> bool {
        self.kind == Kind::Synced
    }

    fn prepare(&self, offset: u64, len: u64, purpose: Purpose) {
        check(offset, len, self.len());
        // Private pages of a file would be copied.
        if self.sharing != PRIVATE {
            let (base, all) = (self.base(), self.len());
            // SAFETY: all of the pool.
            unsafe { self.backing.prepare(base, all, (offset, len), purpose) };
        }
    }

    #[inline]
    fn prefetch(&self, offset: u64, len: u64) {
        for line in lines(offset, len) {
            flush::prefetch_line(self.base().wrapping_add((line * LINE_BYTES) as usize));
        }
    }

    fn counts(&self) -> Counts {
        self.tally.sum()
    }

    fn kind(&self) -> Kind {
        self.kind
    }

    #[inline]
    fn expect_there(&self) -> Result<()> {
        match self.watched.as_ref().is_some_and(Watched::is_cut) {
            true => Err(missing()),
            false => Ok(()),
        }
    }

    fn identity(&self) -> Option<[u64; 2]> {
        self.file.as_ref().and_then(PoolFile::identity)
    }

    #[inline]
    fn is_child(&self) -> bool {
        self.life.as_ref().is_some_and(Life::is_child)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // Before its address space may become another's.
        self.watched = None;
        if !self.is_child() {
            // SAFETY: nothing uses it after this.
            unsafe { ManuallyDrop::drop(&mut self.space) };
        }
    }
}

#[cfg(test)]
mod tests;
