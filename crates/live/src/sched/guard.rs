//! A small process that puts tasks back while their owner is stopped (`SIGSTOP`, Ctrl-Z), and for good when the
//! owner was killed: a task must not be left to run only where nothing else does.
//!
//! It is this program, started anew, so that it keeps nothing of the owner open and may allocate. It knows what to
//! put back by the owner's journal, as `terrace doctor --clean` does. The owner, when it goes on, defers the tasks
//! again.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terrace_base::process::{Figures, hold};
use terrace_base::{Context, Error, Result};

use super::held::put_back_all;
use crate::journal::leftover::Found;
use crate::journal::{State, state_directory};

/// Interval at which the owner's state is polled.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A running guardian; ends when dropped.
#[derive(Debug)]
pub(crate) struct Guard(Child);

impl Guard {
    /// Starts a guardian of this process; `command` is the command line that runs [`watch`], without its argument.
    ///
    /// # Errors
    /// A failure if it cannot be started.
    pub fn start(command: &[OsString]) -> Result<Self> {
        let (program, arguments) = command
            .split_first()
            .ok_or_else(|| Error::failure("no command for a guardian was given"))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .arg(std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .current_dir("/");
        // SAFETY: a system call alone; the terminal's job control must not reach the guardian.
        unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
        let child = command.spawn();
        child
            .map(Self)
            .or_fail(|| "cannot start the process that guards the scheduling of tasks".into())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Guards the tasks of a run of terrace, which has started this process, until it ends.
///
/// # Errors
/// A usage error if that process has not started this one, a failure if the state directory cannot be used.
pub fn watch(owner: u32) -> Result<()> {
    let process = hold(owner);
    let Some(process) = process.filter(|_| std::os::unix::process::parent_id() == owner) else {
        return Err(Error::usage(
            "this command is for terrace sched; run that one",
        ));
    };
    let pause = Timespec::try_from(LOOK_EVERY).ok();
    let mut stopped = false;
    loop {
        let mut asked = [PollFd::new(&process, PollFlags::IN)];
        if poll(&mut asked, pause.as_ref()).is_ok_and(|ready| ready > 0) {
            return clean(owner);
        }
        let figures = Figures::of(owner).ok().flatten();
        let now = figures.is_some_and(|it| it.state == 'T');
        if now && !stopped {
            put_back(owner);
        }
        stopped = now;
    }
}

/// Puts back what the owner has changed, which has been stopped. It stays in the journal.
fn put_back(owner: u32) {
    if let Ok(Some(state)) = State::open(&state_directory()) {
        // The owner goes on or is killed; then they are put back again.
        let _ = put_back_all(&Found::scheduling_of(&state, owner));
    }
}

/// Puts back what the owner has left.
fn clean(owner: u32) -> Result<()> {
    let Some(state) = State::open(&state_directory())? else {
        return Ok(());
    };
    for leftover in Found::look(&state)?.leftovers {
        if leftover.owner() == owner {
            leftover.clean(&state);
        }
    }
    Ok(())
}
