//! How much of a service is in DRAM and in the tier.

use std::fs;
use std::path::{Path, PathBuf};

use terrace_base::Bytes;

use super::pages::field;
use crate::group::cgroup::value_of;
use crate::group::hierarchy::Version;
use crate::group::members::Member;

/// What counts the memory of a service.
#[derive(Clone, Debug)]
pub(super) enum Memory {
    /// The kernel, by group.
    Group {
        directory: PathBuf,
        version: Version,
    },
    /// We, process by process: shared memory is left out, and what a fork shares counts twice.
    Processes,
}

/// The memory of a service that a tier can hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Held {
    /// In DRAM, each page once.
    pub resident: Bytes,
    /// In the tier alone.
    pub swapped: Bytes,
    /// Places in the tier, with those of pages that are in DRAM as well.
    pub places: Bytes,
}

impl Memory {
    /// Returns what counts a group; by process if the kernel does not count its swap.
    pub fn of_group(directory: PathBuf, version: Version) -> Self {
        match by_group(&directory, version) {
            Some(_) => Self::Group { directory, version },
            None => Self::Processes,
        }
    }

    /// Counts. `cached` is the memory of processes that is out of their page tables and in DRAM.
    pub fn held(&self, members: &[Member], cached: impl FnOnce() -> Bytes) -> Held {
        match self {
            Self::Group { directory, version } => by_group(directory, *version).unwrap_or_default(),
            Self::Processes => {
                let sum = |name| members.iter().map(|it| field(it.pid, name).0).sum::<u64>();
                let (resident, out) = (sum("RssAnon:"), sum("VmSwap:"));
                let cached = cached().0.min(out);
                Held {
                    resident: Bytes(resident + cached),
                    swapped: Bytes(out - cached),
                    places: Bytes(out),
                }
            }
        }
    }

    /// Returns the directory of the group that counts.
    pub fn group(&self) -> Option<(&Path, Version)> {
        match self {
            Self::Group { directory, version } => Some((directory, *version)),
            Self::Processes => None,
        }
    }
}

/// Reads a group's figures. Its lists of anonymous pages have each page of DRAM once, also those
/// that are in the swap cache alone. Version 1 counts in `total_swap` what is in the tier alone.
fn by_group(directory: &Path, version: Version) -> Option<Held> {
    let text = fs::read_to_string(directory.join("memory.stat")).ok()?;
    let value = |name: &str| {
        let name = match version {
            Version::V1 => format!("total_{name}"),
            Version::V2 => name.to_owned(),
        };
        value_of(&text, &name)
    };
    let lists = ["inactive_anon", "active_anon", "unevictable"];
    let lists: Option<Vec<u64>> = lists.into_iter().map(value).collect();
    let cached = value("swapcached").unwrap_or(0);
    let (swapped, places) = match version {
        Version::V1 => {
            let swapped = value("swap")?;
            (swapped, swapped + cached)
        }
        Version::V2 => {
            let places = fs::read_to_string(directory.join("memory.swap.current")).ok()?;
            let places: u64 = places.trim().parse().ok()?;
            (places.saturating_sub(cached), places)
        }
    };
    Some(Held {
        resident: Bytes(lists?.into_iter().sum()),
        swapped: Bytes(swapped),
        places: Bytes(places),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(version: Version, stat: &str, current: &str) -> Held {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("memory.stat"), stat).unwrap();
        fs::write(group.path().join("memory.swap.current"), current).unwrap();
        let memory = Memory::of_group(group.path().to_owned(), version);
        assert!(memory.group().is_some());
        memory.held(&[], || unreachable!("the group counts"))
    }

    #[test]
    fn a_page_in_dram_and_tier_is_in_dram_under_both_versions() {
        let expected = Held {
            resident: Bytes(6000),
            swapped: Bytes(300),
            places: Bytes(1000),
        };
        let first = "inactive_anon 1\ntotal_inactive_anon 1000\ntotal_active_anon 4000\n\
                     total_unevictable 1000\ntotal_swap 300\ntotal_swapcached 700\n";
        assert_eq!(held(Version::V1, first, ""), expected);
        let second = "inactive_anon 1000\nactive_anon 4000\nunevictable 1000\nswapcached 700\n";
        assert_eq!(held(Version::V2, second, "1000\n"), expected);
    }

    #[test]
    fn a_group_whose_swap_is_not_counted_is_counted_by_process() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("memory.stat"), "total_rss 5\n").unwrap();
        for version in [Version::V1, Version::V2] {
            let memory = Memory::of_group(group.path().to_owned(), version);
            assert!(memory.group().is_none());
            let none = memory.held(&[], || Bytes(5));
            assert_eq!(none, Held::default(), "no process, no pages on trial");
        }
    }
}
