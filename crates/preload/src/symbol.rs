//! Functions of the next library that has them, in whose place a library for programs is.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the next library, looked up when it is needed first.
pub struct Symbol {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Symbol {
    pub const fn named(name: &'static CStr) -> Self {
        Self {
            name,
            found: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Returns the address of the function; null where no library has it.
    pub fn address(&self) -> *mut c_void {
        let known = self.found.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: a name that ends in zero.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the function of this name and type in the next library.
macro_rules! next {
    ($name:ident: fn($($type:ty),*) -> $result:ty, ($($argument:expr),*)) => {{
        static NEXT: $crate::symbol::Symbol = match std::ffi::CStr::from_bytes_with_nul(
            concat!(stringify!($name), "\0").as_bytes(),
        ) {
            Ok(name) => $crate::symbol::Symbol::named(name),
            Err(_) => panic!("a name has a zero"),
        };
        type Function = unsafe extern "C" fn($($type),*) -> $result;
        // SAFETY: a function of this name has this type; it is there, because programs that are
        // loaded have a C library.
        let function = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Function>(NEXT.address()) };
        // SAFETY: the caller's promises.
        unsafe { function($($argument),*) }
    }};
}
pub(crate) use next;
