//! The library that `terrace extend` loads into programs.
//!
//! What it does is in `terrace-preload` (`extended`); this crate makes a library of it.

use std::ffi::{c_int, c_uint, c_void};

use terrace_preload::extended::{self, Handler, Heap};
use terrace_preload::{export, function};

#[global_allocator]
static HEAP: Heap = Heap::empty();

export!(extended, caller known);

function!(malloc_usable_size(block: *mut c_void) -> usize = extended::malloc_usable_size);
function!(
    madvise(address: *mut c_void, length: usize, advice: c_int) -> c_int
    = extended::madvise
);
function!(close(number: c_int) -> c_int = extended::close);
function!(
    close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int
    = extended::close_range
);
function!(closefrom(first: c_int) = extended::closefrom);
function!(dup2(old: c_int, new: c_int) -> c_int = extended::dup2);
function!(dup3(old: c_int, new: c_int, flags: c_int) -> c_int = extended::dup3);
function!(
    __register_atfork(
        before: Handler,
        in_parent: Handler,
        in_child: Handler,
        library: *mut c_void,
    ) -> c_int
    = extended::register_atfork
);
