//! A process that ends the recorded processes when the recorder was killed.
//!
//! The kernel kills the program itself when the recorder ends
//! ([`die_with`](super::holder::die_with)), but not the processes that it has forked. So a child of
//! the recorder waits for its end by a pidfd, and then kills all recorded processes, as the pool
//! lists them. The program cannot tell: it has the same parent and the same open files.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::time::{Duration, Instant};

use terrace_base::process::{hold, signal_all};
use terrace_base::{Context, Result};
use terrace_recorder::pool::Pool;

/// How often to look for recorded processes.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// How long no recorded process must have been seen: one that was just forked may not have entered
/// the pool yet.
const PATIENCE: Duration = Duration::from_secs(1);

/// The process; it is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Watcher(libc::pid_t);

impl Watcher {
    /// Starts a process that ends the processes recorded in `pool` if this process ends before the
    /// watcher is dropped.
    ///
    /// # Errors
    /// Returns a failure if the system refuses a process.
    pub(super) fn of(pool: &Pool) -> Result<Self> {
        let what = || "cannot start a process that watches over the program".to_owned();
        let recorder = hold(std::process::id()).or_fail(what)?;
        // SAFETY: the child never returns and takes no lock but the allocator's, which the C
        // library's fork leaves free in the child.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()).or_fail(what),
            0 => watch(pool, &recorder),
            pid => Ok(Self(pid)),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // SAFETY: a child that was not waited for, so the process id is its own.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

/// Runs the child.
fn watch(pool: &Pool, recorder: &OwnedFd) -> ! {
    // SAFETY: these take integers and static strings. Signals of the terminal are for the program.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::chdir(c"/".as_ptr());
        libc::prctl(libc::PR_SET_NAME, c"terrace-watch".as_ptr());
    }
    let recorder = recorder.as_raw_fd();
    // Readers of its other files would wait for their end.
    let file = pool.file().map_or(recorder, AsRawFd::as_raw_fd);
    close_all_but(recorder.min(file), recorder.max(file));
    await_the_end(recorder);
    end_all(pool);
    // SAFETY: takes an integer, and runs nothing of the process it was forked from.
    unsafe { libc::_exit(0) }
}

fn close_all_but(low: RawFd, high: RawFd) {
    for (first, last) in [(0, low - 1), (low + 1, high - 1), (high + 1, RawFd::MAX)] {
        if first <= last {
            // SAFETY: takes integers; what is closed is of no use in this process.
            unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
        }
    }
}

fn await_the_end(process: RawFd) {
    let mut asked = libc::pollfd {
        fd: process,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry, which lives across the call.
    while unsafe { libc::poll(&raw mut asked, 1, -1) } != 1 {}
}

fn end_all(pool: &Pool) {
    pool.end();
    let mut seen = Instant::now();
    while seen.elapsed() < PATIENCE {
        if !pool.living().is_empty() {
            signal_all(&|| pool.living(), libc::SIGKILL);
            seen = Instant::now();
        }
        std::thread::sleep(LOOK_EVERY);
    }
}
