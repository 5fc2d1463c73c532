//! The DRAM budget: a memory cgroup, of version 1 or 2. It bounds what goes to the tier too:
//! other swap areas of the machine, another run's among them, are not this program's to fill.
//!
//! Where the memory controller is of version 1, perf events are filtered by another hierarchy
//! (its own, or version 2's), so the program joins a group in each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_base::Bytes;
use terrace_base::{Context, Error, Result};

/// Every group of ours begins so.
pub const PREFIX: &str = "terrace-";

/// The two interfaces of the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `memory.limit_in_bytes`.
    V1,
    /// `memory.max`.
    V2,
}

impl Version {
    /// 1 or 2.
    pub fn number(self) -> u32 {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// Where the hierarchies are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    /// The one with the memory controller.
    pub memory: PathBuf,
    /// Its version.
    pub version: Version,
    /// The one by which perf events can be filtered.
    pub perf: Option<PathBuf>,
}

impl Hierarchies {
    /// Finds them among this machine's mounts.
    ///
    /// # Errors
    /// A failure where there is no memory controller.
    pub fn find() -> Result<Self> {
        let mounts = "/proc/self/mounts";
        let text = fs::read_to_string(mounts).or_fail(|| format!("cannot read {mounts}"))?;
        Self::among(&text).ok_or_else(|| {
            Error::failure(
                "no memory cgroup controller is to be had; mount cgroup2 on /sys/fs/cgroup \
                 (mount -t cgroup2 none /sys/fs/cgroup), and boot without cgroup_disable=memory",
            )
        })
    }

    fn among(mounts: &str) -> Option<Self> {
        let mut memory_v1 = None;
        let mut perf_v1 = None;
        let mut unified = None;
        for line in mounts.lines() {
            let mut fields = line.split(' ').skip(1);
            let (Some(path), Some(kind), Some(options)) =
                (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let path = PathBuf::from(path);
            match kind {
                "cgroup2" => {
                    unified.get_or_insert(path);
                }
                "cgroup" if options.split(',').any(|o| o == "memory") => memory_v1 = Some(path),
                "cgroup" if options.split(',').any(|o| o == "perf_event") => perf_v1 = Some(path),
                _ => {}
            }
        }
        let perf = perf_v1.or(unified.clone());
        if let Some(memory) = memory_v1 {
            return Some(Self {
                memory,
                version: Version::V1,
                perf,
            });
        }
        let memory = unified?;
        let controllers = fs::read_to_string(memory.join("cgroup.controllers")).ok()?;
        controllers
            .split_whitespace()
            .any(|c| c == "memory")
            .then_some(Self {
                memory,
                version: Version::V2,
                perf,
            })
    }
}

/// What the group has used so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Anonymous and shared memory in DRAM.
    pub resident: Bytes,
    /// Memory in the tier only.
    pub swapped: Bytes,
    /// The kernel's own for it, page tables above all; where the kernel says so.
    pub kernel: Bytes,
    /// Anonymous memory in huge pages.
    pub huge: Bytes,
    /// Page faults of all kinds.
    pub faults: u64,
    /// Those among them that waited for a read.
    pub major_faults: u64,
}

/// What a program may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// DRAM.
    pub dram: Bytes,
    /// The tier behind it; none where it is the machine's own swap.
    pub tier: Option<Bytes>,
}

/// A memory cgroup of our own; removed when dropped.
#[derive(Debug)]
pub struct Budget {
    groups: Vec<PathBuf>,
    version: Version,
}

impl Budget {
    /// Makes the group `name` with these limits, or none.
    ///
    /// # Errors
    /// A failure where the group cannot be made or a limit is refused.
    pub fn create(found: &Hierarchies, name: &str, limits: Option<Limits>) -> Result<Self> {
        let mut budget = Self {
            groups: Vec::new(),
            version: found.version,
        };
        for directory in directories(found, name) {
            fs::create_dir(&directory).map_err(|e| {
                Error::failure(format!(
                    "cannot make the cgroup {}: {e}; run as root, or where cgroups may be made",
                    directory.display()
                ))
            })?;
            budget.groups.push(directory);
        }
        if found.version == Version::V2 {
            enable_memory(&found.memory)?;
        }
        if let Some(limits) = limits {
            budget.limit(limits)?;
        }
        Ok(budget)
    }

