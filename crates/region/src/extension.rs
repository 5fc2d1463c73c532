//! Extended memory: regions with a common bound of DRAM.

use std::io;
use std::slice;
use std::sync::Arc;

use rustix::mm::{Advice, madvise};
use terrace_base::{Bytes, Context, Error, Result};
use terrace_policy::page::{PAGE_BYTES, Page};

use crate::figures::{Board, Figures, Rows};
use crate::mapping::Mapping;
use crate::pager::Pager;
use crate::settings::Settings;
use crate::thread::{Request, Server};

/// The most pages of a region, which are 1 TiB: pages have numbers, and tables by number.
const MOST_PAGES: u64 = 1 << 28;

/// Extended memory: its regions take a bounded share of DRAM, and the rest of their pages lies in a
/// slow memory. A thread of this process serves the faults.
#[derive(Clone)]
pub struct Extension {
    shared: Arc<Shared>,
}

struct Shared {
    server: Arc<Server>,
    board: Arc<Board>,
}

impl Extension {
    /// Starts extended memory without regions.
    ///
    /// # Errors
    /// Returns a usage error for settings that cannot be met, and a failure if the kernel does not
    /// allow what is needed.
    pub fn start(settings: Settings) -> Result<Self> {
        let board = Board::new().or_fail(|| "cannot map memory for figures".into())?;
        Self::start_with(settings, Arc::new(board))
    }

    /// Starts extended memory that shows its figures on a board which others may read.
    ///
    /// # Errors
    /// Returns those of [`Extension::start`].
    pub fn start_with(settings: Settings, board: Arc<Board>) -> Result<Self> {
        let pager = Pager::new(settings, Arc::clone(&board))?;
        let server = Arc::new(Server::start(pager)?);
        crate::fork::follow(&server);
        let shared = Arc::new(Shared { server, board });
        Ok(Self { shared })
    }

    /// Maps a region of zeros, rounded up to whole pages.
    ///
    /// # Errors
    /// Returns a usage error for no bytes or more than 1 TiB, and a failure if the kernel refuses
    /// the mapping.
    pub fn map(&self, bytes: Bytes) -> Result<Region> {
        let pages = bytes.pages_needed();
        if pages == 0 {
            return Err(Error::usage(
                "a region of no bytes was asked for; give it one at least",
            ));
        }
        if pages > MOST_PAGES {
            return Err(Error::usage(format!(
                "a region of {bytes} was asked for; a region has 1 TiB at most"
            )));
        }
        let cannot = || format!("cannot map a region of {bytes}");
        let mapping = Mapping::new(pages as usize).or_fail(cannot)?;
        // SAFETY: the mapping is new and ours, and is released before it is unmapped.
        let adopted = unsafe { self.adopt(mapping.start(), mapping.bytes()) };
        adopted.or_fail(cannot)?;
        Ok(Region {
            mapping,
            extension: self.clone(),
        })
    }

    /// Takes over memory that is mapped already: whole pages of private anonymous memory. A child
    /// that the C library's `fork` makes has it as it was at that moment, and goes on with a bound
    /// of DRAM of its own, if the slow memory can be shared ([`crate::slow::Slow::share`]). Any
    /// other child does not have it: it ends with SIGSEGV if it touches it, and never sees zeros.
    ///
    /// # Safety
    /// Pages leave and come back at any time from now on. So the memory must be reached by user
    /// code and system calls alone, not by devices or by other processes, and
    /// [`Extension::release`] must be called before it is unmapped or the last clone of this is
    /// dropped.
    ///
    /// # Errors
    /// Returns the kernel's if it is memory of another kind.
    pub unsafe fn adopt(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { advise(start, bytes)? };
        let (start, end) = pages(start, bytes);
        self.shared.server.ask(Request::Adopt(start, end))
    }

    /// Takes memory over. A part of it that came from adopted memory by `mremap` keeps its
    /// contents.
    ///
    /// # Safety
    /// See [`Extension::adopt`].
    ///
    /// # Errors
    /// Returns those of [`Extension::adopt`].
    pub unsafe fn grow(&self, start: *mut u8, bytes: usize) -> io::Result<()> {
        // SAFETY: the caller's promise.
        unsafe { advise(start, bytes)? };
        let (start, end) = pages(start, bytes);
        self.shared.server.ask(Request::Grow(start, end))
    }

    /// Waits until every eviction so far is in [`Extension::rows`].
    pub fn finish(&self) {
        let _ = self.shared.server.ask(Request::Finish);
    }

    /// Forgets memory that is about to be unmapped, with its contents.
    pub fn release(&self, start: *mut u8, bytes: usize) {
        let (start, end) = pages(start, bytes);
        // It cannot fail.
        let _ = self.shared.server.ask(Request::Release(start, end));
    }

    /// Keeps evictions from beginning while `change` moves mappings, and other threads from
    /// adopting or releasing memory and from moving mappings; `change` asks this extension for
    /// nothing. Without this a page could be taken from a mapping that has come to the old address
    /// meanwhile, or be dropped with it.
    pub fn while_suspended<T>(&self, change: impl FnOnce() -> T) -> T {
        self.shared.server.while_suspended(change)
    }

    /// Whether the faults of this process are served: not in a forked child that does not have the
    /// memory.
    pub fn is_served(&self) -> bool {
        self.shared.server.is_running()
    }

    /// Returns the figures.
    pub fn figures(&self) -> Figures {
        self.shared.board.figures()
    }

    /// Returns what every scheme of the registry would have written, in its order; all are zero if
    /// the settings do not ask for it. Evictions since [`Extension::finish`] may be missing.
    pub fn rows(&self) -> Rows {
        self.shared.board.rows()
    }
}

/// Keeps memory from children and from huge pages.
///
/// # Safety
/// The memory must be the caller's.
unsafe fn advise(start: *mut u8, bytes: usize) -> io::Result<()> {
    // SAFETY: the advice leaves the contents as they are.
    unsafe {
        madvise(start.cast(), bytes, Advice::LinuxDontFork)?;
        // A kernel without huge pages refuses it.
        let _ = madvise(start.cast(), bytes, Advice::LinuxNoHugepage);
    }
    Ok(())
}

fn pages(start: *mut u8, bytes: usize) -> (Page, Page) {
    let start = Page::of(start.addr() as u64);
    (start, Page(start.0 + (bytes as u64).div_ceil(PAGE_BYTES)))
}

/// A range of extended memory; unmapped when dropped.
pub struct Region {
    mapping: Mapping,
    extension: Extension,
}

impl Region {
    /// Returns the size in bytes.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.mapping.bytes() as u64)
    }

    /// Returns the first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.mapping.start()
    }

    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the mapping is this long and lives as long as the region; no one has it mutably
        // while it is borrowed.
        unsafe { slice::from_raw_parts(self.mapping.start(), self.mapping.bytes()) }
    }

    /// Returns the bytes to be changed.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the region is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.mapping.start(), self.mapping.bytes()) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        self.extension
            .release(self.mapping.start(), self.mapping.bytes());
    }
}
