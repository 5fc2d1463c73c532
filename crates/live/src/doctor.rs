//! Checks what this machine can do and what is missing, each with the fix.

use std::borrow::Cow;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use serde::Serialize;

use crate::compare::kernel_release;
use crate::faults::FaultStream;
use crate::hierarchy::Hierarchies;
use crate::journal::leftover::{Cleaned, Found, Leftover};
use crate::journal::{State, state_directory};
use crate::pagemap::Pagemap;
use crate::{advice::Advisor, cgroup, privilege, sysctl, tier};
use terrace_base::Bytes;
use terrace_base::Result;
use terrace_policy::{Location, Memory, Page, Residence, Space};

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Works.
    Ok,
    /// Missing, and not needed by `terrace run`, but by something else.
    Optional,
    /// Missing, and needed by `terrace run`.
    Missing,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Name of what was checked.
    pub name: &'static str,
    /// Outcome.
    pub verdict: Verdict,
    /// Finding, for people.
    pub found: String,
    /// Remedy; `None` if it works.
    pub fix: Option<Cow<'static, str>>,
}

/// The oldest kernel with `process_madvise(MADV_WILLNEED)`.
const OLDEST_KERNEL: (u32, u32) = (5, 10);
/// Free space for a tier below which a remedy is named.
const ROOMY: Bytes = Bytes(4 << 30);

/// Checks everything that `terrace` needs.
pub fn examine() -> Vec<Check> {
    vec![
        kernel(),
        privileges(),
        state_is_ours(),
        memory_cgroup(),
        swap(),
        page_cluster(),
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
    fix: impl Into<Cow<'static, str>>,
) -> Check {
    Check {
        name,
        verdict: if works { Verdict::Ok } else { otherwise },
        found: found.into(),
        fix: (!works).then(|| fix.into()),
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
    let missing = privilege::missing();
    let otherwise = match missing.iter().any(|capability| capability.required) {
        true => Verdict::Missing,
        false => Verdict::Optional,
    };
    let found = match missing.as_slice() {
        [] => "all capabilities that are needed".to_owned(),
        missing => format!("without {}", privilege::list(missing)),
    };
    let fix = match privilege::is_root() {
        true => "give this root what it lacks, or run where root has it".to_owned(),
        false => format!("run as root: {}", privilege::as_root()),
    };
    check("privileges", missing.is_empty(), otherwise, found, fix)
}

fn page_cluster() -> Check {
    let current = sysctl::current().unwrap_or_default();
    let works = sysctl::may_set();
    check(
        "vm.page-cluster",
        works,
        Verdict::Optional,
        match works {
            true => format!("{current}, and may be set"),
            false => format!("{current}, and root's alone to set"),
        },
        "terrace run leaves the kernel's readahead as it is; --compare, bench and calibrate need root",
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
    let names: Vec<_> = areas.iter().map(|area| named(area)).collect();
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

/// Describes an area: its path, and its owner if that is known.
fn named(area: &Path) -> String {
    let name = area.file_name().unwrap_or_default().to_string_lossy();
    let of_a_run = name.starts_with(cgroup::PREFIX);
    let whose = if of_a_run {
        " (of a run of terrace)"
    } else {
        ""
    };
    format!("{}{whose}", area.display())
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

/// Returns the address of a page of ours that is certainly in memory.
fn own_page() -> Location {
    static HERE: u8 = 1;
    let address = &raw const HERE as u64;
    // SAFETY: reads a static of our own, so that its page is in memory.
    unsafe { std::ptr::read_volatile(&raw const HERE) };
    Location::new(Space(std::process::id()), Page::of(address))
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

fn state_is_ours() -> Check {
    let path = state_directory();
    let found = State::open(&path);
    // A missing one is made if that is allowed.
    let there = path.ancestors().find(|directory| directory.exists());
    let writable = there.is_some_and(|directory| {
        rustix::fs::accessat(CWD, directory, Access::WRITE_OK, AtFlags::EACCESS).is_ok()
    });
    let text = match &found {
        Ok(_) if writable => format!("{} may be written by us only", path.display()),
        Ok(_) => format!("{} may not be written", path.display()),
        Err(e) => e.to_string(),
    };
    check(
        "state directory",
        found.is_ok() && writable,
        Verdict::Missing,
        text,
        "run as root, or set TERRACE_STATE_DIR to a directory of your own on a disk",
    )
}

fn free_space() -> Check {
    let state = state_directory();
    // A tier would lie on the disk of the nearest directory that exists.
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
    let found = look_for_leftovers();
    let text = match &found {
        Ok(found) if found.is_empty() => "nothing left behind by a killed run".to_owned(),
        Ok(found) => {
            let changes = found.leftovers.iter().flat_map(Leftover::changes);
            let all: Vec<_> = changes.chain(found.strays.iter().cloned()).collect();
            all.join("; ")
        }
        Err(e) => e.to_string(),
    };
    let fix = match &found {
        // Cleaning leaves strays alone, and cannot read more than this check could.
        Ok(found) if found.leftovers.is_empty() => "see to it by hand",
        Ok(_) => "terrace doctor --clean",
        Err(_) => "see to it by hand",
    };
    let works = found.is_ok_and(|found| found.is_empty());
    check("leftovers", works, Verdict::Optional, text, fix)
}

fn look_for_leftovers() -> Result<Found> {
    match State::open(&state_directory())? {
        Some(state) => Found::look(&state),
        None => Ok(Found::default()),
    }
}

/// Removes what killed runs left behind; returns what was removed and what was left.
///
/// # Errors
/// A failure if the state directory cannot be used.
pub fn clean() -> Result<Cleaned> {
    let Some(state) = State::open(&state_directory())? else {
        return Ok(Cleaned::default());
    };
    let found = Found::look(&state)?;
    let mut all = Cleaned {
        done: Vec::new(),
        left: found.strays,
    };
    for leftover in found.leftovers {
        let cleaned = leftover.clean(&state);
        all.done.extend(cleaned.done);
        all.left.extend(cleaned.left);
    }
    Ok(all)
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
