//! What this machine can do, and what is missing, with the fix.

use std::path::Path;

use serde::Serialize;

use crate::budget::Hierarchies;
use crate::compare::kernel_release;
use crate::faults::FaultStream;
use crate::journal::{Leftover, state_directory};
use crate::pagemap::Pagemap;
use crate::{advice::Advisor, privilege, tier};
use terrace_base::Bytes;
use terrace_base::Result;
use terrace_policy::{Location, Memory, PAGE_BYTES, Page, Residence, Space};

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It works.
    Ok,
    /// `terrace run` works without it; something else does not.
    Optional,
    /// `terrace run` does not work without it.
    Missing,
}

/// One thing that was looked at.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// What.
    pub name: &'static str,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do about it; none where it works.
    pub fix: Option<&'static str>,
}

/// The oldest kernel with `process_madvise(MADV_WILLNEED)`.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
/// Less free space for a tier than this is worth a word.
const ROOMY: Bytes = Bytes(4 << 30);

/// Looks at everything that `terrace` needs.
pub fn examine() -> Vec<Check> {
    vec![
        kernel(),
        privileges(),
        memory_cgroup(),
        swap(),
        zram(),
        perf_events(),
        pagemap(),
        process_madvise(),
        userfaultfd(),
        qemu_user(),
        free_space(),
        leftovers(),
    ]
}

fn check(
    name: &'static str,
    works: bool,
    otherwise: Verdict,
    found: impl Into<String>,
    fix: &'static str,
) -> Check {
    Check {
        name,
        verdict: if works { Verdict::Ok } else { otherwise },
        found: found.into(),
        fix: (!works).then_some(fix),
    }
}

fn kernel() -> Check {
    let release = kernel_release();
    let new_enough = parse_release(&release).is_some_and(|version| version >= OLDEST_KERNEL);
    check(
        "kernel",
        new_enough,
        Verdict::Missing,
        format!("Linux {release}"),
        "boot Linux 5.10 or later",
    )
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn privileges() -> Check {
    let missing: Vec<_> = privilege::missing().iter().map(|c| c.name).collect();
    let found = if missing.is_empty() {
        "all capabilities that are needed".to_owned()
    } else {
        format!("{} missing", missing.join(", "))
    };
    check(
        "privileges",
        missing.is_empty(),
        Verdict::Missing,
        found,
        "run as root (sudo terrace ...)",
    )
}

fn memory_cgroup() -> Check {
    let found = Hierarchies::find();
    let text = match &found {
        Ok(h) if h.perf.is_none() => "memory, but none that filters perf events".into(),
        Ok(h) => format!("version {} at {}", h.version.number(), h.memory.display()),
        Err(e) => e.to_string(),
    };
    check(
        "memory cgroup",
        found.is_ok_and(|h| h.perf.is_some()),
        Verdict::Missing,
        text,
        "mount cgroup2 on /sys/fs/cgroup (mount -t cgroup2 none /sys/fs/cgroup)",
    )
}

fn swap() -> Check {
    let areas = tier::active_areas();
    let names: Vec<_> = areas.iter().map(|a| a.display().to_string()).collect();
    let found = match names.as_slice() {
        [] => "in the kernel; nothing is swapped to now".to_owned(),
        names => format!("in the kernel; swapping to {} now", names.join(", ")),
    };
    let works = Path::new("/proc/swaps").exists();
    check(
        "swap",
        works,
        Verdict::Missing,
        if works {
            found
        } else {
            "not in the kernel".into()
        },
        "boot a kernel with CONFIG_SWAP",
    )
}

fn zram() -> Check {
    let works =
        Path::new("/sys/class/zram-control").exists() || Path::new("/sys/block/zram0").exists();
    check(
        "zram",
        works,
        Verdict::Optional,
        if works {
            "there, for --tier zram"
        } else {
            "not there"
        },
        "modprobe zram",
    )
}

fn perf_events() -> Check {
    let opened = Hierarchies::find().and_then(|h| {
        let directory = h.perf.unwrap_or(h.memory);
        FaultStream::open(&directory)
    });
    let found = match &opened {
        Ok(_) => "page-fault events of a cgroup can be sampled".to_owned(),
        Err(e) => e.to_string(),
    };
    check(
        "perf software events",
        opened.is_ok(),
        Verdict::Missing,
        found,
        "run as root or with CAP_PERFMON; without them only --prefetch off works",
    )
}

/// A page of our own that is certainly in memory.
fn own_page() -> Location {
    static HERE: u8 = 1;
    let address = &raw const HERE as u64;
    // SAFETY: reads a static of our own, so that its page is in memory.
    unsafe { std::ptr::read_volatile(&raw const HERE) };
    Location::new(Space(std::process::id()), Page(address / PAGE_BYTES))
}

fn pagemap() -> Check {
    let works = Pagemap::default().residence(own_page()) == Residence::InMemory;
    check(
        "pagemap",
        works,
        Verdict::Missing,
        if works {
            "readable"
        } else {
            "/proc/PID/pagemap cannot be read"
        },
        "boot a kernel with CONFIG_PROC_PAGE_MONITOR",
    )
}

fn process_madvise() -> Check {
    let own = own_page();
    let result = Advisor::default().will_need(own.space, &mut [own.page]);
    check(
        "process_madvise",
        result.is_ok(),
        Verdict::Missing,
        result.map_or_else(|e| e.to_string(), |()| "works".into()),
        "boot Linux 5.10 or later with CONFIG_ADVISE_SYSCALLS, and run as root",
    )
}

fn userfaultfd() -> Check {
    // SAFETY: takes flags, returns a descriptor, touches no memory of ours.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC) };
    let works = fd >= 0;
    if works {
        // SAFETY: the descriptor was given to us just now and nobody else has it.
        unsafe { libc::close(fd as libc::c_int) };
    }
    check(
        "userfaultfd",
        works,
        Verdict::Optional,
        if works { "works" } else { "refused" },
        "not needed by terrace run; allow it with sysctl vm.unprivileged_userfaultfd=1",
    )
}

fn qemu_user() -> Check {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|directory| directory.join("qemu-x86_64"))
        .find(|candidate| candidate.exists());
    check(
        "qemu-user",
        found.is_some(),
        Verdict::Optional,
        found.map_or("not there".into(), |path| path.display().to_string()),
        "not needed by terrace run; it records programs (apt-get install qemu-user)",
    )
}

