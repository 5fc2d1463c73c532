//! Why the kernel refuses perf events, for people.

use std::fs;
use std::io;

use rustix::thread::CapabilitySet;

use super::privilege::effective;

/// Either of these capabilities allows a process to have them.
const ALLOWING: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::PERFMON);

/// Returns what to do about a refusal, as a half sentence. A process that has the privilege is
/// refused by something else: in a container, that is the profile of system calls (seccomp).
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let seccomp = status.lines().find_map(|it| it.strip_prefix("Seccomp:"));
    let is_filtered = seccomp.is_some_and(|mode| mode.trim() == "2");
    remedy_of(error, effective(), is_filtered)
}

fn remedy_of(error: &io::Error, effective: CapabilitySet, is_filtered: bool) -> &'static str {
    let refused = [libc::EPERM, libc::EACCES, libc::ENOSYS];
    let is_refused = error
        .raw_os_error()
        .is_some_and(|number| refused.contains(&number));
    match is_refused {
        false => "raise that limit, or end programs that use much of it",
        true if !effective.intersects(ALLOWING) => "run as root or with CAP_PERFMON",
        true if is_filtered => {
            "this process has the privilege, so it is the container's seccomp profile that refuses the system call \
             perf_event_open: start the container with a profile that allows it (docker run --security-opt seccomp=FILE)"
        }
        true => {
            "this process has the privilege, so its locked memory is at the limit (ulimit -l), or the kernel has none, or \
             a security module refuses them (CONFIG_PERF_EVENTS, SELinux)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_put_down_to_what_refuses() {
        let refused = io::Error::from_raw_os_error(libc::EPERM);
        let told = |effective, is_filtered| remedy_of(&refused, effective, is_filtered);
        assert!(told(CapabilitySet::empty(), true).contains("CAP_PERFMON"));
        assert!(told(CapabilitySet::all(), true).contains("seccomp profile"));
        assert!(told(CapabilitySet::PERFMON, true).contains("seccomp profile"));
        assert!(told(CapabilitySet::all(), false).contains("security module"));
        let files = io::Error::from_raw_os_error(libc::EMFILE);
        assert!(!remedy_of(&files, CapabilitySet::all(), true).contains("seccomp"));
    }
}
