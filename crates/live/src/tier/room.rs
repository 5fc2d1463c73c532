//! Whether what is in an area has room once the area is off.
//!
//! While an area is switched off the kernel reads every page in it back into memory, and charges it
//! to the group that it belongs to. Three things can go wrong, and each has its rule:
//!
//! 1. **The machine runs out of memory.** So what is in the area, and [`margin`], must be available
//!    without reclaim. Free space in other areas counts as no memory: it would only be had by
//!    reclaim, page by page, at the pace of a disk, with every program that allocates waiting in
//!    line. A machine that is short already has nothing available, and so has no room.
//! 2. **A group runs into its limit.** What comes back to a group beyond its limit has to be
//!    swapped out again at once, by the group's own reclaim; where there is no swap for it, the
//!    kernel kills in that group, and the switching off ends with ENOMEM (measured on Linux 6.18:
//!    20 ms after it began). The machine does not suffer from a reclaim of that kind, which runs in
//!    the task that switches off; so here, and only here, free space in other areas counts.
//! 3. **The count of free swap becomes negative.** The kernel takes the whole size of the area off
//!    its count of free slots first, and gives it back page by page; until then nobody can swap out
//!    unless other areas have more free than this one has in use. So for rule 2 they must have
//!    that, whatever the excess of the groups is.
//!
//! An area counts only if it stays. Those of runs are about to go, and what is pushed there would
//! have to be moved again; with little in use ([`NEGLIGIBLE`]) that does no harm, and they count.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use terrace_base::Bytes;
use terrace_base::block::Header;
use terrace_base::block::swaps::{Swap, active};

use super::swaps::NEGLIGIBLE;
use crate::group::cgroup::{groups_in, value_of};
use crate::group::hierarchy::{Mounts, Version};
use crate::system::dram;

/// Available memory that is left to programs, at least.
const SPARE: Bytes = Bytes(256 << 20);
/// The part of the machine's memory that is left to programs, if that is more.
const PART: u64 = 16;

/// What an area's pages may come to.
#[derive(Clone, Debug, Default)]
pub(super) struct Room {
    /// Memory that programs can have without swapping.
    pub available: Bytes,
    /// Memory of the machine.
    pub total: Bytes,
    /// The other areas, and whether each stays.
    pub others: Vec<(Swap, bool)>,
    /// The groups with a limit that have pages in swap.
    pub groups: Vec<Group>,
}

/// A memory cgroup with a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub directory: PathBuf,
    pub limit: Bytes,
    /// What it could have more in memory, without swapping.
    pub free: Bytes,
    /// What it has in swap, in whatever area.
    pub swapped: Bytes,
}

/// Why an area stays on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// The machine has this much available.
    Memory { available: Bytes, margin: Bytes },
    /// A group has a limit, and no other swap for what is beyond.
    Limit(Group),
}

impl Room {
    /// Looks at the machine, for the area at this path.
    pub fn look(area: &Path) -> Self {
        let others = active().into_iter().filter(|other| other.path != area);
        Self {
            available: dram::available(),
            total: dram::total(),
            others: others.map(|other| (other.clone(), stays(&other))).collect(),
            groups: limited(),
        }
    }

    /// Returns what is in the way of switching an area off with this much in use; `None` if nothing
    /// is.
    pub fn obstacle(&self, used: Bytes) -> Option<Obstacle> {
        if used == Bytes(0) {
            return None;
        }
        let margin = margin(self.total);
        if used > NEGLIGIBLE && used.0.saturating_add(margin.0) > self.available.0 {
            return Some(Obstacle::Memory {
                available: self.available,
                margin,
            });
        }
        let counts = |stays: bool| stays || used <= NEGLIGIBLE;
        let others = self.others.iter().filter(|(_, stays)| counts(*stays));
        let elsewhere: u64 = others
            .map(|(it, _)| it.size.0.saturating_sub(it.used.0))
            .sum();
        if used.0.saturating_add(NEGLIGIBLE.0) <= elsewhere {
            return None;
        }
        let mut groups = self.groups.iter();
        let overflows = |group: &&Group| group.free < group.swapped.min(used);
        groups.find(overflows).cloned().map(Obstacle::Limit)
    }
}

/// Returns the memory that stays available to programs while an area is switched off.
fn margin(total: Bytes) -> Bytes {
    SPARE.max(Bytes(total.0 / PART))
}

/// Whether an area is none of a run.
fn stays(area: &Swap) -> bool {
    // One that cannot be read may be of a run in another mount name space.
    let header = File::open(&area.path).and_then(|file| Header::read(&file));
    header.is_ok_and(|header| !header.is_some_and(|header| header.is_ours()))
}

/// Returns the groups with a limit that have pages in swap; none where there is no memory
/// controller.
fn limited() -> Vec<Group> {
    let Ok(mounts) = Mounts::find() else {
        return Vec::new();
    };
    let Some((memory, version)) = mounts.memory() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    add_limited(memory.top(), version, &mut found);
    found
}

fn add_limited(directory: &Path, version: Version, found: &mut Vec<Group>) {
    found.extend(Group::read(directory, version));
    for below in groups_in(directory) {
        add_limited(&below, version, found);
    }
}

