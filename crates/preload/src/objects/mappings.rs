//! `mmap` and its like, whose mappings are objects.

use std::ffi::{c_int, c_long, c_void};

use super::report::{allocated, ending, freed, is_large};
use crate::mappings::functions;

functions!(replacing, mapped, unmapping, moving);

/// An object that is replaced ends when the program says so.
fn replacing(_start: usize, _length: usize) {}

/// # Safety
/// The mapping is new, and its end comes by the functions here.
unsafe fn mapped(start: usize, length: usize, _flags: c_int) {
    allocated(start as *mut c_void, length);
}

/// An object ends with its first page.
fn unmapping(start: usize, length: usize, _caller: usize) {
    if is_large(length) {
        ending(start as *mut c_void);
        freed(start as *mut c_void);
    }
}

/// What has moved is another object.
fn moving(start: usize, old: usize, new: usize, call: impl FnOnce() -> c_long) -> c_long {
    if is_large(old) {
        ending(start as *mut c_void);
    }
    let moved = call();
    if moved != -1 {
        if is_large(old) {
            freed(start as *mut c_void);
        }
        allocated(moved as *mut c_void, new);
    }
    moved
}
