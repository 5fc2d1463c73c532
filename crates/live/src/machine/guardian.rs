//! A small process beside each command that changes the machine, which puts back what the command cannot put back
//! itself: for good after a `kill -9` of the command, and for the time in which it is stopped (`SIGSTOP`, Ctrl-Z) what
//! must not be left changed then, `vm.page-cluster` and how tasks are scheduled.
//!
//! It is this program, started anew, so that it keeps nothing of the command open and may allocate; it has a session of
//! its own, so that what ends the command's terminal, session or process group does not reach it. What is to be put back
//! it reads in the command's journal, as `terrace doctor --clean` does, and in the same way: the cgroup and the swap
//! areas when the program has ended, an area only if what is in it has room. Until then it waits for the programs that
//! hold it up, and it ends with the last change. Who kills the whole control group (systemd, at the stop of a unit) kills
//! it too; then the next command with this state directory puts back what is left, or `terrace doctor --clean`.
//!
//! It sleeps until the command ends. Only while a change must not outlast a stop does it look at the command's state 20
//! times a second, because the kernel tells only the parent of a process that it was stopped.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, parent_id};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terrace_base::process::{Figures, hold};
use terrace_base::{Context, Error, Result, mounts};

use crate::machine::journal::leftover::{Awaited, Found};
use crate::machine::journal::{Change, State};
use crate::machine::sysctl;
use crate::sched::held::put_back_all;
use crate::tier::holders::holders;

/// Interval at which the command's state is polled.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Interval at which it is looked whether the command was killed while one of its threads waits for its own mount.
const LOOK_FOR_HANGS_EVERY: Duration = Duration::from_secs(2);
/// Longest time until it is looked again whether a program has left its group, or an area has room: from the first, twice
/// as long each time. The end of a program is seen at once.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Programs whose end is waited for at a time.
const AT_A_TIME: usize = 64;

/// The hidden subcommand that runs [`watch`].
static SUBCOMMAND: OnceLock<&'static str> = OnceLock::new();

/// Has this program guard its commands: its subcommand of this name, with the number of a process and a state directory
/// for arguments, runs [`watch`]. Without it nothing is guarded, as in tests of this library.
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
        // SAFETY: system calls alone. The signal is blocked before the guardian can take it, so that it is not ended by
        // one that comes early.
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

fn call() -> libc::sigset_t {
    // SAFETY: an all-zero set is a valid value, and it is ours to write.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, CALL);
        set
    }
}

fn block_call() {
    let call = call();
    // SAFETY: reads the set alone.
    unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const call, std::ptr::null_mut()) };
}

/// Guards a command of terrace, which has started this process, by the journals in the directory `state`.
///
/// # Errors
/// A usage error if that process has not started this one, a failure if the state directory cannot be used.
pub fn watch(owner: u32, state: &Path) -> Result<()> {
    // SAFETY: takes integers and a static string; nothing of this process is open yet beside its standard streams.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
        libc::prctl(libc::PR_SET_NAME, c"terrace-guard".as_ptr());
    }
    let process = hold(owner).ok().filter(|_| parent_id() == owner);
    match process {
        Some(process) => follow(owner, &process, state)?,
        // It was killed before this process came to hold it, or it is not of this process.
        None if has_left_something(owner, state)? => {}
        None => {
            return Err(Error::usage(
                "terrace itself starts this command beside others; run one of those",
            ));
        }
    }
    take_back(owner, state)
}

fn has_left_something(owner: u32, state: &Path) -> Result<bool> {
    let Some(state) = State::open(state)? else {
        return Ok(false);
    };
    let left = Found::look(&state)?.leftovers;
    Ok(left.iter().any(|leftover| leftover.owner() == owner))
}

