//! Counts of what was done to a medium: lines, fences, syncs and bytes. Each thread counts by
//! itself.

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

impl Counts {
    fn with(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            lines: combine(self.lines, other.lines),
            fences: combine(self.fences, other.fences),
            syncs: combine(self.syncs, other.syncs),
            bytes: combine(self.bytes, other.bytes),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, u64::add)
    }
}

impl Sub for Counts {
    type Output = Self;

    /// Returns the difference of two counts.
    fn sub(self, earlier: Self) -> Self {
        self.with(earlier, u64::sub)
    }
}
