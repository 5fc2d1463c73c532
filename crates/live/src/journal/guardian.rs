//! A small process beside each command that changes the machine, which puts back what the command
//! cannot put back itself: for good after a `kill -9` of the command, and for the time in which it
//! is stopped (`SIGSTOP`, Ctrl-Z) what must not be left changed then, `vm.page-cluster` and how
//! tasks are scheduled.
//!
//! It is this program, started anew, so that it keeps nothing of the command open and may allocate;
//! it has a session of its own, so that what ends the command's terminal, session or process group
//! does not reach it. What is to be put back it reads in the command's journal, as `terrace doctor
//! --clean` does, and in the same way: the cgroup and the swap areas when the program has ended, an
//! area only if what is in it has room. Until then it waits for the programs that hold it up, and
//! it ends with the last change. Who kills the whole control group (systemd, at the stop of a unit)
//! kills it too; then the next command with this state directory puts back what is left, or
//! `terrace doctor --clean`.
//!
//! It sleeps until the command ends. Only while a change must not outlast a stop does it look at
//! the command's state 20 times a second, because the kernel tells only the parent of a process
//! that it was stopped.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use terrace_base::{Error, Result};

/// The hidden subcommand that runs [`super::watch::watch`].
static SUBCOMMAND: OnceLock<&'static str> = OnceLock::new();

/// Has this program guard its commands: its subcommand of this name, with the number of a process
/// and a state directory for arguments, runs [`super::watch::watch`]. Without it nothing is
/// guarded, as in tests of this library.
pub fn serve_by(subcommand: &'static str) {
    let _ = SUBCOMMAND.set(subcommand);
}

/// A running guardian; ends when dropped.
#[derive(Debug)]
pub(crate) struct Guardian {
    child: Child,
    looks_for_stops: bool,
}

impl Guardian {
    /// Starts a guardian of this process; `None` if the program has none ([`serve_by`]).
    ///
    /// # Errors
    /// A failure if it cannot be started.
    pub fn start(state: &Path) -> Result<Option<Self>> {
        let Some(subcommand) = SUBCOMMAND.get() else {
            return Ok(None);
        };
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("terrace")
            .arg(subcommand)
            .arg(std::process::id().to_string())
            .arg(state)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .current_dir("/");
        // SAFETY: system calls alone. The signal is blocked before the guardian can take it, so
        // that it is not ended by one that comes early.
        unsafe {
            command.pre_exec(|| {
                rustix::process::setsid()?;
                block_call();
                Ok(())
            });
        }
        let child = command.spawn().map_err(|e| {
            Error::failure(format!(
                "cannot start the process that puts changes of the machine back after a kill ({e}); raise the limit \
                 that it meets (ulimit -a)"
            ))
        })?;
        Ok(Some(Self {
            child,
            looks_for_stops: false,
        }))
    }

    /// Has it look for stops of this process from now on.
    pub fn look_for_stops(&mut self) {
        if !std::mem::replace(&mut self.looks_for_stops, true) {
            // SAFETY: takes integers; the child has not been waited for, so the number is its.
            unsafe { libc::kill(self.child.id() as libc::pid_t, CALL) };
        }
    }

    /// Leaves it to put back what is left, after the end of this process.
    pub fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The signal that has a guardian look for stops.
const CALL: libc::c_int = libc::SIGUSR1;

pub(super) fn call() -> libc::sigset_t {
    // SAFETY: an all-zero set is a valid value, and it is ours to write.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, CALL);
        set
    }
}

pub(super) fn block_call() {
    let call = call();
    // SAFETY: reads the set alone.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const call, std::ptr::null_mut()) };
}
