//! The heap of this library, apart from that of the program.

use std::alloc::{GlobalAlloc, Layout};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use dlmalloc::{Allocator, Dlmalloc};
use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

/// The heap. It takes memory from the kernel, without the C library.
pub struct Heap(Mutex<Dlmalloc<Kernel>>);

/// Memory from the kernel, without the C library's functions, in whose place this library is.
struct Kernel;

// SAFETY: memory is mapped anew, and unmapped as a whole or from the end.
unsafe impl Allocator for Kernel {
    fn alloc(&self, size: usize) -> (*mut u8, usize, u32) {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, which touches no memory that there is.
        match unsafe { mmap_anonymous(ptr::null_mut(), size, access, MapFlags::PRIVATE) } {
            Ok(start) => (start.cast(), size, 0),
            Err(_) => (ptr::null_mut(), 0, 0),
        }
    }

    fn remap(&self, start: *mut u8, old: usize, new: usize, may_move: bool) -> *mut u8 {
        let flags = match may_move {
            true => MremapFlags::MAYMOVE,
            false => MremapFlags::empty(),
        };
        // SAFETY: a mapping of this heap, which refers to it by what this returns.
        let moved = unsafe { mremap(start.cast(), old, new, flags) };
        moved.map_or(ptr::null_mut(), |start| start.cast())
    }

    fn free_part(&self, start: *mut u8, old: usize, new: usize) -> bool {
        // SAFETY: the end of a mapping of this heap, which is no longer used.
        unsafe { munmap(start.add(new).cast(), old - new).is_ok() }
    }

    fn free(&self, start: *mut u8, size: usize) -> bool {
        // SAFETY: a mapping of this heap, which is no longer used.
        unsafe { munmap(start.cast(), size).is_ok() }
    }

    fn can_release_part(&self, _flags: u32) -> bool {
        true
    }

    fn allocates_zeros(&self) -> bool {
        true
    }

    fn page_size(&self) -> usize {
        4096
    }
}

impl Heap {
    /// Returns a heap without memory.
    pub const fn empty() -> Self {
        Self(Mutex::new(Dlmalloc::new_with_allocator(Kernel)))
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Dlmalloc<Kernel>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

// SAFETY: dlmalloc keeps these promises; the lock keeps threads apart.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        self.locked(|heap| unsafe { heap.malloc(layout.size(), layout.align()) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises.
        self.locked(|heap| unsafe { heap.calloc(layout.size(), layout.align()) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises.
        self.locked(|heap| unsafe { heap.free(start, layout.size(), layout.align()) });
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promises.
        self.locked(|heap| unsafe { heap.realloc(start, layout.size(), layout.align(), size) })
    }
}