    fn limit(&self, limits: Limits) -> Result<()> {
        let dram = match self.version {
            Version::V1 => "memory.limit_in_bytes",
            Version::V2 => "memory.max",
        };
        self.set(dram, limits.dram)?;
        // Version 1 counts DRAM and swap together.
        let swap = limits.tier.map(|tier| match self.version {
            Version::V1 => (
                "memory.memsw.limit_in_bytes",
                Bytes(limits.dram.0.saturating_add(tier.0)),
            ),
            Version::V2 => ("memory.swap.max", tier),
        });
        match swap {
            // A kernel that does not account for swap (swapaccount=0) has no such file.
            Some((file, limit)) if self.memory().join(file).exists() => self.set(file, limit),
            _ => Ok(()),
        }
    }

    fn set(&self, file: &str, limit: Bytes) -> Result<()> {
        let file = self.memory().join(file);
        fs::write(&file, limit.0.to_string())
            .or_fail(|| format!("cannot set a limit of {limit} in {}", file.display()))
    }

    /// The files that a process writes `0` to in order to join.
    pub fn entrances(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|g| g.join("cgroup.procs")).collect()
    }

    /// The group's directories.
    pub fn directories(&self) -> &[PathBuf] {
        &self.groups
    }

    /// The directory by which perf events can be filtered.
    pub fn watched(&self) -> &Path {
        &self.groups[self.groups.len() - 1]
    }

    fn memory(&self) -> &Path {
        &self.groups[0]
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.memory().join(file)).ok()
    }

    /// What it uses now. All zero where the kernel's files cannot be read.
    pub fn usage(&self) -> Usage {
        let stat = self.read("memory.stat").unwrap_or_default();
        let value = |key| value_of(&stat, key).unwrap_or(0);
        match self.version {
            Version::V1 => Usage {
                resident: Bytes(value("total_rss") + value("total_shmem")),
                swapped: Bytes(value("total_swap").saturating_sub(value("total_swapcached"))),
                kernel: Bytes(self.number("memory.kmem.usage_in_bytes").unwrap_or(0)),
                huge: Bytes(value("total_rss_huge")),
                faults: value("total_pgfault"),
                major_faults: value("total_pgmajfault"),
            },
            Version::V2 => Usage {
                resident: Bytes(value("anon") + value("shmem")),
                swapped: Bytes(
                    self.number("memory.swap.current")
                        .unwrap_or(0)
                        .saturating_sub(value("swapcached")),
                ),
                kernel: Bytes(value("kernel")),
                huge: Bytes(value("anon_thp")),
                faults: value("pgfault"),
                major_faults: value("pgmajfault"),
            },
        }
    }

    /// The most DRAM it ever had charged, page cache included. Linux before 5.19 does not say
    /// so under version 2.
    pub fn peak(&self) -> Option<Bytes> {
        let file = match self.version {
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
        };
        self.number(file).map(Bytes)
    }

    /// Processes that the kernel killed for exceeding budget plus tier.
    pub fn oom_kills(&self) -> u64 {
        let file = match self.version {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        };
        let text = self.read(file).unwrap_or_default();
        value_of(&text, "oom_kill").unwrap_or(0)
    }

    /// The processes in it.
    pub fn processes(&self) -> Vec<u32> {
        processes_in(self.memory())
    }

    fn number(&self, file: &str) -> Option<u64> {
        self.read(file)?.trim().parse().ok()
    }
}

impl Drop for Budget {
    fn drop(&mut self) {
        for group in &self.groups {
            // What cannot be removed now stays in the journal for `terrace doctor --clean`.
            let _ = remove(group);
        }
    }
}

/// The groups that a budget called `name` has: memory first, the watched one last.
pub fn directories(found: &Hierarchies, name: &str) -> Vec<PathBuf> {
    let memory = found.memory.join(name);
    let perf = found.perf.as_ref().map(|root| root.join(name));
    let perf = perf.filter(|perf| *perf != memory);
    std::iter::once(memory).chain(perf).collect()
}