/// Waits for the end of the owner, and looks for stops when it is called to.
fn follow(owner: u32, process: &OwnedFd, state: &Path) -> Result<()> {
    let calls = calls().or_fail(|| "cannot receive signals".into())?;
    let stat = File::open(format!("/proc/{owner}/stat")).ok();
    let (mut looks, mut stopped) = (false, false);
    loop {
        let pause = match looks {
            true => LOOK_EVERY,
            false => LOOK_FOR_HANGS_EVERY,
        };
        let mut asked = vec![PollFd::new(process, PollFlags::IN)];
        if !looks {
            asked.push(PollFd::new(&calls, PollFlags::IN));
        }
        wait_for(&mut asked, Some(pause));
        let ready = |at: usize| asked.get(at).is_some_and(|it| !it.revents().is_empty());
        if ready(0) {
            return Ok(());
        }
        looks |= ready(1);
        let figures = stat.as_ref().and_then(Figures::read);
        let is = |state| figures.as_ref().is_some_and(|it| it.state == state);
        if is('Z') {
            abort_mounts(owner, state);
        }
        let now = looks && is('T');
        match (stopped, now) {
            (false, true) => put_back_for_now(owner, state),
            // A task is changed again by its owner.
            (true, false) => sysctl::carry_on(state, owner),
            _ => {}
        }
        stopped = now;
    }
}

/// Ends the mounts of the owner, which was killed and has not ended: a thread of it waits in the kernel for pages that other
/// threads would have brought, and keeps the mount from ending.
fn abort_mounts(owner: u32, path: &Path) {
    let Ok(Some(state)) = State::open(path) else {
        return;
    };
    for change in Found::changes_of(&state, owner) {
        if let Change::Mount(mountpoint) = change {
            let _ = mounts::abort(&mountpoint);
        }
    }
}

/// Returns a descriptor that can be read once this process was called.
fn calls() -> io::Result<OwnedFd> {
    block_call();
    let call = call();
    // SAFETY: reads the set; the descriptor is new, and nobody else has it.
    unsafe {
        match libc::signalfd(-1, &raw const call, libc::SFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Waits until one of the descriptors is ready, at most for this time.
fn wait_for(asked: &mut [PollFd], pause: Option<Duration>) {
    let pause = pause.and_then(|pause| Timespec::try_from(pause).ok());
    let _ = poll(asked, pause.as_ref());
}

/// Puts back what the owner, which was stopped, must not leave changed. It stays in the journal.
fn put_back_for_now(owner: u32, path: &Path) {
    let Ok(Some(state)) = State::open(path) else {
        return;
    };
    for change in Found::changes_of(&state, owner) {
        match change {
            Change::PageCluster(_) => sysctl::suspend(path, owner),
            // The owner goes on or is killed; then they are put back again.
            Change::Scheduling(tasks) => drop(put_back_all(&tasks)),
            _ => {}
        }
    }
}

/// Puts back what the owner, which has ended, has left, and what ended commands have left to it.
fn take_back(owner: u32, path: &Path) -> Result<()> {
    let mut pause = LOOK_AGAIN.0;
    loop {
        let Some(state) = State::open(path)? else {
            return Ok(());
        };
        let Some(awaited) = clean(owner, &state)? else {
            return Ok(());
        };
        let programs = match awaited {
            Awaited::Program(pid) => vec![pid],
            Awaited::Room => holders().iter().map(|holder| holder.pid).collect(),
            // A mount of another process, which has another journal, is none of this one's matters.
            // A group that stays busy is not ours to empty.
            Awaited::Mount | Awaited::Group if pause == LOOK_AGAIN.1 => return Ok(()),
            Awaited::Mount | Awaited::Group => Vec::new(),
        };
        let held: Vec<_> = programs
            .into_iter()
            .filter_map(|pid| hold(pid).ok())
            .take(AT_A_TIME)
            .collect();
        let mut asked: Vec<_> = held
            .iter()
            .map(|it| PollFd::new(it, PollFlags::IN))
            .collect();
        wait_for(&mut asked, Some(pause));
        let has_ended = asked.iter().any(|it| !it.revents().is_empty());
        pause = match has_ended {
            true => LOOK_AGAIN.0,
            false => (pause * 2).min(LOOK_AGAIN.1),
        };
        if has_ended {
            // What it had is given up in a moment, and it is still listed until its parent has asked for it.
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Cleans; returns what it has to wait for, if something is left that will be possible later.
fn clean(owner: u32, state: &State) -> Result<Option<Awaited>> {
    let is_due = |leftover: &crate::machine::journal::leftover::Leftover| {
        leftover.owner() == owner || leftover.was_left_to_others()
    };
    let _turn = state.take_turn(&mut |_| {});
    for leftover in Found::look(state)?.leftovers {
        if is_due(&leftover) {
            leftover.clean(state, &mut |_| {});
        }
    }
    let left = Found::look(state)?.leftovers.into_iter().filter(is_due);
    Ok(left.filter_map(|leftover| leftover.awaited()).next())
}
