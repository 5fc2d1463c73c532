//! A process that gives another user's processes access to a file that only this process has open.
//!
//! The pool has no name; recorded processes open it in `/proc` as a descriptor of the reader. For
//! that the kernel demands the same user, and a reader that runs as root has another one than the
//! program. So a child becomes that user, keeps the pool open, and does nothing else.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process;

use terrace_base::{Context, Result, User};

/// The process; it ends when this is dropped, or when this process ends in any way.
#[derive(Debug)]
pub(super) struct Holder {
    pid: libc::pid_t,
    descriptor: i32,
}

impl Holder {
    /// Starts a process of `user` that keeps `file` open.
    ///
    /// # Errors
    /// Returns a failure if the system refuses a process, or the change of user.
    pub(super) fn of(file: &File, user: &User) -> Result<Self> {
        let descriptor = file.as_raw_fd();
        let parent = process::id();
        let (mut told, tell) = io::pipe().or_fail(|| "cannot make a pipe".into())?;
        let writer = tell.as_raw_fd();
        // SAFETY: the child makes system calls alone, with what was made ready before, allocates
        // nothing, and never returns.
        let pid = unsafe { libc::fork() };
        match pid {
            -1 => Err(io::Error::last_os_error())
                .or_fail(|| "cannot start a process that shares memory with the program".into()),
            0 => hold(descriptor, user, parent, writer),
            _ => {
                drop(tell);
                let holder = Self { pid, descriptor };
                let mut byte = [0];
                io::Read::read_exact(&mut told, &mut byte)
                    .or_fail(|| format!("cannot become the user {}", user.name()))?;
                Ok(holder)
            }
        }
    }

    /// Returns the path at which the user's processes open the file.
    pub(super) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", self.pid, self.descriptor)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // SAFETY: a child that was not waited for, so the process id is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// Runs the child.
fn hold(descriptor: i32, user: &User, parent: u32, writer: i32) -> ! {
    // SAFETY: all of these take integers, or a byte of a static string. Signals of the terminal
    // are for the program; this process ends with its parent. It closes all other files, as their
    // readers would wait for their end.
    unsafe {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            libc::signal(signal, libc::SIG_IGN);
        }
        let ready = user.assume().is_ok()
            && libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) == 0
            && die_with(parent).is_ok()
            && libc::write(writer, c"1".as_ptr().cast(), 1) == 1;
        if !ready {
            libc::_exit(1);
        }
        let (below, above) = (descriptor as u32, descriptor as u32 + 1);
        if below > 0 {
            libc::syscall(libc::SYS_close_range, 0, below - 1, 0);
        }
        libc::syscall(libc::SYS_close_range, above, u32::MAX, 0);
        loop {
            libc::pause();
        }
    }
}

/// Has the kernel kill this process, a child of `parent`, when the thread that made it ends.
/// Async-signal-safe; to be called after the last change of the user, which undoes it.
pub(super) fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: both take integers alone.
    let (asked, now) = unsafe {
        let signal = libc::SIGKILL as libc::c_ulong;
        let asked = libc::prctl(libc::PR_SET_PDEATHSIG, signal, 0, 0, 0);
        (asked, libc::getppid())
    };
    if asked != 0 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before it was asked.
    match now as u32 == parent {
        true => Ok(()),
        false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
    }
}
