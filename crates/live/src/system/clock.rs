//! The clock by which faults and fetches are compared, and sleeps that it can tell.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The same clock, for events of the kernel.
pub const KERNEL_ID: i32 = libc::CLOCK_MONOTONIC;

/// Returns the time since boot, by the monotonic clock.
pub fn now() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Makes short sleeps of this thread short: by default Linux adds up to 50 us to each.
pub fn sleep_exactly() {
    // SAFETY: PR_SET_TIMERSLACK takes an integer and concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}
