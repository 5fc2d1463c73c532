//! `CapacityAllocator`: a program's whole heap as capacity.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::CStr;
use std::io::{self, Write};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use super::pooled::Pooled;
use super::region::Region;
use super::spans::{Chunks, Spans};
use crate::contiguity::Backing;
use crate::error::{Error, Result};
use crate::heap::Heap;

/// A global allocator for all of a program's memory: what `malloc` does, over memory that is mapped
/// at once and used as it is needed.
///
/// ```no_run
/// use terrace_heap::CapacityAllocator;
///
/// #[global_allocator]
/// static HEAP: CapacityAllocator = CapacityAllocator::in_directory(c"/mnt/pmem", 16 << 30);
/// ```
///
/// Any thread may free what another has allocated. The allocator never calls Rust's allocator for
/// itself. With a directory or a pool, the memory is shared with forked children that do not
/// execute another program: a program that forks such children cannot use it.
///
/// A program that has a pool open can live on the same memory as its persistent data
/// ([`CapacityAllocator::take_from`]), as in Kannan 2013 (section 2).
pub struct CapacityAllocator {
    directory: Option<&'static CStr>,
    bytes: usize,
    backing: Backing,
    region: OnceLock<Option<Region>>,
    spans: Spans,
    pool: OnceLock<Pooled>,
    pooled: Spans,
}

impl CapacityAllocator {
    /// Returns an allocator of anonymous memory, as much as there is.
    #[allow(clippy::new_without_default, reason = "a default is not constant")]
    pub const fn new() -> Self {
        Self::with(None, 0)
    }

    /// Returns an allocator of at most `bytes` of a file in a directory, on whatever medium its
    /// file system lies: persistent memory, a file system in memory, a disk behind the page cache.
    /// The file has no name, and is gone when the program ends.
    pub const fn in_directory(directory: &'static CStr, bytes: usize) -> Self {
        Self::with(Some(directory), bytes)
    }

    const fn with(directory: Option<&'static CStr>, bytes: usize) -> Self {
        Self {
            directory,
            bytes,
            backing: Backing::OnTouch,
            region: OnceLock::new(),
            spans: Spans::new(),
            pool: OnceLock::new(),
            pooled: Spans::new(),
        }
    }

    /// Sets how pages are requested from the kernel, which is one by one by default.
    #[must_use]
    pub const fn backed(mut self, backing: Backing) -> Self {
        self.backing = backing;
        self
    }

    /// Takes the program's memory from a pool from now on, `bytes` of it; what does not fit comes
    /// from where it did before. A second call for the same heap takes as much more.
    ///
    /// The memory is part of the pool's room until the program ends, and free when the pool is
    /// opened next. Until then the pool stays locked against other programs, also after the heap
    /// was closed.
    ///
    /// ```no_run
    /// use terrace_heap::{CapacityAllocator, Heap, Result};
    ///
    /// #[global_allocator]
    /// static MEMORY: CapacityAllocator = CapacityAllocator::new();
    ///
    /// fn main() -> Result<()> {
    ///     let heap = Heap::open("/mnt/pmem/app.pool")?;
    ///     MEMORY.take_from(&heap, 8 << 30)?;
    ///     let rows = vec![0u64; 1 << 20]; // in the pool
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// The pool has less room; the allocator has memory of another pool already; the heap was
    /// closed; or a fence failed.
    pub fn take_from(&self, heap: &Heap, bytes: u64) -> Result<()> {
        if self.pool.get().is_none() {
            let no_table = |reason| Error::system("there is no room for a table", reason);
            // Another thread may have been first.
            let _ = self.pool.set(Pooled::new(heap).map_err(no_table)?);
        }
        match self.pool.get().filter(|pool| pool.is_of(heap)) {
            Some(pool) => pool.extend(bytes),
            None => Err(Error::usage(
                "the program has memory of another pool already, and only of one",
            )),
        }
    }

    /// Returns the bytes in use, with what is lost by rounding to slots and chunks.
    pub fn bytes(&self) -> usize {
        self.spans.bytes() + self.pooled.bytes()
    }

    /// Returns whether this address lies in memory that the allocator has besides a pool.
    pub fn holds(&self, memory: *const u8) -> bool {
        NonNull::new(memory.cast_mut()).is_some_and(|memory| {
            let region = self.region.get().and_then(Option::as_ref);
            let in_region = region.and_then(|region| self.spans.size_of(region, memory));
            in_region.is_some() || self.pool_of(memory).is_some()
        })
    }

