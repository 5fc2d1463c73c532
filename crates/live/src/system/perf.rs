//! Why the kernel refuses perf events, for people.

use std::fs;
use std::io;

/// Capabilities by which any process may have them (linux/capability.h).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;

/// Returns what to do about a refusal, as a half sentence. A process that has the privilege is refused by
/// something else: in a container, that is the profile of system calls (seccomp).
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    remedy_in(error, &status)
}

fn remedy_in(error: &io::Error, status: &str) -> &'static str {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map_or("", str::trim)
    };
    let effective = u64::from_str_radix(field("CapEff:"), 16).unwrap_or(0);
    let has = |capability: u32| effective >> capability & 1 == 1;
    let refused = [libc::EPERM, libc::EACCES, libc::ENOSYS];
    let is_refused = error
        .raw_os_error()
        .is_some_and(|number| refused.contains(&number));
    match is_refused {
        false => "raise that limit, or end programs that use much of it",
        true if !has(CAP_SYS_ADMIN) && !has(CAP_PERFMON) => "run as root or with CAP_PERFMON",
        true if field("Seccomp:") == "2" => {
            "this process has the privilege, so it is the container's seccomp profile that refuses the system call \
             perf_event_open: start the container with a profile that allows it (docker run --security-opt seccomp=FILE)"
        }
        true => {
            "this process has the privilege, so the kernel has none, or a security module refuses them \
             (CONFIG_PERF_EVENTS, SELinux)"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_put_down_to_what_refuses() {
        let status = |capabilities: u64, seccomp: u32| {
            format!("CapEff:\t{capabilities:016x}\nNoNewPrivs:\t0\nSeccomp:\t{seccomp}\n")
        };
        let refused = io::Error::from_raw_os_error(libc::EPERM);
        let root = u64::MAX >> 24;
        let told = |status: &str| remedy_in(&refused, status);
        assert!(told(&status(0, 2)).contains("CAP_PERFMON"));
        assert!(told(&status(root, 2)).contains("seccomp profile"));
        assert!(told(&status(1 << CAP_PERFMON, 2)).contains("seccomp profile"));
        assert!(told(&status(root, 0)).contains("security module"));
        let files = io::Error::from_raw_os_error(libc::EMFILE);
        assert!(!remedy_in(&files, &status(root, 2)).contains("seccomp"));
    }
}
