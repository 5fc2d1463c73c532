//! The clock by which faults and fetches are compared.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The same clock, for events of the kernel.
pub const KERNEL_ID: i32 = libc::CLOCK_MONOTONIC;

/// Returns the time since boot, by the monotonic clock.
pub fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
