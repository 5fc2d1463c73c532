//! The hierarchies of cgroups, and the group of this process in each. The program's group is made
//! below it, so that the limits of the systemd unit of this process hold for the program, and stopping
//! the unit reaches it.
//!
//! Where the memory controller is of version 1, perf events are filtered by another hierarchy
//! (its own, or version 2's), so the program joins a group in each.

use std::fs;
use std::path::{Path, PathBuf};

use crate::delegation::{AVAILABLE, CALLERS, lists_memory};
use crate::tier::swaps::unescape;
use terrace_base::{Context, Error, Result};

/// Interfaces of the memory controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Version 1, with `memory.limit_in_bytes`.
    V1 = 1,
    /// Version 2, with `memory.max`.
    V2 = 2,
}

impl Version {
    /// Returns 1 or 2.
    pub fn number(self) -> u32 {
        self as u32
    }
}

/// The groups of this process by hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchies {
    /// Group in the hierarchy with the memory controller.
    pub memory: PathBuf,
    /// Version of the memory controller.
    pub version: Version,
    /// Group in the hierarchy by which perf events can be filtered.
    pub perf: Option<PathBuf>,
}

/// Mount of one hierarchy.
struct Mount {
    /// Mount point.
    at: PathBuf,
    /// Group that is mounted there; a bind mount may show a part.
    root: PathBuf,
    /// Controllers; empty under version 2.
    controllers: Option<String>,
}

impl Hierarchies {
    /// Finds the groups by this machine's mounts.
    ///
    /// # Errors
    /// A failure if there is no memory controller.
    pub fn find() -> Result<Self> {
        let read = |path: &str| fs::read_to_string(path).or_fail(|| format!("cannot read {path}"));
        let mounts = read("/proc/self/mountinfo")?;
        let own = read("/proc/self/cgroup")?;
        Self::among(&mounts, &own).ok_or_else(|| {
            Error::failure(
                "no memory cgroup controller is to be had; mount cgroup2 on /sys/fs/cgroup \
                 (mount -t cgroup2 none /sys/fs/cgroup), and boot without cgroup_disable=memory",
            )
        })
    }

    /// Same as [`Self::find`], from the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`.
    fn among(mounts: &str, own: &str) -> Option<Self> {
        let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
        let of = |controller: &str| {
            let mut all = mounts.iter();
            let mount = all.find(|mount| mount.has(controller))?;
            Some(mount.group(own_path(own, controller)))
        };
        let unified = mounts.iter().find(|mount| mount.controllers.is_none());
        let unified_group = unified.map(|mount| mount.group(own_path(own, "")));
        let perf = of("perf_event").or(unified_group.clone());
        if let Some(memory) = of("memory") {
            return Some(Self {
                memory,
                version: Version::V1,
                perf,
            });
        }
        // The file of the top names all controllers, whether delegated or not.
        lists_memory(&unified?.at.join(AVAILABLE)).then_some(Self {
            memory: unified_group?,
            version: Version::V2,
            perf,
        })
    }

    /// Returns the groups of a budget called `name`: memory first, the one for perf events last.
    pub fn directories(&self, name: &str) -> Vec<PathBuf> {
        let memory = self.memory.join(name);
        let perf = self.perf.as_ref().map(|group| group.join(name));
        let perf = perf.filter(|perf| *perf != memory);
        std::iter::once(memory).chain(perf).collect()
    }
}

impl Mount {
    /// Parses a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)); `None` if it is no hierarchy.
    fn parse(line: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, at) = (mount.next()?, mount.next()?);
        let mut file_system = file_system.split(' ');
        let kind = file_system.next()?;
        let options = file_system.nth(1)?;
        Some(Self {
            at: unescape(at),
            root: unescape(root),
            controllers: match kind {
                "cgroup2" => None,
                "cgroup" => Some(options.to_owned()),
                _ => return None,
            },
        })
    }

    fn has(&self, controller: &str) -> bool {
        let mut controllers = self.controllers.iter().flat_map(|text| text.split(','));
        controllers.any(|name| name == controller)
    }

    /// Returns the directory of our group, which the kernel calls `path`; the top if this mount does not
    /// show it.
    fn group(&self, path: Option<&Path>) -> PathBuf {
        let below = path.and_then(|path| path.strip_prefix(&self.root).ok());
        match below.map(|below| self.at.join(below)) {
            Some(group) if group.is_dir() => group,
            _ => self.at.clone(),
        }
    }
}

