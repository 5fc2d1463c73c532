//! What a callback of an instruction is given to know it by.

use std::ffi::c_void;

use crate::stream::Origin;

/// The site of an instruction: its address in the low 48 bits, and above them the number of
/// instructions of its block from it on.
#[derive(Clone, Copy)]
pub struct Site(u64);

impl Site {
    const BITS: u32 = 48;

    /// Makes the site of the instruction at `ip`, of `to_end` instructions to the end of its block.
    pub fn new(ip: u64, to_end: usize) -> Self {
        Self(ip & ((1 << Self::BITS) - 1) | (to_end as u64) << Self::BITS)
    }

    /// Returns the site as the data of a callback.
    pub fn to_data(self) -> *mut c_void {
        self.0 as *mut c_void
    }

    /// Returns the site of the data of a callback.
    pub fn of_data(data: *mut c_void) -> Self {
        Self(data as u64)
    }

    /// Returns the origin of an access by a thread that has executed so many instructions at the
    /// end of the block.
    pub fn origin(self, executed: u64) -> Origin {
        Origin {
            ip: self.0, // the record takes the low bits
            instruction: executed.wrapping_sub(self.0 >> Self::BITS),
        }
    }
}
