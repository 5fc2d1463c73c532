//! A systemd scope for this process, if the group in which it was started must not be split.
//!
//! systemd manages the groups of its units itself, except for those that it has delegated
//! (systemd.resource-control(5), `Delegate=`). The scope of a login session is not delegated: under
//! version 2 we have systemd make another one beside it, in the same slice, so that the limits of
//! the slice still hold. A service is split all the same, because its limits must hold for the
//! program, and stopping it must reach the program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::group::hierarchy::{Hierarchies, Version};
use terrace_base::{Context, Error, Result};

/// Directory that exists on a system booted by systemd (sd_booted(3)).
const BOOTED: &str = "/run/systemd/system";
/// Attributes of a delegated group; the second since systemd 251.
const DELEGATED: [&str; 2] = ["trusted.delegate", "user.delegate"];
/// Time that systemd may take to move this process.
const PATIENCE: Duration = Duration::from_secs(10);

/// Moves this process to a scope of its own if its present one must not be split; returns its group
/// then.
///
/// # Errors
/// A failure if systemd refuses.
pub fn enter(found: Hierarchies) -> Result<Hierarchies> {
    let needed = found.version == Version::V2
        && Path::new(BOOTED).exists()
        && is_foreign(&found.memory)
        && !is_delegated(&found.memory);
    if !needed {
        return Ok(found);
    }
    let asked = Command::new("busctl")
        .args(call(&found.memory, std::process::id()))
        .stdin(Stdio::null())
        .output();
    let answer = asked.or_fail(|| "cannot run busctl to ask systemd for a scope".into())?;
    if !answer.status.success() {
        return Err(Error::failure(format!(
            "systemd does not make a scope for the program: {}; start terrace in one \
             (systemd-run --scope -p Delegate=yes terrace ...)",
            String::from_utf8_lossy(&answer.stderr).trim()
        )));
    }
    await_move(&found)
}

/// Whether the group is a scope of the system's systemd: groups below `user@.service` belong to the
/// user's, which the system bus does not reach.
fn is_foreign(group: &Path) -> bool {
    let of_a_user = |name: &OsStr| name.as_bytes().starts_with(b"user@");
    group.extension() == Some(OsStr::new("scope")) && !group.iter().any(of_a_user)
}

fn is_delegated(group: &Path) -> bool {
    DELEGATED.iter().any(|name| {
        let mut value = [0_u8; 8];
        let length = rustix::fs::getxattr(group, *name, &mut value);
        length.is_ok_and(|length| length > 0) && value[0] == b'1'
    })
}

/// Returns the arguments of busctl that make systemd move `process` to a scope in the slice of
/// `group`.
fn call(group: &Path, process: u32) -> Vec<String> {
    let slice = group
        .parent()
        .filter(|at| at.extension() == Some(OsStr::new("slice")));
    let slice = slice.and_then(|at| at.file_name()?.to_str());
    let mut properties = format!("PIDs au 1 {process} Delegate b true");
    let count = match slice {
        Some(slice) => {
            properties += &format!(" Slice s {slice}");
            3
        }
        None => 2,
    };
    // No word has a blank in it: systemd writes one in the name of a unit as `\\x20`.
    format!(
        "call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager \
         StartTransientUnit ssa(sv)a(sa(sv)) terrace-{process}.scope fail {count} {properties} 0"
    )
    .split(' ')
    .map(str::to_owned)
    .collect()
}

/// Waits until this process has left `before`: systemd answers before it has moved it.
fn await_move(before: &Hierarchies) -> Result<Hierarchies> {
    let since = Instant::now();
    loop {
        let now = Hierarchies::find()?;
        if now.memory != before.memory {
            return Ok(now);
        }
        if since.elapsed() > PATIENCE {
            return Err(Error::failure(format!(
                "systemd has made no scope for the program within {} s; start terrace in one \
                 (systemd-run --scope -p Delegate=yes terrace ...)",
                PATIENCE.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_foreign_and_services_are_not() {
        for (group, foreign) in [
            (
                "/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope",
                true,
            ),
            ("/sys/fs/cgroup/system.slice/job.service", false),
            (
                "/sys/fs/cgroup/user.slice/user@1.service/app.slice/a.scope",
                false,
            ),
            ("/sys/fs/cgroup", false),
        ] {
            assert_eq!(is_foreign(Path::new(group)), foreign, "{group}");
        }
    }

    #[test]
    fn a_scope_is_asked_for_in_the_same_slice() {
        let session = Path::new("/sys/fs/cgroup/user.slice/user-0.slice/session-1.scope");
        let words = call(session, 7).join(" ");
        assert!(
            words.ends_with(
                "ssa(sv)a(sa(sv)) terrace-7.scope fail 3 PIDs au 1 7 Delegate b true \
                 Slice s user-0.slice 0"
            ),
            "{words}"
        );
        let words = call(Path::new("/sys/fs/cgroup/init.scope"), 7).join(" ");
        assert!(
            words.ends_with("2 PIDs au 1 7 Delegate b true 0"),
            "{words}"
        );
    }

    #[test]
    fn what_is_no_scope_of_systemd_is_left_as_it_is() {
        let found = Hierarchies {
            memory: "/sys/fs/cgroup/memory/session-1.scope".into(),
            version: Version::V1,
            perf: None,
        };
        assert_eq!(enter(found.clone()), Ok(found));
        assert!(!is_delegated(Path::new("/")));
    }
}
