//! System calls of both sides.

use std::io;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Whether the process runs: a zombie does not.
pub fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 is not delivered; the call only checks.
    let answer = unsafe { libc::kill(pid as libc::pid_t, 0) };
    if answer != 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return false;
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state follows the name, which stands in brackets and may have brackets in it.
    let state = status
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    !matches!(state, Some('Z' | 'X'))
}

/// Waits until `futex` is no longer `seen`, or is woken, or `at_most` has passed.
pub fn wait(futex: &AtomicU32, seen: u32, at_most: Duration) {
    let timeout = libc::timespec {
        tv_sec: at_most.as_secs() as libc::time_t,
        tv_nsec: at_most.subsec_nanos().into(),
    };
    // SAFETY: the futex and the timeout live across the call. That it returns early is allowed.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            futex.as_ptr(),
            libc::FUTEX_WAIT,
            seen,
            &raw const timeout,
        )
    };
}

/// Wakes all waiters of `futex`.
pub fn wake(futex: &AtomicU32) {
    // SAFETY: the futex lives across the call.
    unsafe { libc::syscall(libc::SYS_futex, futex.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
}
