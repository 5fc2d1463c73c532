//! What a program has in swap areas, counted in places of theirs.
//!
//! A page that came back keeps its place while it stays as it is. Version 2 of cgroups counts it in
//! `memory.swap.current`; version 1 counts it as memory alone, and names it as `swapcached` (on
//! Linux 6.18 both figures together were the areas' use to the page).

use std::fs;
use std::path::PathBuf;

use terrace_base::Bytes;

use crate::group::budget::Budget;
use crate::group::cgroup::{processes_in, value_of};
use crate::group::hierarchy::Version;

/// Counts what a group, with those below it, has in swap areas.
#[derive(Clone, Debug)]
pub(crate) struct SwapCounter {
    group: PathBuf,
    version: Version,
}

impl SwapCounter {
    /// Makes the counter of a group.
    pub fn of(budget: &Budget) -> Self {
        Self {
            group: budget.directories()[0].clone(),
            version: budget.version(),
        }
    }

    /// Returns what the group has there now. A kernel that does not count it by group
    /// (`swapaccount=0`) is asked by process, which leaves out shared memory.
    pub fn bytes(&self) -> Bytes {
        let by_group = match self.version {
            Version::V1 => self.by_statistics(),
            Version::V2 => self.by_file(),
        };
        by_group.unwrap_or_else(|| {
            let processes = processes_in(&self.group).into_iter();
            Bytes(processes.map(|pid| of_process(pid).0).sum())
        })
    }

    fn by_statistics(&self) -> Option<Bytes> {
        let text = fs::read_to_string(self.group.join("memory.stat")).ok()?;
        let swapped = value_of(&text, "total_swap")?;
        let cached = value_of(&text, "total_swapcached").unwrap_or(0);
        Some(Bytes(swapped + cached))
    }

    fn by_file(&self) -> Option<Bytes> {
        let text = fs::read_to_string(self.group.join("memory.swap.current")).ok()?;
        text.trim().parse().ok().map(Bytes)
    }

    /// Makes the counter of a directory with the kernel's files as plain files.
    #[cfg(test)]
    pub fn in_directory(group: PathBuf, version: Version) -> Self {
        Self { group, version }
    }
}

/// Returns how much of a process's memory is in swap: `VmSwap` (Linux, proc_pid_status(5)).
pub(crate) fn of_process(pid: u32) -> Bytes {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mut lines = status.lines();
    let kilobytes = lines.find_map(|line| line.strip_prefix("VmSwap:")?.strip_suffix("kB"));
    let kilobytes = kilobytes.and_then(|number| number.trim().parse::<u64>().ok());
    Bytes(kilobytes.unwrap_or(0) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(version: Version, file: &str, text: &str) -> Bytes {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join(file), text).unwrap();
        SwapCounter::in_directory(group.path().to_owned(), version).bytes()
    }

    #[test]
    fn places_of_pages_that_came_back_count_under_both_versions() {
        let text = "swap 1\ntotal_swap 8192\ntotal_swapcached 4096\n";
        assert_eq!(counted(Version::V1, "memory.stat", text), Bytes(12288));
        assert_eq!(
            counted(Version::V2, "memory.swap.current", "12288\n"),
            Bytes(12288)
        );
    }

    #[test]
    fn a_kernel_that_counts_by_process_alone_is_asked_so() {
        for version in [Version::V1, Version::V2] {
            assert_eq!(counted(version, "memory.stat", "total_rss 5\n"), Bytes(0));
            let own = format!("{}\n", std::process::id());
            let swapped = of_process(std::process::id());
            assert_eq!(counted(version, "cgroup.procs", &own), swapped);
        }
    }
}
