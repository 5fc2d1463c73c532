//! What was seen of a target in a moment.

use serde::Serialize;

/// What a target was like at a moment, and since the point before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Point {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// Bytes in DRAM.
    pub resident: u64,
    /// Bytes in the tier.
    pub swapped: u64,
    /// Bytes in DRAM since the point before: the mean of both ends.
    pub held: u64,
    /// Time since the point before in which it stood still for memory, in seconds.
    pub stalled_s: f64,
    /// Time over which that was looked at, in seconds; 0 at the first point, and while the target
    /// is not there.
    pub watched_s: f64,
    /// Looks within that time.
    pub looks: u64,
}
