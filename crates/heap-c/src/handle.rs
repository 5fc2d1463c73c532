//! Heaps that are open.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use terrace_heap::{Error, Heap, Kind, Mode, Options, Ptr, Result};

use crate::error::{number, pointer, status};
use crate::registry::{self, Opened, find, on};
use crate::{salvage, text};

/// `nvm_heap`.
pub struct Handle {
    /// The number in the registry.
    pub number: usize,
    pub heap: Heap,
    /// Transactions under way.
    pub open: AtomicUsize,
    /// Held while a root's object is looked for and made.
    pub naming: Mutex<()>,
}

impl Opened for Handle {
    const WHAT: &'static str = "heap";
}

impl Handle {
    pub fn base(&self) -> *mut u8 {
        self.heap.base()
    }

    /// Returns the offset of an address in the heap.
    ///
    /// # Errors
    ///
    /// The address lies elsewhere.
    pub fn offset(&self, at: *const c_void) -> Result<u64> {
        let offset = at.addr().wrapping_sub(self.base().addr()) as u64;
        let within = !at.is_null() && offset < self.heap.len();
        let outside = || Error::usage(format!("{at:?} does not lie in the heap"));
        within.then_some(offset).ok_or_else(outside)
    }

    /// Returns the object that begins at an address in the heap.
    ///
    /// # Errors
    ///
    /// The address lies elsewhere.
    pub fn object(&self, at: *const c_void) -> Result<Ptr<u8>> {
        self.offset(at).map(Ptr::at)
    }

    /// Returns the address of an offset.
    ///
    /// # Errors
    ///
    /// The offset is beyond the heap.
    pub fn address(&self, offset: u64) -> Result<*mut c_void> {
        let len = self.heap.len();
        match offset < len {
            true => Ok(self.base().wrapping_add(offset as usize).cast()),
            false => Err(Error::usage(format!(
                "offset {offset} is beyond the heap of {len} bytes"
            ))),
        }
    }
}

fn register(heap: Heap) -> *mut Handle {
    registry::add_heap(|number| Handle {
        number,
        heap,
        open: AtomicUsize::new(0),
        naming: Mutex::new(()),
    })
}

/// # Safety
///
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_create(path: *const c_char, bytes: u64) -> *mut Handle {
    // SAFETY: promised by the caller.
    pointer(|| Heap::create(unsafe { text::path(path)? }, bytes).map(register))
}

/// # Safety
///
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_create_with(
    path: *const c_char,
    bytes: u64,
    checksums: c_int,
) -> *mut Handle {
    pointer(|| {
        // SAFETY: promised by the caller.
        let path = unsafe { text::path(path)? };
        let options = match salvage::checksums(checksums)? {
            Some(checksums) => Options::default().checksums(checksums),
            None => Options::default(),
        };
        Heap::create_with(path, bytes, Mode::Detected, &options).map(register)
    })
}

/// # Safety
///
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_open(path: *const c_char) -> *mut Handle {
    // SAFETY: promised by the caller.
    pointer(|| Heap::open(unsafe { text::path(path)? }).map(register))
}

/// # Safety
///
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_open_read(path: *const c_char) -> *mut Handle {
    // SAFETY: promised by the caller.
    pointer(|| Heap::open_read(unsafe { text::path(path)? }).map(register))
}

/// # Safety
///
/// `path` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_copy(heap: *mut Handle, path: *const c_char) -> c_int {
    // SAFETY: promised by the caller.
    status(|| find(heap)?.heap.copy(unsafe { text::path(path)? }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_anonymous(bytes: u64) -> *mut Handle {
    pointer(|| Heap::anonymous(bytes).map(register))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_close(heap: *mut Handle) -> c_int {
    status(on(heap, |this| {
        if this.open.load(Ordering::Acquire) > 0 {
            return Err(Error::usage(
                "the heap has a transaction under way; commit or abort it, then close the heap",
            ));
        }
        registry::remove_heap(this.number);
        this.heap.clone().close()
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_grow(heap: *mut Handle, bytes: u64) -> c_int {
    status(|| find(heap)?.heap.grow(bytes))
}

/// # Safety
///
/// `freed` and `left` are null, or point to a number of the caller each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_compact(
    heap: *mut Handle,
    objects: u64,
    freed: *mut u64,
    left: *mut u64,
) -> c_int {
    status(|| {
        let done = find(heap)?.heap.compact_some(objects)?;
        for (into, number) in [(freed, done.freed), (left, done.left)] {
            if !into.is_null() {
                // SAFETY: promised by the caller.
                unsafe { into.write_unaligned(number) };
            }
        }
        done.expect_all()
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_bytes(heap: *mut Handle) -> u64 {
    number(|| Ok(find(heap)?.heap.len()))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_has_checksums(heap: *mut Handle) -> c_int {
    number(|| Ok(find(heap)?.heap.checksums().into())) as c_int
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_kind(heap: *mut Handle) -> *const c_char {
    pointer(|| {
        let kind = match find(heap)?.heap.kind() {
            Kind::Dax(_) => c"persistent memory",
            Kind::Assumed(_) => c"taken for persistent memory",
            Kind::Synced => c"plain file",
            _ => c"volatile",
        };
        Ok(kind.as_ptr().cast_mut())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_base(heap: *mut Handle) -> *mut c_void {
    pointer(|| Ok(find(heap)?.base().cast()))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_pointer(heap: *mut Handle, offset: u64) -> *mut c_void {
    pointer(|| match offset {
        0 => Err(Error::usage("offset 0 stands for no object")),
        _ => find(heap)?.address(offset),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_offset(heap: *mut Handle, at: *const c_void) -> u64 {
    number(|| find(heap)?.offset(at))
}
