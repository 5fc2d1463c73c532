//! What a guardian does: it watches its command, and puts back what the command leaves.

use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::parent_id;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use terrace_base::process::{Figures, hold};
use terrace_base::{Context, Error, Result};

use super::change::{Awaited, Change};
use super::guardian::{block_call, call};
use super::leftover::{Found, Leftover};
use super::state::State;

/// Interval at which the command's state is polled.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Interval at which it is looked whether the command was killed while one of its threads waits for
/// its own mount.
const LOOK_FOR_HANGS_EVERY: Duration = Duration::from_secs(2);
/// Longest time until it is looked again whether a program has left its group, or an area has room:
/// from the first, twice as long each time. The end of a program is seen at once.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// Programs whose end is waited for at a time.
const AT_A_TIME: usize = 64;

/// Guards a command of terrace, which has started this process, by the journals in the directory
/// `state`.
///
/// # Errors
/// A usage error if that process has not started this one, a failure if the state directory cannot
/// be used.
pub fn watch(owner: u32, state: &Path) -> Result<()> {
    // SAFETY: takes integers and a static string; nothing of this process is open yet beside its
    // standard streams.
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
            // It was killed and has not ended: a thread of it waits in the kernel for pages of its
            // own mount, which other threads would have brought.
            each_change(owner, state, |change| change.abort());
        }
        let now = looks && is('T');
        match (stopped, now) {
            (false, true) => each_change(owner, state, |it| it.suspend(state, owner)),
            (true, false) => each_change(owner, state, |it| it.resume(state, owner)),
            _ => {}
        }
        stopped = now;
    }
}

/// Does something with each change of the owner, by its journals.
fn each_change(owner: u32, path: &Path, act: impl Fn(&dyn Change)) {
    let Ok(Some(state)) = State::open(path) else {
        return;
    };
    let changes = Found::changes_of(&state, owner);
    changes.iter().for_each(|change| act(&**change));
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

/// Puts back what the owner, which has ended, has left, and what ended commands have left to it.
fn take_back(owner: u32, path: &Path) -> Result<()> {
    let mut pause = LOOK_AGAIN.0;
    loop {
        let Some(state) = State::open(path)? else {
            return Ok(());
        };
        let Some((awaited, programs)) = clean(owner, &state)? else {
            return Ok(());
        };
        // A mount of another process, which has another journal, is none of this one's matters. A
        // group that stays busy is not ours to empty.
        if matches!(awaited, Awaited::Mount | Awaited::Group) && pause == LOOK_AGAIN.1 {
            return Ok(());
        }
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
            // What it had is given up in a moment, and it is still listed until its parent has
            // asked for it.
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Cleans; returns what it has to wait for, with the processes whose end that is, if something is
/// left that will be possible later.
fn clean(owner: u32, state: &State) -> Result<Option<(Awaited, Vec<u32>)>> {
    let is_due = |leftover: &Leftover| leftover.owner() == owner || leftover.was_left_to_others();
    let _turn = state.take_turn(&mut |_| {});
    for leftover in Found::look(state)?.leftovers {
        if is_due(&leftover) {
            leftover.clean(state, &mut |_| {});
        }
    }
    let mut left = Found::look(state)?.leftovers.into_iter().filter(is_due);
    Ok(left.find_map(|leftover| {
        let awaited = leftover.awaited()?;
        let programs = leftover.programs(&awaited);
        Some((awaited, programs))
    }))
}
