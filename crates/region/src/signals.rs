//! Threads and moments in which no signal handler of the program runs: it would touch memory that
//! waits for them.

use std::io;
use std::thread::JoinHandle;

/// The address space of a thread's stack. In a forked child the C library has new threads use the
/// stacks of those that the child does not have, whose contents the program may still read; none is
/// as large as this.
const STACK: usize = 256 << 20;

/// Starts a thread that runs no signal handler of the program: it would touch memory that waits for
/// this thread.
///
/// # Errors
/// Returns the system's.
pub(crate) fn spawn<T: Send + 'static>(
    name: &str,
    act: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let before = block_signals();
    let thread = std::thread::Builder::new()
        .name(name.into())
        .stack_size(STACK)
        .spawn(act);
    restore_signals(&before);
    thread
}

/// Blocks all signals for this thread and those that it starts, and returns those that were
/// blocked.
pub(crate) fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are ours; an all-zero one is a valid value, and is filled first.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        before
    }
}

pub(crate) fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: the set is one that the call returned before.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}