impl Group {
    /// Reads a group; `None` if it has no limit, or nothing in swap.
    fn read(directory: &Path, version: Version) -> Option<Self> {
        let number = |name: &str| -> Option<u64> {
            let text = fs::read_to_string(directory.join(name)).ok()?;
            text.trim().parse().ok()
        };
        let (limit, used, files) = match version {
            Version::V1 => (
                "memory.limit_in_bytes",
                "memory.usage_in_bytes",
                "total_inactive_file",
            ),
            Version::V2 => ("memory.max", "memory.current", "inactive_file"),
        };
        let limit = number(limit)?;
        let used = number(used)?;
        let swapped = match version {
            Version::V1 => number("memory.memsw.usage_in_bytes")?.saturating_sub(used),
            Version::V2 => number("memory.swap.current")?,
        };
        if swapped == 0 {
            return None;
        }
        let statistics = fs::read_to_string(directory.join("memory.stat")).unwrap_or_default();
        let kept = used.saturating_sub(value_of(&statistics, files).unwrap_or(0));
        Some(Self {
            directory: directory.to_owned(),
            limit: Bytes(limit),
            free: Bytes(limit.saturating_sub(kept)),
            swapped: Bytes(swapped),
        })
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory { available, margin } => write!(
                f,
                "the machine has {available} available; {margin} of it are left to programs"
            ),
            Self::Limit(group) => write!(
                f,
                "the group {} has a limit of {} and no other swap, so the kernel would kill in it",
                group.directory.display(),
                group.limit
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mib(mib: u64) -> Bytes {
        Bytes(mib << 20)
    }

    fn machine(available: u64) -> Room {
        Room {
            available: mib(available),
            total: mib(4096),
            ..Room::default()
        }
    }

    fn area(size: u64, used: u64, stays: bool) -> (Swap, bool) {
        let swap = Swap {
            path: "/other".into(),
            size: mib(size),
            used: mib(used),
            priority: 1,
        };
        (swap, stays)
    }

    fn group(limit: u64, free: u64, swapped: u64) -> Group {
        Group {
            directory: "/sys/fs/cgroup/nb".into(),
            limit: mib(limit),
            free: mib(free),
            swapped: mib(swapped),
        }
    }

    #[test]
    fn what_is_in_an_area_fits_into_available_memory_with_a_margin() {
        assert_eq!(machine(900).obstacle(mib(600)), None);
        let short = machine(800).obstacle(mib(600)).unwrap().to_string();
        assert!(short.contains("800 MiB available"), "{short}");
        assert_eq!(machine(0).obstacle(Bytes(0)), None, "nothing is in it");
        assert_eq!(machine(0).obstacle(NEGLIGIBLE), None, "hardly anything");
        assert!(machine(0).obstacle(Bytes(NEGLIGIBLE.0 + 1)).is_some());
        assert!(machine(0).obstacle(Bytes(u64::MAX)).is_some());
    }

    #[test]
    fn free_space_of_other_areas_is_no_memory() {
        for stays in [false, true] {
            let mut short = machine(100);
            short.others.push(area(9999, 0, stays));
            assert!(matches!(
                short.obstacle(mib(600)),
                Some(Obstacle::Memory { .. })
            ));
        }
    }

    #[test]
    fn what_a_group_may_not_have_needs_an_area_that_stays() {
        let mut room = machine(4000);
        room.groups.push(group(40, 1, 560));
        let obstacle = room.obstacle(mib(560)).unwrap();
        assert!(
            obstacle.to_string().contains("a limit of 40.0 MiB"),
            "{obstacle}"
        );
        room.others.push(area(1024, 0, false));
        assert_eq!(room.obstacle(mib(560)), Some(obstacle), "it will go, too");
        assert_eq!(
            room.obstacle(NEGLIGIBLE),
            None,
            "with little that is no matter"
        );
        room.others.push(area(1024, 464, true));
        assert!(
            room.obstacle(mib(560)).is_some(),
            "not more free than is in use"
        );
        room.others.push(area(8, 0, true));
        assert_eq!(room.obstacle(mib(560)), None);
    }

    #[test]
    fn a_group_whose_pages_fit_below_its_limit_is_no_obstacle() {
        let mut room = machine(4000);
        room.groups.push(group(800, 600, 560));
        assert_eq!(room.obstacle(mib(560)), None);
        // It has more in other areas; of this one no more than is in it.
        room.groups[0] = group(800, 100, 560);
        assert_eq!(room.obstacle(mib(100)), None);
        assert!(room.obstacle(mib(101)).is_some());
    }

    #[test]
    fn groups_as_both_versions_show_them() {
        let top = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(top.path().join(name), text).unwrap();
        write("memory.limit_in_bytes", "1000\n");
        write("memory.usage_in_bytes", "700\n");
        assert_eq!(
            Group::read(top.path(), Version::V1),
            None,
            "swap is not accounted for"
        );
        write("memory.memsw.usage_in_bytes", "900\n");
        write("memory.stat", "inactive_file 1\ntotal_inactive_file 50\n");
        let first = Group::read(top.path(), Version::V1).unwrap();
        assert_eq!(
            (first.limit, first.free, first.swapped),
            (Bytes(1000), Bytes(350), Bytes(200))
        );
        write("memory.max", "max\n");
        write("memory.current", "700\n");
        write("memory.swap.current", "300\n");
        assert_eq!(
            Group::read(top.path(), Version::V2),
            None,
            "it has no limit"
        );
        write("memory.max", "1000\n");
        let second = Group::read(top.path(), Version::V2).unwrap();
        assert_eq!((second.free, second.swapped), (Bytes(301), Bytes(300)));
        write("memory.swap.current", "0\n");
        assert_eq!(Group::read(top.path(), Version::V2), None);
    }
}
