//! Processes that are not our children. The kernel can reuse their numbers at any time, so they are
//! held by a pidfd before a signal is sent.

use std::os::fd::OwnedFd;
use std::{fs, io};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Processes held at a time: fewer than the limit of open files.
const AT_A_TIME: usize = 256;

/// Opens a pidfd of a process; `None` if it has ended.
pub fn hold(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// Returns the start time of a process, in clock ticks since boot (Linux, proc_pid_stat(5), field
/// 22); `None` if there is no such process.
pub fn started(pid: u32) -> io::Result<Option<u64>> {
    let stat = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat,
        Err(e) if is_gone(&e) => return Ok(None),
        Err(e) => return Err(e),
    };
    // The second field is the program's name, which may contain anything.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let started = fields.split_whitespace().nth(19);
    Ok(started.and_then(|ticks| ticks.parse().ok()))
}

/// Whether a file of a process cannot be read because the process has ended.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
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
            .filter_map(|&pid| Some((pid, hold(pid)?)))
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
        assert!(hold(second).is_none(), "it has ended");
    }
}