    /// Returns the pool, if this memory was allocated in it.
    #[inline]
    fn pool_of(&self, memory: NonNull<u8>) -> Option<&Pooled> {
        let pool = self.pool.get()?;
        self.pooled.size_of(pool, memory).map(|_| pool)
    }

    #[inline]
    fn alloc_pooled(&self, layout: Layout) -> Option<NonNull<u8>> {
        let fits = |pool: &&Pooled| layout.align() <= pool.align();
        let pool = self.pool.get().filter(fits)?;
        self.pooled.alloc(pool, layout.size(), layout.align())
    }

    /// Moves memory out of the pool, which is full, to other memory of another size.
    ///
    /// # Safety
    ///
    /// Same as for `realloc`.
    #[cold]
    unsafe fn move_out(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let Ok(new) = Layout::from_size_align(bytes, layout.align()) else {
            return ptr::null_mut();
        };
        // SAFETY: promised by the caller; both have that many bytes, and the new memory is another
        // one.
        unsafe {
            let new = self.alloc(new);
            if !new.is_null() {
                new.copy_from_nonoverlapping(memory, layout.size().min(bytes));
                self.dealloc(memory, layout);
            }
            new
        }
    }

    fn region(&self) -> Option<&Region> {
        let make = || {
            let made = match self.directory {
                Some(directory) => Region::in_directory(directory, self.bytes, self.backing),
                None => Region::anonymous(self.backing),
            };
            made.inspect_err(|reason| complain(self.directory, reason))
                .ok()
        };
        self.region.get_or_init(make).as_ref()
    }
}

/// Writes why there is no memory to standard error, without allocating.
fn complain(directory: Option<&CStr>, reason: &io::Error) {
    let place = directory.map_or(&b"anonymous memory"[..], CStr::to_bytes);
    let mut code = [0; 40];
    let mut left = &mut code[..];
    let number = reason.raw_os_error().unwrap_or(0);
    let _ = writeln!(left, ": system error {number}");
    let unused = left.len();
    let what = b"terrace-heap: the program's heap cannot be mapped from ";
    for part in [what, place, &code[..code.len() - unused]] {
        // SAFETY: plain bytes. A failure is ignored.
        unsafe { libc::write(2, part.as_ptr().cast(), part.len()) };
    }
}

// SAFETY: memory of one allocation has no other owner until it is freed (`Spans`), is as large and
// as aligned as was requested, and nothing here unwinds or calls Rust's allocator: locks and the
// once-cell are futexes, and the thread's number needs no set-up.
unsafe impl GlobalAlloc for CapacityAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(memory) = self.alloc_pooled(layout) {
            return memory.as_ptr();
        }
        let fits = |region: &&Region| layout.align() <= region.align();
        let alloc = |region| self.spans.alloc(region, layout.size(), layout.align());
        let memory = self.region().filter(fits).and_then(alloc);
        memory.map_or(ptr::null_mut(), NonNull::as_ptr)
    }

    unsafe fn dealloc(&self, memory: *mut u8, _layout: Layout) {
        let Some(memory) = NonNull::new(memory) else {
            return;
        };
        if let Some(pool) = self.pool_of(memory) {
            // SAFETY: promised by the caller.
            unsafe { self.pooled.free(pool, memory) };
        } else if let Some(region) = self.region() {
            // SAFETY: promised by the caller.
            unsafe { self.spans.free(region, memory) };
        }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        let Some(memory) = NonNull::new(memory) else {
            return ptr::null_mut();
        };
        if let Some(pool) = self.pool_of(memory) {
            // SAFETY: promised by the caller.
            let new = unsafe { self.pooled.resize(pool, memory, bytes, layout.align()) };
            return match new {
                Some(new) => new.as_ptr(),
                // SAFETY: promised by the caller.
                None => unsafe { self.move_out(memory.as_ptr(), layout, bytes) },
            };
        }
        let resize = |region| {
            // SAFETY: promised by the caller.
            unsafe { self.spans.resize(region, memory, bytes, layout.align()) }
        };
        let new = self.region().and_then(resize);
        new.map_or(ptr::null_mut(), NonNull::as_ptr)
    }
}
