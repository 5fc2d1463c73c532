//! Small blocks of `malloc`, in a heap that lies in extended memory as a whole.
//!
//! The C library's own heap cannot be extended: its code for forks and threads touches it while no
//! thread serves its faults. What it allocates for itself, as it does for streams and for threads'
//! variables, stays there for the same reason, and so does what this library allocates by way of it
//! (`callers`). Each thread keeps some freed blocks (`cache`).

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use dlmalloc::{Allocator, Dlmalloc};
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};

use super::cache::{Cache, Size};
use super::extension::adopt;
use super::{callers, owner};

/// Address space of the heap.
const SPACE: usize = 1 << 40;
/// Bits of the size of a chunk that are no part of it.
const BITS: usize = 7;
/// Bytes by which the heap grows. What fits into the first part stays in DRAM, so that programs
/// which only start others have no extended memory.
const PART: usize = 4 << 20;

/// Start of the heap; 0 if there is none.
static START: AtomicUsize = AtomicUsize::new(0);
static SMALL: Mutex<Small> = Mutex::new(Small {
    heap: Dlmalloc::new_with_allocator(Parts {
        used: AtomicUsize::new(0),
    }),
});

/// The heap.
pub struct Small {
    heap: Dlmalloc<Parts>,
}

/// The address space of the heap, of which parts are taken one after the other.
struct Parts {
    used: AtomicUsize,
}

// SAFETY: each part is taken once, and never given back.
unsafe impl Allocator for Parts {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        const NONE: (*mut u8, usize, u32) = (ptr::null_mut(), 0, 0);
        let used = self.used.load(Ordering::Relaxed);
        let bytes = size.next_multiple_of(PART);
        if bytes > SPACE - used {
            return NONE;
        }
        let start = START.load(Ordering::Relaxed) + used;
        // A new mapping, as a recording takes reserved space that becomes accessible for no memory
        // that is extended.
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::FIXED;
        // SAFETY: a part of the reserved space that no block has yet.
        let made = unsafe { mmap_anonymous(start as *mut _, bytes, access, flags) };
        if made.is_err() {
            return NONE;
        }
        self.used.store(used + bytes, Ordering::Relaxed);
        match used {
            0 => {}
            // SAFETY: private anonymous memory, which is never unmapped.
            PART => unsafe { adopt(start - PART, PART + bytes) },
            // SAFETY: as above.
            _ => unsafe { adopt(start, bytes) },
        }
        (start as *mut u8, bytes, 0)
    }

    fn remap(&self, _start: *mut u8, _old: usize, _new: usize, _may_move: bool) -> *mut u8 {
        ptr::null_mut()
    }

    fn free_part(&self, _start: *mut u8, _old: usize, _new: usize) -> bool {
        false
    }

    fn free(&self, _start: *mut u8, _size: usize) -> bool {
        false
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        false
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

/// Has small blocks lie in extended memory from now on, if there is address space for them.
pub fn begin() {
    if !callers::are_known() {
        return;
    }
    let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
    // SAFETY: a new mapping, which touches no memory that there is.
    let space = unsafe { mmap_anonymous(ptr::null_mut(), SPACE, ProtFlags::empty(), flags) };
    if let Ok(space) = space {
        START.store(space as usize, Ordering::Relaxed);
    }
}

/// Returns the heap.
pub fn small() -> MutexGuard<'static, Small> {
    SMALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether blocks for who calls from this address lie in this heap.
pub fn is_for(caller: usize) -> bool {
    START.load(Ordering::Relaxed) != 0 && callers::is_program(caller)
}

/// Whether a block is of this heap.
pub fn has(block: *mut c_void) -> bool {
    let start = START.load(Ordering::Relaxed);
    start != 0 && (block as usize).wrapping_sub(start) < SPACE
}

/// Allocates a block.
pub fn allocate(size: usize) -> *mut c_void {
    let kept = Size::holding(size).and_then(|size| with_cache(|cache| cache.take(size)));
    // A new block lies beside the last one, of whatever size: blocks that are used together lie
    // together.
    kept.flatten().unwrap_or_else(|| small().allocate(size))
}

/// Allocates a block of zeros.
pub fn allocate_zeros(size: usize) -> *mut c_void {
    let block = allocate(size);
    if !block.is_null() {
        // SAFETY: a new block of this many bytes.
        unsafe { block.write_bytes(0, size) };
    }
    block
}

/// Allocates an aligned block.
pub fn allocate_aligned(alignment: usize, size: usize) -> *mut c_void {
    small().allocate_aligned(alignment, size)
}

/// Changes the size of a block.
///
/// # Safety
/// It is a block of this heap.
pub unsafe fn resize(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { small().resize(block, size) }
}

/// Frees a block.
///
/// # Safety
/// It is a block of this heap.
pub unsafe fn free(block: *mut c_void) {
    // SAFETY: the word before each block has the size of its chunk, and bits.
    let chunk = unsafe { *block.cast::<usize>().sub(1) } & !BITS;
    let keep = |size| with_cache(|cache| keep(cache, size, block));
    if Size::of_chunk(chunk).and_then(keep).is_none() {
        // SAFETY: the caller's promise.
        unsafe { small().free(block) };
    }
}

/// Keeps a block in the cache, which gives some back if it is full.
fn keep(cache: &mut Cache, size: Size, block: *mut c_void) {
    if !cache.keep(size, block) {
        let mut heap = small();
        // SAFETY: the cache has blocks of this heap, which nobody uses.
        cache.halve(size, |block| unsafe { heap.free(block) });
        cache.keep(size, block);
    }
}

/// Does something with the cache of this thread; `None` if it has none, as at its end, or must not
/// use it.
fn with_cache<T>(act: impl FnOnce(&mut Cache) -> T) -> Option<T> {
    if owner::is_left_behind() {
        return None;
    }
    // SAFETY: nothing that is done with a cache allocates or frees small blocks on this thread.
    let act = |own: &OfThread| act(unsafe { &mut *own.0.get() });
    CACHE.try_with(act).ok()
}

thread_local! {
    static CACHE: OfThread = const { OfThread(UnsafeCell::new(Cache::new())) };
}

/// The cache of a thread, which is given back at its end.
struct OfThread(UnsafeCell<Cache>);

impl Drop for OfThread {
    fn drop(&mut self) {
        if !owner::is_left_behind() {
            let mut heap = small();
            // SAFETY: the cache has blocks of the heap, which nobody uses.
            self.0.get_mut().empty(|block| unsafe { heap.free(block) });
        }
    }
}

impl Small {
    fn allocate(&mut self, size: usize) -> *mut c_void {
        // SAFETY: any size is fine.
        unsafe { self.heap.c_malloc(size).cast() }
    }

    fn allocate_aligned(&mut self, alignment: usize, size: usize) -> *mut c_void {
        // SAFETY: as above; the alignment is made a power of two, as the C library does.
        unsafe {
            self.heap
                .c_memalign(alignment.next_power_of_two(), size)
                .cast()
        }
    }

    /// # Safety
    /// It is a block of this heap.
    unsafe fn resize(&mut self, block: *mut c_void, size: usize) -> *mut c_void {
        // SAFETY: the caller's promise.
        unsafe { self.heap.c_realloc(block.cast(), size).cast() }
    }

    /// # Safety
    /// It is a block of this heap.
    unsafe fn free(&mut self, block: *mut c_void) {
        // SAFETY: the caller's promise.
        unsafe { self.heap.c_free(block.cast()) };
    }
}