fn free_space() -> Check {
    let state = state_directory();
    // The nearest directory that exists is the one whose disk a tier would be on.
    let existing = state.ancestors().find(|directory| directory.is_dir());
    let free = existing.and_then(|directory| tier::free_space(directory).ok());
    let found = match free {
        Some(free) => format!("{free} free for a tier in {}", state.display()),
        None => format!("cannot look at {}", state.display()),
    };
    check(
        "free space",
        free.is_some_and(|free| free >= ROOMY),
        Verdict::Optional,
        found,
        "free some, or name a directory on a larger disk with --tier",
    )
}

fn leftovers() -> Check {
    let state = state_directory();
    let found = Leftover::find(&state);
    let text = match &found {
        Ok(left) if left.is_empty() => "nothing left behind by a killed run".to_owned(),
        Ok(left) => left
            .iter()
            .flat_map(Leftover::changes)
            .collect::<Vec<_>>()
            .join(", "),
        Err(e) => e.to_string(),
    };
    check(
        "leftovers",
        found.is_ok_and(|left| left.is_empty()),
        Verdict::Optional,
        text,
        "terrace doctor --clean",
    )
}

/// Removes what killed runs left behind; says in a line each what it did.
///
/// # Errors
/// A failure where something cannot be removed.
pub fn clean() -> Result<Vec<String>> {
    let clean = |leftover: Leftover| {
        let changes = leftover.changes().join(", ");
        let running = leftover.processes().first().copied();
        leftover.clean()?;
        Ok(match running {
            None => format!("put back: {changes}"),
            Some(process) => format!(
                "the program of a killed run still runs (process {process}) and keeps its cgroup \
                 and tier; clean again when it has ended"
            ),
        })
    };
    let leftovers = Leftover::find(&state_directory())?;
    leftovers.into_iter().map(clean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_releases() {
        assert_eq!(parse_release("6.1.0-30-amd64"), Some((6, 1)));
        assert_eq!(parse_release("5.10"), Some((5, 10)));
        assert_eq!(parse_release("x"), None);
    }

    #[test]
    fn every_failed_check_names_its_fix() {
        for check in examine() {
            assert_eq!(
                check.verdict == Verdict::Ok,
                check.fix.is_none(),
                "{check:?}"
            );
            assert!(!check.found.is_empty(), "{check:?}");
        }
    }
}
