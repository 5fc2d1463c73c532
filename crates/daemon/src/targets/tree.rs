//! The control groups with the memory controller.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use terrace_base::mountinfo::{self, Mount};
use terrace_base::{Context, Error, Result};

use super::Group;

/// Groups below each other that are looked at; the kernel makes far fewer.
const DEEPEST: usize = 64;

/// All groups below the top, parents before their children, in the order of names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// The top, which is no target.
    pub top: PathBuf,
    /// The groups.
    pub groups: Vec<Group>,
}

/// Finds the directory of the top group with the memory controller.
///
/// # Errors
/// A failure if there is none.
pub fn top() -> Result<PathBuf> {
    let mounts = mountinfo::all().or_fail(|| "cannot read /proc/self/mountinfo".into())?;
    among(&mounts).ok_or_else(|| {
        Error::failure(
            "no memory cgroup controller is to be had; mount cgroup2 on /sys/fs/cgroup \
             (mount -t cgroup2 none /sys/fs/cgroup), and boot without cgroup_disable=memory",
        )
    })
}

/// The hierarchy of version 1 with the controller, or version 2's.
fn among(mounts: &[Mount]) -> Option<PathBuf> {
    let has_memory = |mount: &&Mount| {
        mount.kind == "cgroup" && mount.options.split(',').any(|name| name == "memory")
    };
    let first = mounts.iter().find(has_memory);
    let second = || mounts.iter().find(|mount| mount.kind == "cgroup2");
    first.or_else(second).map(|mount| mount.at.clone())
}

impl Tree {
    /// Reads the groups below the top. `before` is called with each directory before it is read.
    pub fn read(top: &Path, before: &mut dyn FnMut(&Path)) -> Self {
        let mut groups = Vec::new();
        before(top);
        below(top, DEEPEST, before, &mut groups);
        Self {
            top: top.to_owned(),
            groups,
        }
    }

    /// Returns the path of a group below the top.
    pub fn relative<'a>(&self, group: &'a Group) -> &'a Path {
        group.path.strip_prefix(&self.top).unwrap_or(&group.path)
    }
}

/// Adds the groups in a directory. One that vanishes meanwhile has none.
fn below(directory: &Path, deepest: usize, before: &mut dyn FnMut(&Path), groups: &mut Vec<Group>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    let mut names: Vec<_> = entries.flatten().filter(is_directory).collect();
    names.sort_unstable_by_key(fs::DirEntry::file_name);
    for entry in names {
        let path = entry.path();
        before(&path);
        let Ok(about) = fs::metadata(&path) else {
            continue;
        };
        let has_groups = has_directories(&about) && deepest > 0;
        groups.push(Group {
            path: path.clone(),
            inode: about.ino(),
        });
        if has_groups {
            below(&path, deepest - 1, before, groups);
        }
    }
}

/// A directory without directories has two links. To list the sixty files of each group takes more
/// time than all else.
fn has_directories(about: &Metadata) -> bool {
    about.nlink() != 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_once_and_parents_first() {
        let top = tempfile::tempdir().unwrap();
        for group in ["b/c", "b/a", "a"] {
            fs::create_dir_all(top.path().join(group)).unwrap();
        }
        fs::write(top.path().join("file"), "").unwrap();
        let mut seen = Vec::new();
        let tree = Tree::read(top.path(), &mut |path| seen.push(path.to_owned()));
        let names: Vec<_> = tree
            .groups
            .iter()
            .map(|group| tree.relative(group))
            .collect();
        assert_eq!(names, ["a", "b", "b/a", "b/c"].map(Path::new));
        assert_eq!(seen.len(), 5, "the top as well");
        let inode = fs::metadata(top.path().join("b/c")).unwrap().ino();
        assert_eq!(tree.groups[3].inode, inode);
        let none = Tree::read(&top.path().join("none"), &mut |_| {});
        assert_eq!(none.groups, []);
    }

    #[test]
    fn the_hierarchy_with_the_memory_controller() {
        let mounts = |text: &str| among(&mountinfo::parse(text.as_bytes()));
        let first = "31 23 0:28 / /c/cpu rw - cgroup none rw,cpu\n\
                     32 23 0:29 / /c/memory rw - cgroup none rw,memory\n\
                     33 23 0:30 / /c/unified rw - cgroup2 none rw\n";
        assert_eq!(mounts(first), Some("/c/memory".into()));
        let second = "33 23 0:30 / /sys/fs/cgroup rw - cgroup2 none rw\n";
        assert_eq!(mounts(second), Some("/sys/fs/cgroup".into()));
        assert_eq!(mounts(""), None);
    }
}