/// Returns the group of this process in the hierarchy of `controller`, or in version 2's for `None`,
/// from `/proc/self/cgroup` (cgroups(7)). For a process in the leaf for callers that is the parent of
/// the leaf.
fn own_path<'a>(own: &'a str, controller: &str) -> Option<&'a Path> {
    let path = own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let mut controllers = controllers.split(',');
        controllers
            .any(|name| name == controller)
            .then_some(Path::new(path))
    })?;
    match path.file_name() {
        Some(name) if name == CALLERS => path.parent(),
        _ => Some(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a directory tree like the mounts of hierarchies, and its mountinfo.
    fn mounts(of: &[(&str, &str, &str, &str)]) -> (tempfile::TempDir, String) {
        let top = tempfile::tempdir().unwrap();
        let mut text = "23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n".to_owned();
        for (root, at, kind, options) in of {
            let at = top.path().join(at);
            fs::create_dir_all(&at).unwrap();
            text += &format!(
                "31 23 0:28 {root} {} rw - {kind} none {options}\n",
                at.display()
            );
        }
        (top, text)
    }

    #[test]
    fn version_one_with_a_unified_hierarchy_beside_it() {
        let (top, mounts) = mounts(&[
            ("/", "cpu", "cgroup", "rw,cpu"),
            ("/", "memory", "cgroup", "rw,memory"),
            ("/", "unified", "cgroup2", "rw"),
        ]);
        let group = top.path().join("memory/a slice/session");
        fs::create_dir_all(&group).unwrap();
        let own = "4:memory:/a slice/session\n2:cpu:/other\n0::/\n";
        let found = Hierarchies::among(&mounts, own).unwrap();
        assert_eq!(found.version, Version::V1);
        assert_eq!(
            found.directories("terrace-7"),
            [
                group.join("terrace-7"),
                top.path().join("unified/terrace-7")
            ]
        );
    }

    #[test]
    fn version_two_alone_is_one_group() {
        let (top, mounts) = mounts(&[("/", "cgroup", "cgroup2", "rw,nsdelegate")]);
        let root = top.path().join("cgroup");
        fs::create_dir_all(root.join("user.slice/session-1.scope/terrace-callers")).unwrap();
        fs::write(root.join("cgroup.controllers"), "cpu memory\n").unwrap();
        let session = root.join("user.slice/session-1.scope");
        for own in [
            "0::/user.slice/session-1.scope\n",
            "0::/user.slice/session-1.scope/terrace-callers\n",
        ] {
            let found = Hierarchies::among(&mounts, own).unwrap();
            assert_eq!(found.version, Version::V2);
            assert_eq!(found.directories("terrace-7"), [session.join("terrace-7")]);
        }
        fs::write(root.join("cgroup.controllers"), "cpu io\n").unwrap();
        assert_eq!(Hierarchies::among(&mounts, "0::/\n"), None);
    }

    #[test]
    fn a_mount_that_shows_a_part_is_where_that_part_begins() {
        let (top, mounts) = mounts(&[("/docker/7", "memory", "cgroup", "rw,memory")]);
        let memory = top.path().join("memory");
        fs::create_dir(memory.join("job")).unwrap();
        for (own, group) in [
            ("4:memory:/docker/7\n", memory.clone()),
            ("4:memory:/docker/7/job\n", memory.join("job")),
            // Not visible through this mount.
            ("4:memory:/docker/8\n", memory.clone()),
            ("4:memory:/../8\n", memory.clone()),
        ] {
            let found = Hierarchies::among(&mounts, own).unwrap();
            assert_eq!((found.memory, found.perf), (group, None), "{own}");
        }
    }

    #[test]
    fn blanks_in_the_path_of_a_mount() {
        assert_eq!(unescape(r"/a\040b\134c"), Path::new(r"/a b\c"));
        assert_eq!(unescape("/plain"), Path::new("/plain"));
    }
}
