//! What this process was started with and has changed for itself, so that the programs that it
//! starts get it as it was found: which signals were ignored, which were blocked, and which
//! standard streams were closed.
//!
//! Rust's runtime ignores SIGPIPE and opens `/dev/null` in place of closed streams before `main`.
//! So the command has [`remember`] called before that, from the table of functions that the C
//! library calls first:
//!
//!     #[used]
//!     #[unsafe(link_section = ".init_array")]
//!     static REMEMBER: extern "C" fn() = terrace_base::inherited::remember;
//!
//! Everything else that a program inherits (limits, priorities, processors, umask, other
//! descriptors) is not changed by this process for itself.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use crate::system_call::answered;

/// The highest signal (`_NSIG`).
const SIGNALS: i32 = 64;
/// Bytes of the kernel's set of signals.
const SET_BYTES: usize = size_of::<u64>();
/// Standard input, output and error.
const STREAMS: i32 = 3;

static IS_KNOWN: AtomicBool = AtomicBool::new(false);
static IGNORED: AtomicU64 = AtomicU64::new(0);
static BLOCKED: AtomicU64 = AtomicU64::new(0);
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// Remembers what this process was started with, and has it notice the end of its children, which
/// the kernel hides from a process that ignores SIGCHLD. To be called before `main`.
pub extern "C" fn remember() {
    let found = Inherited::now();
    IGNORED.store(found.ignored, Ordering::Relaxed);
    BLOCKED.store(found.blocked, Ordering::Relaxed);
    CLOSED.store(found.closed, Ordering::Relaxed);
    IS_KNOWN.store(true, Ordering::Release);
    if found.has_ignored(libc::SIGCHLD) {
        // SAFETY: takes integers.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
    }
}

/// What this process was started with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// Signals that were ignored: bit 0 for signal 1.
    ignored: u64,
    /// Signals that were blocked, likewise.
    blocked: u64,
    /// Standard streams that were closed: bit 0 for standard input.
    closed: u8,
}

impl Inherited {
    /// Returns what was remembered. Where nothing was, as in a library, this is what is found now,
    /// with SIGPIPE at its default.
    pub fn found() -> Self {
        match IS_KNOWN.load(Ordering::Acquire) {
            true => Self {
                ignored: IGNORED.load(Ordering::Relaxed),
                blocked: BLOCKED.load(Ordering::Relaxed),
                closed: CLOSED.load(Ordering::Relaxed),
            },
            false => {
                let now = Self::now();
                Self {
                    ignored: now.ignored & !bit(libc::SIGPIPE),
                    ..now
                }
            }
        }
    }

    fn now() -> Self {
        let ignored = (1..=SIGNALS).filter(|&signal| is_ignored(signal));
        // SAFETY: takes integers.
        let is_closed = |stream: &i32| unsafe { libc::fcntl(*stream, libc::F_GETFD) } == -1;
        Self {
            ignored: ignored.map(bit).sum(),
            blocked: mask(),
            closed: (0..STREAMS)
                .filter(is_closed)
                .map(|stream| 1 << stream)
                .sum(),
        }
    }

    /// Whether a signal was ignored.
    pub fn has_ignored(self, signal: i32) -> bool {
        self.ignored & bit(signal) != 0
    }

    /// Returns the same with this standard stream open, for a program that is given another one.
    pub fn with_stream(self, stream: i32) -> Self {
        Self {
            closed: self.closed & !(1 << stream),
            ..self
        }
    }

    /// Gives this to the calling process, between fork and exec. Signals must be [`Blocked`] until
    /// then, because the handlers are still those of the parent. Async-signal-safe.
    ///
    /// # Errors
    /// The kernel's.
    pub fn give(self) -> io::Result<()> {
        for signal in 1..=SIGNALS {
            let action = match self.has_ignored(signal) {
                true => libc::SIG_IGN,
                false => libc::SIG_DFL,
            };
            // SAFETY: takes integers. It fails for those that cannot be changed, which is right.
            unsafe { libc::signal(signal, action) };
        }
        for stream in (0..STREAMS).filter(|stream| self.closed & (1 << stream) != 0) {
            // SAFETY: this process is about to become another program, and uses none of its
            // streams.
            unsafe { libc::close(stream) };
        }
        set_mask(self.blocked)
    }
}

/// Blocks all signals in this thread, and in what it starts meanwhile, until this is dropped.
#[derive(Debug)]
pub struct Blocked(u64);

impl Blocked {
    /// Blocks them.
    pub fn all() -> Self {
        let before = mask();
        let _ = set_mask(u64::MAX);
        Self(before)
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        let _ = set_mask(self.0);
    }
}

/// Unblocks signals in this thread.
pub(crate) fn unblock(signals: &[i32]) {
    let wanted: u64 = signals.iter().map(|&signal| bit(signal)).sum();
    let _ = set_mask(mask() & !wanted);
}

/// Returns the bit of a signal in the kernel's sets.
pub(crate) const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: an all-zero sigaction is a valid value of it; the call only reads into it.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

/// Returns the signals that are blocked in this thread. The C library keeps two from its own call.
fn mask() -> u64 {
    let mut set = 0u64;
    // SAFETY: the kernel writes one set of this size.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_BLOCK,
            std::ptr::null::<u64>(),
            &raw mut set,
            SET_BYTES,
        )
    };
    set
}

fn set_mask(set: u64) -> io::Result<()> {
    // SAFETY: the kernel reads one set of this size.
    let done = unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const set,
            std::ptr::null_mut::<u64>(),
            SET_BYTES,
        )
    };
    answered(done).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_blocked_for_a_while() {
        let before = mask();
        {
            let _blocked = Blocked::all();
            assert_ne!(mask() & bit(libc::SIGTERM), 0);
            unblock(&[libc::SIGTERM]);
            assert_eq!(mask() & bit(libc::SIGTERM), 0);
            assert_ne!(mask() & bit(libc::SIGINT), 0);
        }
        assert_eq!(mask(), before);
    }

    #[test]
    fn what_the_runtime_ignores_was_not_found_so() {
        assert!(is_ignored(libc::SIGPIPE), "by Rust's runtime");
        assert!(!Inherited::found().has_ignored(libc::SIGPIPE));
    }

    #[test]
    fn a_stream_that_is_given_is_open() {
        let found = Inherited {
            ignored: 0,
            blocked: 0,
            closed: 0b101,
        };
        assert_eq!(found.with_stream(0).closed, 0b100);
        assert_eq!(found.with_stream(1).closed, 0b101);
    }
}
