//! Counts of what was done to a medium: lines, fences, syncs and bytes. Each thread counts by itself.

use std::ops::{Add, Sub};

/// Counts of what was done to a medium.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Flushes of cache lines.
    pub lines: u64,
    /// Fences.
    pub fences: u64,
    /// Successful requests to the kernel to write to the device.
    pub syncs: u64,
    /// Stored bytes.
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

    /// Returns the difference of two counts.
    fn sub(self, earlier: Self) -> Self {
        Self {
            lines: self.lines - earlier.lines,
            fences: self.fences - earlier.fences,
            syncs: self.syncs - earlier.syncs,
            bytes: self.bytes - earlier.bytes,
        }
    }
}