/// The processes in the group at `directory`; none where it does not exist.
pub fn processes_in(directory: &Path) -> Vec<u32> {
    fs::read_to_string(directory.join("cgroup.procs"))
        .unwrap_or_default()
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

/// Removes a group that has no processes.
///
/// # Errors
/// The kernel's, `EBUSY` where processes are left.
pub fn remove(directory: &Path) -> io::Result<()> {
    let mut last = Ok(());
    // A process that has just been waited for may take the kernel a moment to clear away.
    for _ in 0..50 {
        last = fs::remove_dir(directory);
        match &last {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            _ => break,
        }
    }
    last
}

fn enable_memory(root: &Path) -> Result<()> {
    let control = root.join("cgroup.subtree_control");
    let enabled = fs::read_to_string(&control).unwrap_or_default();
    if enabled.split_whitespace().any(|c| c == "memory") {
        return Ok(());
    }
    fs::write(&control, "+memory").or_fail(|| {
        format!(
            "cannot enable the memory controller in {}",
            control.display()
        )
    })
}

/// The number behind `key` in lines of `key number`.
fn value_of(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(' ')?;
        (name == key).then(|| value.trim().parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_one_with_a_unified_hierarchy_beside_it() {
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n\
                      cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";
        let found = Hierarchies::among(mounts).unwrap();
        assert_eq!(found.version, Version::V1);
        assert_eq!(
            directories(&found, "terrace-7"),
            [
                PathBuf::from("/sys/fs/cgroup/memory/terrace-7"),
                PathBuf::from("/sys/fs/cgroup/unified/terrace-7")
            ]
        );
    }

    /// A directory that looks like a version 2 root: the kernel's files are made by hand.
    fn fake_v2() -> (tempfile::TempDir, Hierarchies) {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "cpu memory\n").unwrap();
        let mounts = format!("none {} cgroup2 rw 0 0\n", root.path().display());
        let found = Hierarchies::among(&mounts).unwrap();
        (root, found)
    }

    #[test]
    fn version_two_is_one_group_with_its_own_files() {
        let (root, found) = fake_v2();
        assert_eq!(found.version, Version::V2);
        let limits = Limits {
            dram: Bytes(1 << 30),
            tier: Some(Bytes(1 << 32)),
        };
        let budget = Budget::create(&found, "terrace-7", Some(limits)).unwrap();
        let group = root.path().join("terrace-7");
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        assert_eq!(budget.directories(), std::slice::from_ref(&group));
        assert_eq!(read(group.join("memory.max")), "1073741824");
        assert_eq!(read(root.path().join("cgroup.subtree_control")), "+memory");
        // The kernel makes its files with the directory, the test only afterwards.
        assert!(!group.join("memory.swap.max").exists());
        fs::write(group.join("memory.swap.max"), "max").unwrap();
        budget.limit(limits).unwrap();
        assert_eq!(read(group.join("memory.swap.max")), "4294967296");

        fs::write(
            group.join("memory.stat"),
            "anon 8192\nshmem 4096\nswapcached 4096\npgfault 30\npgmajfault 7\n",
        )
        .unwrap();
        fs::write(group.join("memory.swap.current"), "12288\n").unwrap();
        fs::write(group.join("memory.events"), "oom 2\noom_kill 1\n").unwrap();
        fs::write(group.join("memory.peak"), "16384\n").unwrap();
        let usage = budget.usage();
        assert_eq!((usage.resident, usage.swapped), (Bytes(12288), Bytes(8192)));
        assert_eq!((usage.faults, usage.major_faults), (30, 7));
        assert_eq!(budget.oom_kills(), 1);
        assert_eq!(budget.peak(), Some(Bytes(16384)));
    }

    #[test]
    fn without_a_memory_controller_nothing_is_found() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("cgroup.controllers"), "cpu io\n").unwrap();
        let mounts = format!("none {} cgroup2 rw 0 0\n", root.path().display());
        assert_eq!(Hierarchies::among(&mounts), None);
    }

    #[test]
    fn a_group_that_exists_is_not_taken_over() {
        let (_root, found) = fake_v2();
        let first = Budget::create(&found, "terrace-7", None).unwrap();
        let second = Budget::create(&found, "terrace-7", None).unwrap_err();
        assert!(second.to_string().contains("cannot make the cgroup"));
        assert!(first.directories()[0].exists(), "the first is untouched");
    }
}
