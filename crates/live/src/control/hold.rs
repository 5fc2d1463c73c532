//! Holds a service against a second controller.
//!
//! The directory of its group, or that of its process in `/proc`, is locked (flock(2)), and those
//! above it are locked in common: a service in another one's group, or one that another one has
//! started, is held by both. The kernel drops the locks of a process that ends, however that ends.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use terrace_base::process::Figures;
use terrace_base::{Error, Result};

use crate::group::hierarchy::Mounts;
use crate::group::members::Scope;

/// Generations of processes that are locked in common, at most.
const GENERATIONS: usize = 64;

/// A service that is held; let go when dropped.
#[derive(Debug)]
pub(super) struct Hold {
    _locks: Vec<File>,
}

impl Hold {
    /// Takes a service called `name`.
    ///
    /// # Errors
    /// A failure if another process holds it, part of it, or what it is part of.
    pub fn take(name: &str, scope: &Scope, mounts: &Mounts) -> Result<Self> {
        let (own, above) = match scope {
            Scope::Group { hierarchy, group } => (group.clone(), parents(group, hierarchy.top())),
            Scope::Tree { root, .. } => {
                let parent = |pid: &u32| Some(Figures::of(*pid).ok()??.parent).filter(|it| *it > 0);
                let line = std::iter::successors(parent(root), parent).take(GENERATIONS);
                let directory = |pid: u32| PathBuf::from(format!("/proc/{pid}"));
                let mut above: Vec<_> = line.map(directory).collect();
                if let Some((memory, _)) = mounts.memory() {
                    let cgroup = fs::read_to_string(format!("/proc/{root}/cgroup"));
                    let group = memory.group_of(&cgroup.unwrap_or_default());
                    let group = group.filter(|group| group != memory.top());
                    above.extend(group.iter().cloned());
                    above.extend(group.iter().flat_map(|it| parents(it, memory.top())));
                }
                (directory(*root), above)
            }
        };
        Self::lock(&own, &above).map_err(|path| {
            Error::failure(format!(
                "another process of terrace controls {name} already ({} is locked); end it first",
                path.display()
            ))
        })
    }

    /// Locks `own`, and what is `above` in common; the path that another process holds if there is
    /// one. What cannot be opened is gone.
    fn lock(own: &Path, above: &[PathBuf]) -> std::result::Result<Self, PathBuf> {
        let mut locks = Vec::new();
        let mut add = |path: &Path, lock: fn(&File) -> std::result::Result<(), TryLockError>| {
            let Ok(file) = File::open(path) else {
                return Ok(());
            };
            match lock(&file) {
                Err(TryLockError::WouldBlock) => Err(path.to_owned()),
                _ => {
                    locks.push(file);
                    Ok(())
                }
            }
        };
        add(own, File::try_lock)?;
        above
            .iter()
            .try_for_each(|path| add(path, File::try_lock_shared))?;
        Ok(Self { _locks: locks })
    }
}

/// Returns the directories above a group, below the top of its hierarchy.
fn parents(group: &Path, top: &Path) -> Vec<PathBuf> {
    let above = group.ancestors().skip(1);
    let above = above.take_while(|path| *path != top && path.starts_with(top));
    above.map(Path::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_it_nor_what_is_above_or_below_can_be_taken_twice() {
        let top = tempfile::tempdir().unwrap();
        let below = top.path().join("a/b");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(top.path().join("c")).unwrap();
        let take = |group: &Path| Hold::lock(group, &parents(group, top.path()));
        let held = take(&below).unwrap();
        assert!(take(&below).is_err());
        assert!(take(&top.path().join("a")).is_err(), "it is part of it");
        let beside = take(&top.path().join("c")).unwrap();
        drop(held);
        let above = take(&top.path().join("a")).unwrap();
        assert!(take(&below).is_err());
        drop((beside, above));
        assert!(take(&below).is_ok());
    }
}
