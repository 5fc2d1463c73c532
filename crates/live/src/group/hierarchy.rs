//! The hierarchies of cgroups, and the group of this process in each. The program's group is made
//! below it, so that the limits of the systemd unit of this process hold for the program, and
//! stopping the unit reaches it.
//!
//! Where the memory controller is of version 1, perf events are filtered by another hierarchy
//! (its own, or version 2's), so the program joins a group in each.

use std::fs;
use std::path::{Component, Path, PathBuf};

use crate::group::delegation::{AVAILABLE, CALLERS, lists_memory};
use terrace_base::mountinfo;
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

/// Mounts of all hierarchies.
#[derive(Clone, Debug)]
pub(crate) struct Mounts(Vec<Mount>);

/// Mount of one hierarchy.
#[derive(Clone, Debug)]
pub(crate) struct Mount {
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
        let own = read("/proc/self/cgroup")?;
        Self::among(&Mounts::find()?, &own).ok_or_else(no_memory)
    }

    /// Same as [`Self::find`], from the text of `/proc/self/cgroup`.
    fn among(mounts: &Mounts, own: &str) -> Option<Self> {
        let (memory, version) = mounts.memory()?;
        let unified = mounts.unified();
        let unified_group = unified.map(|mount| mount.group(own_path(own, "")));
        let perf = mounts.of("perf_event");
        let perf = perf.map(|mount| mount.group(own_path(own, "perf_event")));
        let controller = match version {
            Version::V1 => "memory",
            Version::V2 => "",
        };
        Some(Self {
            memory: memory.group(own_path(own, controller)),
            version,
            perf: perf.or(unified_group),
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

impl Mounts {
    /// Finds those of this machine that this process sees.
    ///
    /// # Errors
    /// A failure if `/proc` cannot be read.
    pub fn find() -> Result<Self> {
        let mounts = mountinfo::all().or_fail(|| "cannot read /proc/self/mountinfo".into())?;
        Ok(Self::among(&mounts))
    }

    /// Finds those among these mounts.
    pub fn among(mounts: &[mountinfo::Mount]) -> Self {
        Self(mounts.iter().filter_map(Mount::of).collect())
    }

    /// Returns the hierarchy with the memory controller; `None` if there is none.
    pub fn memory(&self) -> Option<(&Mount, Version)> {
        let first = self.of("memory").map(|mount| (mount, Version::V1));
        // The file of the top names all controllers, whether delegated or not.
        let has_memory = |mount: &&Mount| lists_memory(&mount.at.join(AVAILABLE));
        let second = || self.unified().filter(has_memory);
        first.or_else(|| second().map(|mount| (mount, Version::V2)))
    }

    /// Returns the hierarchy with the memory controller.
    ///
    /// # Errors
    /// A failure if there is none.
    pub fn require_memory(&self) -> Result<(&Mount, Version)> {
        self.memory().ok_or_else(no_memory)
    }

    /// Returns all hierarchies, the one with the memory controller first.
    pub fn all(&self) -> impl Iterator<Item = &Mount> {
        let memory = self.memory().map(|(mount, _)| mount);
        let others = self.0.iter();
        let others = others.filter(move |mount| memory.is_none_or(|it| it.at != mount.at));
        memory.into_iter().chain(others)
    }

    /// Returns the hierarchy of version 1 with a controller.
    fn of(&self, controller: &str) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.has(controller))
    }

    /// Returns the hierarchy of version 2.
    fn unified(&self) -> Option<&Mount> {
        self.0.iter().find(|mount| mount.controllers.is_none())
    }
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).or_fail(|| format!("cannot read {path}"))
}

fn no_memory() -> Error {
    Error::failure(
        "no memory cgroup controller is to be had; mount cgroup2 on /sys/fs/cgroup \
         (mount -t cgroup2 none /sys/fs/cgroup), and boot without cgroup_disable=memory",
    )
}

impl Mount {
    /// Returns the mount point.
    pub fn top(&self) -> &Path {
        &self.at
    }

    /// Returns the directory of the group that the kernel calls `path`; `None` if this mount does
    /// not show it.
    pub fn shown(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(&self.root).ok()?;
        let has_none_above = |part| !matches!(part, Component::ParentDir);
        let is_below = below.components().all(has_none_above);
        is_below.then(|| self.at.join(below))
    }

    /// Returns the directory of a process's group in this hierarchy, from its `/proc/PID/cgroup`;
    /// `None` if this mount does not show it.
    pub fn group_of(&self, cgroup: &str) -> Option<PathBuf> {
        cgroup.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':').skip(1);
            let (controllers, path) = (fields.next()?, fields.next()?);
            let is_ours = match self.controllers {
                None => controllers.is_empty(),
                Some(_) => controllers.split(',').any(|name| self.has(name)),
            };
            is_ours.then(|| self.shown(Path::new(path)))?
        })
    }

    /// Returns the hierarchy of a mount; `None` if it is none.
    fn of(mount: &mountinfo::Mount) -> Option<Self> {
        let controllers = match &*mount.kind {
            "cgroup2" => None,
            "cgroup" => Some(mount.options.clone()),
            _ => return None,
        };
        Some(Self {
            at: mount.at.clone(),
            root: mount.root.clone(),
            controllers,
        })
    }

    fn has(&self, controller: &str) -> bool {
        let mut controllers = self.controllers.iter().flat_map(|text| text.split(','));
        controllers.any(|name| name == controller)
    }

    /// Returns the directory of our group, which the kernel calls `path`; the top if this mount
    /// does not show it.
    fn group(&self, path: Option<&Path>) -> PathBuf {
        let below = path.and_then(|path| path.strip_prefix(&self.root).ok());
        match below.map(|below| self.at.join(below)) {
            Some(group) if group.is_dir() => group,
            _ => self.at.clone(),
        }
    }
}

/// Returns the group of this process in the hierarchy of `controller`, or in version 2's for
/// `None`, from `/proc/self/cgroup` (cgroups(7)). For a process in the leaf for callers that is the
/// parent of the leaf.
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
pub(crate) mod tests {
    use super::*;

    /// Makes a directory tree like the mounts of hierarchies, and its mountinfo.
    pub fn mounts(of: &[(&str, &str, &str, &str)]) -> (tempfile::TempDir, String) {
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

    fn among(mounts: &str, own: &str) -> Option<Hierarchies> {
        Hierarchies::among(&Mounts::among(&mountinfo::parse(mounts.as_bytes())), own)
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
        let found = among(&mounts, own).unwrap();
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
            let found = among(&mounts, own).unwrap();
            assert_eq!(found.version, Version::V2);
            assert_eq!(found.directories("terrace-7"), [session.join("terrace-7")]);
        }
        fs::write(root.join("cgroup.controllers"), "cpu io\n").unwrap();
        assert_eq!(among(&mounts, "0::/\n"), None);
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
            let found = among(&mounts, own).unwrap();
            assert_eq!((found.memory, found.perf), (group, None), "{own}");
        }
    }
}
