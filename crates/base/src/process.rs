//! Processes that are not our children. The kernel can reuse their numbers at any time, so they are
//! held by a pidfd before a signal is sent.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Processes held at a time: fewer than the limit of open files.
const AT_A_TIME: usize = 256;

/// Opens a pidfd of a process.
///
/// # Errors
/// Returns the reason of the system: the process has ended (`ESRCH`), or too many files are open.
pub fn hold(pid: u32) -> io::Result<OwnedFd> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    Ok(pidfd_open(pid.ok_or(Errno::SRCH)?, PidfdFlags::empty())?)
}

/// The flag of a task that the kernel takes apart (`PF_EXITING`, linux/sched.h).
const EXITING: u64 = 4;

/// Figures of a process (Linux, proc_pid_stat(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Its state: `R` (it runs or wants to), `S`, `D`, `T` and their like.
    pub state: char,
    /// Whether it has ended and only waits for its parent to ask for it.
    pub has_ended: bool,
    /// Whether it is about to end: the kernel takes it apart.
    pub is_ending: bool,
    /// Its parent.
    pub parent: u32,
    /// Minor faults of all its threads: those that waited for no read.
    pub minor_faults: u64,
    /// Major faults of all its threads.
    pub major_faults: u64,
    /// Start time, in clock ticks since boot.
    pub started: u64,
    /// Pages in memory.
    pub resident: u64,
}

impl Figures {
    /// Returns the figures of a process, or of a thread by its number; `None` if there is none.
    ///
    /// # Errors
    /// The kernel's, such as one for want of descriptors.
    pub fn of(pid: u32) -> io::Result<Option<Self>> {
        match File::open(format!("/proc/{pid}/stat")) {
            Ok(stat) => Ok(Self::read(&stat)),
            Err(e) if is_gone(&e) => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Returns the figures from the open `stat` file of a process or thread; `None` if it has
    /// ended.
    pub fn read(stat: &File) -> Option<Self> {
        let mut text = [0u8; 1024];
        let length = stat.read_at(&mut text, 0).ok()?;
        Self::parse(&String::from_utf8_lossy(&text[..length]))
    }

    fn parse(stat: &str) -> Option<Self> {
        // The second field is the program's name, which may contain anything.
        let (_, fields) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        // The state is field 3.
        let number = |field: usize| fields.get(field - 3)?.parse().ok();
        Some(Self {
            state: fields.first()?.chars().next()?,
            has_ended: matches!(fields.first(), Some(&("Z" | "X"))),
            is_ending: number(9)? & EXITING != 0,
            parent: u32::try_from(number(4)?).ok()?,
            minor_faults: number(10)?,
            major_faults: number(12)?,
            started: number(22)?,
            resident: number(24)?,
        })
    }
}

/// Returns the start time of a process, in clock ticks since boot; `None` if there is no such
/// process.
pub fn started(pid: u32) -> io::Result<Option<u64>> {
    Ok(Figures::of(pid)?.map(|process| process.started))
}

/// Whether a file of a process cannot be read because the process has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// Whether a held process has ended; it may still wait for its parent to ask for it.
pub fn has_ended(process: &OwnedFd) -> bool {
    let mut asked = [PollFd::new(process, PollFlags::IN)];
    poll(&mut asked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Sends a signal to a held process; nothing happens if it has ended.
pub fn signal(process: &OwnedFd, signal: i32) {
    if let Some(signal) = Signal::from_named_raw(signal) {
        let _ = pidfd_send_signal(process, signal);
    }
}

/// Sends a signal to all processes that `list` names both before and after they are held: a number
/// that the kernel reused in between is no longer listed.
pub fn signal_all(list: &dyn Fn() -> Vec<u32>, number: i32) {
    for pids in list().chunks(AT_A_TIME) {
        let held: Vec<_> = pids
            .iter()
            .filter_map(|&pid| Some((pid, hold(pid).ok()?)))
            .collect();
        let still = list();
        for (_, process) in held.iter().filter(|(pid, _)| still.contains(pid)) {
            signal(process, number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn figures_come_after_a_name_that_may_be_anything() {
        let stat = "7 (a) Z 1 (b) S 4 7 7 0 -1 0 100 0 12 0 1 2 0 0 20 0 1 0 2233 4096 55 99";
        let expected = Figures {
            state: 'S',
            has_ended: false,
            is_ending: false,
            parent: 4,
            minor_faults: 100,
            major_faults: 12,
            started: 2233,
            resident: 55,
        };
        assert_eq!(Figures::parse(stat), Some(expected));
        let ending = Figures::parse(&stat.replace("-1 0 100", "-1 1028 100")).unwrap();
        assert!(ending.is_ending);
        assert_eq!(Figures::parse("7 (a) S 4"), None);
        let own = Figures::of(std::process::id()).unwrap().unwrap();
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(own.resident > 0 && own.started > 0 && !own.has_ended);
        assert_eq!(Figures::of(u32::MAX).unwrap(), None);
    }

    #[test]
    fn what_is_named_once_only_is_left_alone() {
        let sleeper = || Command::new("sleep").arg("60").spawn().unwrap();
        let (mut ours, mut another) = (sleeper(), sleeper());
        let (first, second) = (ours.id(), another.id());
        let asked = Cell::new(0);
        let list = || {
            asked.set(asked.get() + 1);
            match asked.get() {
                1 => vec![first, second],
                _ => vec![first],
            }
        };
        signal_all(&list, libc::SIGTERM);
        assert_eq!(ours.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert!(another.try_wait().unwrap().is_none());
        signal(&hold(second).unwrap(), libc::SIGKILL);
        assert_eq!(another.wait().unwrap().signal(), Some(libc::SIGKILL));
        assert!(hold(second).is_err(), "it has ended");
    }
}
