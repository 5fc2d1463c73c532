//! Memory that this process can take: what the machine has free, within the limits of our cgroups.

use std::fs;
use std::path::{Path, PathBuf};

use crate::bytes::Bytes;
use crate::error::{Error, Result};

/// Memory that is left to other programs.
const SPARE: u64 = 10;

/// Mount points of memory cgroups: version 2 alone or beside others, and version 1.
const HIERARCHIES: [&str; 3] = [
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
    "/sys/fs/cgroup/memory",
];

/// Returns the memory that is free for this process: the kernel's estimate of what programs can
/// take without swapping, and at most what each of our memory cgroups leaves.
pub fn available() -> Bytes {
    let machine = meminfo("MemAvailable:").unwrap_or(Bytes(u64::MAX));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let directories = groups.lines().flat_map(directories);
    directories
        .filter_map(|group| room(&group))
        .fold(machine, Bytes::min)
}

/// Returns the machine's memory.
pub fn total() -> Bytes {
    meminfo("MemTotal:").unwrap_or(Bytes(u64::MAX))
}

/// Checks that `bytes`, and a reserve, are free before they are allocated for `what`.
///
/// # Errors
/// Returns a failure that says how much is needed, and how much there is.
pub fn require(bytes: Bytes, what: &str) -> Result<()> {
    let free = available();
    if bytes.0 <= free.0 - free.0 / SPARE {
        return Ok(());
    }
    Err(Error::failure(format!(
        "{what} would take {bytes} of memory, and {free} are free here; ask for less"
    )))
}

/// Returns a value of `/proc/meminfo`, which counts in KiB: `key` ends in a colon.
pub fn meminfo(key: &str) -> Option<Bytes> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(Bytes(kilobytes * 1024))
}

/// Returns the directories of the group that a line of `/proc/self/cgroup` names, and of its
/// ancestors.
fn directories(line: &str) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
        return Vec::new();
    };
    if !controllers.is_empty() && !controllers.split(',').any(|name| name == "memory") {
        return Vec::new();
    }
    let group = Path::new(path.trim_start_matches('/'));
    let levels = group.ancestors();
    levels
        .flat_map(|level| HIERARCHIES.map(|root| Path::new(root).join(level)))
        .collect()
}

/// Returns what a group may still take: its limit less what it uses and cannot give back at once.
fn room(group: &Path) -> Option<Bytes> {
    let number = |name: &str| -> Option<u64> {
        fs::read_to_string(group.join(name))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    let limit = number("memory.max").or_else(|| number("memory.limit_in_bytes"))?;
    let used = number("memory.current").or_else(|| number("memory.usage_in_bytes"))?;
    let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| -> Option<u64> {
        let line = stat.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse().ok()
    };
    let files = field("total_inactive_file ").or_else(|| field("inactive_file "));
    let kept = used.saturating_sub(files.unwrap_or(0));
    Some(Bytes(limit.saturating_sub(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_memory_and_not_without_end() {
        assert!(available() > Bytes(1 << 20));
        assert!(available() <= meminfo("MemTotal:").unwrap());
        require(Bytes(1 << 20), "a test").unwrap();
        let error = require(Bytes(1 << 60), "a test").unwrap_err().to_string();
        assert!(
            error.starts_with("a test would take 1.00 EiB of memory, and "),
            "{error}"
        );
    }

    #[test]
    fn groups_of_both_versions_and_those_above() {
        let memory = directories("4:cpu,memory:/a/b");
        for directory in ["/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a"] {
            assert!(memory.contains(&PathBuf::from(directory)), "{memory:?}");
        }
        let unified = directories("0::/a:b");
        assert!(unified.contains(&PathBuf::from("/sys/fs/cgroup/a:b")));
        assert_eq!(directories("3:cpu:/a"), Vec::<PathBuf>::new());
        assert_eq!(directories(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_group_leaves_its_limit_less_what_it_keeps() {
        let group = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(group.path().join(name), text).unwrap();
        assert_eq!(room(group.path()), None);
        write("memory.current", "700\n");
        write("memory.max", "max\n");
        assert_eq!(room(group.path()), None);
        write("memory.max", "1000\n");
        assert_eq!(room(group.path()), Some(Bytes(300)));
        write("memory.stat", "anon 500\ninactive_file 200\n");
        assert_eq!(room(group.path()), Some(Bytes(500)));
    }
}
