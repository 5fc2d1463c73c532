//! Reports of a recorded program's objects: the library in the program makes a system call that
//! Linux does not have, which the emulator refuses and the plug-in sees.

use std::ffi::CStr;

/// The number of the system call.
pub const NUMBER: i64 = 0x7472_6163;

/// What is reported, by the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Report {
    /// What follows is done by the library, and is no part of the program, until the next of these
    /// calls.
    Begin = 1,
    /// An object was allocated. Arguments: its address, its bytes, the address of an array of
    /// return addresses, the innermost first, and their number.
    Allocated = 2,
    /// An object was freed. Argument: its address.
    Freed = 3,
}

/// The most return addresses of an allocation.
pub const FRAMES: usize = 24;

/// The variable with the smallest object size that is reported, in bytes.
pub const LEAST: &str = crate::text(LEAST_NAME);
/// [`LEAST`], for the C library.
pub const LEAST_NAME: &CStr = c"TERRACE_ALLOCATIONS_LEAST";
