//! What was done to a medium: lines, fences, syncs and bytes, counted by each thread for itself.

use std::ops::{Add, Sub};

/// What was done to a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Cache lines that were flushed, each time.
    pub lines: u64,
    /// Fences.
    pub fences: u64,
    /// Times the kernel was asked to write to the device and did.
    pub syncs: u64,
    /// Bytes that were stored.
    pub bytes: u64,
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            lines: self.lines + other.lines,
            fences: self.fences + other.fences,
            syncs: self.syncs + other.syncs,
            bytes: self.bytes + other.bytes,
        }
    }
}

impl Sub for Counts {
    type Output = Self;

    /// What was done between two moments.
    fn sub(self, earlier: Self) -> Self {
        Self {
            lines: self.lines - earlier.lines,
            fences: self.fences - earlier.fences,
            syncs: self.syncs - earlier.syncs,
            bytes: self.bytes - earlier.bytes,
        }
    }
}
