//! What targets mean among the groups that are there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use terrace_live::group::container;

use super::ask::ask;
use super::pods::{self, Ask, Node};
use super::units::Units;
use super::{Found, Group, Tree};
use crate::configuration::By;

/// The most groups of a target: pods of a label.
const MOST: usize = 64;

/// Characters of an ID by which a container may be named.
const SHORTEST_ID: usize = 12;

/// Nobody is asked for the same thing twice within this time, or, while no group comes or goes,
/// within that.
const FRESH: Duration = Duration::from_secs(5);
const FRESH_AT_REST: Duration = Duration::from_secs(60);

/// Looks targets up.
pub struct Lookup {
    units: Units,
    node: Node,
    ask: Box<Ask>,
    fresh: Duration,
    /// The groups at the last time, and how often they have changed.
    groups: Vec<Group>,
    changes: u64,
    /// What was asked for.
    known: BTreeMap<By, Known>,
}

/// IDs of containers or UIDs of pods: when they were asked for, behind how many changes, and what
/// was said.
struct Known {
    at: Instant,
    changes: u64,
    ids: Result<BTreeSet<String>, String>,
}

impl Default for Lookup {
    fn default() -> Self {
        Self {
            units: Units::default(),
            node: Node::default(),
            ask: Box::new(ask),
            fresh: FRESH,
            groups: Vec::new(),
            changes: 0,
            known: BTreeMap::new(),
        }
    }
}

impl Lookup {
    /// Returns the groups of each target. A group has one target: where another has it already, or
    /// a group above or below it, the target has a reason instead.
    pub fn find(&mut self, tree: &Tree, targets: &BTreeMap<String, By>) -> Found {
        if self.groups != tree.groups {
            self.groups.clone_from(&tree.groups);
            self.changes += 1;
        }
        self.known
            .retain(|by, _| targets.values().any(|it| it == by));
        let mut found = Found::new();
        let mut taken: BTreeMap<&Path, &str> = BTreeMap::new();
        for (name, by) in targets {
            let groups = self.groups(tree, by).and_then(|groups| {
                let overlap = groups.iter().find_map(|group| {
                    let (theirs, other) = overlapping(&taken, &group.path)?;
                    Some(format!(
                        "its group {} overlaps {} of the target `{other}`; take one of them out",
                        group.path.display(),
                        theirs.display()
                    ))
                });
                overlap.map_or(Ok(groups), Err)
            });
            for group in groups.iter().flatten() {
                let path = tree.groups.iter().find(|it| it.inode == group.inode);
                taken.insert(path.map_or(Path::new(""), |it| &it.path), name);
            }
            found.insert(name.clone(), groups);
        }
        found
    }

    /// Whether some target is known by asking, so that its meaning may change without a group.
    pub fn is_asking(targets: &BTreeMap<String, By>) -> bool {
        let is_asked = |by: &By| matches!(by, By::Container(_) | By::Pod(_));
        targets.values().any(is_asked)
    }

    fn groups(&mut self, tree: &Tree, by: &By) -> Result<Vec<Group>, String> {
        match by {
            By::Unit(name) => Ok(self.unit(tree, name)),
            By::Cgroup(path) => Ok(cgroup(tree, path)),
            By::Container(name) => self.container(tree, by, name),
            By::Pod(pod) => {
                let uids = match self.fresh(by) {
                    Some(known) => known,
                    None => self.learn(by, |this| this.node.uids(pod, &*this.ask)),
                }?;
                let is_one = |name: &str| uids.iter().any(|uid| pods::is_of(name, uid));
                let groups = all(tree, |path| is_one(&file_name(path)));
                match groups.len() {
                    0..=MOST => Ok(groups),
                    more => Err(format!(
                        "{more} pods are more than {MOST} of one target; divide them among several"
                    )),
                }
            }
        }
    }

    /// Finds a unit by its own name, or by another one that it has.
    fn unit(&self, tree: &Tree, name: &str) -> Vec<Group> {
        let of = |name: &str| all(tree, |path| is_unit(path, name));
        let found = of(name);
        match found.is_empty() {
            true => self.units.own_name(name).map_or(found, |own| of(&own)),
            false => found,
        }
    }

    fn container(&mut self, tree: &Tree, by: &By, name: &str) -> Result<Vec<Group>, String> {
        let of = |id: &str| all(tree, |path| container::is_of(&file_name(path), id));
        let is_id = name.len() >= SHORTEST_ID && name.bytes().all(|c| c.is_ascii_hexdigit());
        if is_id {
            return single(of(name));
        }
        // As long as it runs, its ID stays.
        if let Some(Known { ids: Ok(ids), .. }) = self.known.get(by) {
            let running: Vec<_> = ids.iter().flat_map(|id| of(id)).collect();
            if !running.is_empty() {
                return single(running);
            }
        }
        let ids = match self.fresh(by) {
            Some(known) => known,
            None => self.learn(by, |this| {
                let id = container::id_of(name, &*this.ask);
                Ok(id.into_iter().map(|id| id.trim().to_owned()).collect())
            }),
        }?;
        single(ids.iter().flat_map(|id| of(id)).collect())
    }

    fn fresh(&self, by: &By) -> Option<Result<BTreeSet<String>, String>> {
        let known = self.known.get(by)?;
        let (age, rests) = (known.at.elapsed(), known.changes == self.changes);
        let is_fresh = age < self.fresh || rests && age < FRESH_AT_REST;
        is_fresh.then(|| known.ids.clone())
    }

    fn learn(
        &mut self,
        by: &By,
        how: impl FnOnce(&Self) -> Result<BTreeSet<String>, String>,
    ) -> Result<BTreeSet<String>, String> {
        let ids = how(self);
        let known = Known {
            at: Instant::now(),
            changes: self.changes,
            ids: ids.clone(),
        };
        self.known.insert(by.clone(), known);
        ids
    }
}

/// Returns the group and the name of another target that has this group, or one above or below it.
fn overlapping<'a>(
    taken: &BTreeMap<&'a Path, &'a str>,
    path: &Path,
) -> Option<(&'a Path, &'a str)> {
    let mut all = taken.iter();
    let found = all.find(|(theirs, _)| path.starts_with(theirs) || theirs.starts_with(path));
    found.map(|(theirs, name)| (*theirs, *name))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// Returns the groups whose paths below the top are meant, without those below one of them.
fn all(tree: &Tree, is_meant: impl Fn(&Path) -> bool) -> Vec<Group> {
    let mut found: Vec<Group> = Vec::new();
    for group in &tree.groups {
        let is_below = found
            .last()
            .is_some_and(|last| group.path.starts_with(&last.path));
        if !is_below && is_meant(tree.relative(group)) {
            found.push(group.clone());
        }
    }
    found
}

fn single(groups: Vec<Group>) -> Result<Vec<Group>, String> {
    match groups.len() {
        0 | 1 => Ok(groups),
        more => Err(format!("{more} containers match; write more of the ID")),
    }
}

/// Whether a group is that of a unit of the machine's systemd. Such groups are below slices alone:
/// those of a user's systemd are below `user@1000.service`, those of one in a container below the
/// container's. A name that could be a file of the kernel has a `_` before it.
fn is_unit(path: &Path, name: &str) -> bool {
    let own = file_name(path);
    let is_named = own == name || own.strip_prefix('_') == Some(name);
    let mut above = path.ancestors().skip(1).map(file_name);
    is_named && above.all(|group| group.is_empty() || group.ends_with(".slice"))
}

/// Finds a group by its directory, or by its path below the top.
fn cgroup(tree: &Tree, path: &Path) -> Vec<Group> {
    let below = path.strip_prefix(&tree.top).unwrap_or(path);
    let below = below.strip_prefix("/").unwrap_or(below);
    all(tree, |group| group == below)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::configuration::Pod;

    fn tree(groups: &[&str]) -> (tempfile::TempDir, Tree) {
        let top = tempfile::tempdir().unwrap();
        for group in groups {
            fs::create_dir_all(top.path().join(group)).unwrap();
        }
        let tree = Tree::read(top.path(), &mut |_| {});
        (top, tree)
    }

    fn names(tree: &Tree, found: &Result<Vec<Group>, String>) -> Vec<String> {
        let groups = found.as_ref().unwrap().iter();
        groups
            .map(|group| tree.relative(group).display().to_string())
            .collect()
    }

    fn one(lookup: &mut Lookup, tree: &Tree, by: By) -> Result<Vec<Group>, String> {
        let targets = [("t".to_owned(), by)].into();
        lookup.find(tree, &targets).remove("t").unwrap()
    }

    #[test]
    fn units_of_the_machine_and_no_others() {
        let (_top, tree) = tree(&[
            "system.slice/db.service/sub",
            "user.slice/user-1000.slice/user@1000.service/app.slice/db.service",
            "machine.slice/libpod-x.scope/system.slice/db.service",
            "system.slice/system-pg.slice/pg@14.service",
            "system.slice/_memory.service",
        ]);
        let mut lookup = Lookup::default();
        for (unit, group) in [
            ("db.service", Some("system.slice/db.service")),
            (
                "pg@14.service",
                Some("system.slice/system-pg.slice/pg@14.service"),
            ),
            ("memory.service", Some("system.slice/_memory.service")),
            ("system.slice", Some("system.slice")),
            ("b.service", None),
        ] {
            let found = one(&mut lookup, &tree, By::Unit(unit.into()));
            assert_eq!(names(&tree, &found), Vec::from_iter(group), "{unit}");
        }
    }

    #[test]
    fn groups_by_directory_and_path() {
        let (top, tree) = tree(&["batch/job", "other/batch/job"]);
        let mut lookup = Lookup::default();
        let directory = top.path().join("batch/job");
        for path in [
            directory.as_path(),
            Path::new("/batch/job"),
            Path::new("batch/job/"),
        ] {
            let found = one(&mut lookup, &tree, By::Cgroup(path.into()));
            assert_eq!(names(&tree, &found), ["batch/job"], "{path:?}");
        }
        let found = one(&mut lookup, &tree, By::Cgroup("job".into()));
        assert_eq!(names(&tree, &found), [""; 0]);
    }

    #[test]
    fn containers_by_name_and_by_id() {
        let (first, second) = ("ab".repeat(32), "cd".repeat(32));
        let (_top, old) = tree(&[&format!("docker/{first}/init")]);
        let (_other, new) = tree(&[&format!("system.slice/docker-{second}.scope")]);
        let asked = Arc::new(AtomicUsize::new(0));
        let answers = [first.clone(), second.clone()];
        let mut lookup = Lookup {
            ask: Box::new({
                let asked = Arc::clone(&asked);
                move |engine, options| {
                    assert_eq!((engine, options[4]), ("docker", "web"));
                    let number = asked.fetch_add(1, Ordering::SeqCst);
                    Some(format!("{}\n", answers[number]))
                }
            }),
            fresh: Duration::ZERO,
            ..Lookup::default()
        };
        let web = || By::Container("web".into());
        for _ in 0..3 {
            let found = one(&mut lookup, &old, web());
            assert_eq!(names(&old, &found), [format!("docker/{first}")]);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 1, "once while it runs");
        // Made again, it has another ID.
        let found = one(&mut lookup, &new, web());
        assert_eq!(
            names(&new, &found),
            [format!("system.slice/docker-{second}.scope")]
        );
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        let by_id = one(&mut lookup, &new, By::Container(second[..12].into()));
        assert_eq!(by_id.unwrap().len(), 1);
    }

    #[test]
    fn nobody_is_asked_again_at_once() {
        let (_top, tree) = tree(&["system.slice"]);
        let asked = Arc::new(AtomicUsize::new(0));
        let mut lookup = Lookup {
            ask: Box::new({
                let asked = Arc::clone(&asked);
                move |_, _| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    None
                }
            }),
            fresh: Duration::from_secs(60),
            ..Lookup::default()
        };
        for _ in 0..5 {
            let found = one(&mut lookup, &tree, By::Container("web".into()));
            assert_eq!(found, Ok(vec![]));
        }
        let both = "docker and podman, once each";
        assert_eq!(asked.load(Ordering::SeqCst), 2, "{both}");
        lookup.fresh = Duration::ZERO;
        let _ = one(&mut lookup, &tree, By::Container("web".into()));
        assert_eq!(asked.load(Ordering::SeqCst), 2, "no group has come");
        let (_top, other) = self::tree(&["system.slice/docker.service"]);
        let _ = one(&mut lookup, &other, By::Container("web".into()));
        assert_eq!(asked.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn pods_by_label() {
        let uid = "3f7a2d10-8f0b-4b7e-9d4e-0a1b2c3d4e5f";
        let slice = format!(
            "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{}.slice",
            uid.replace('-', "_")
        );
        let (top, tree) = tree(&[
            &format!("{slice}/cri-containerd-7.scope"),
            "kubepods.slice/other.slice",
        ]);
        fs::create_dir_all(top.path().join(format!("logs/shop_db-0_{uid}"))).unwrap();
        let answer =
            format!(r#"{{"items":[{{"metadata":{{"uid":"{uid}","namespace":"shop"}}}}]}}"#);
        let mut lookup = Lookup {
            node: Node {
                logs: top.path().join("logs"),
                kubelet: top.path().join("kubelet"),
            },
            ask: Box::new(move |_, _| Some(answer.clone())),
            ..Lookup::default()
        };
        let pod = Pod {
            namespace: "shop".into(),
            key: "app".into(),
            value: "db".into(),
        };
        let found = one(&mut lookup, &tree, By::Pod(pod));
        assert_eq!(names(&tree, &found), [slice]);
    }

    #[test]
    fn a_group_has_one_target() {
        let (_top, tree) = tree(&["system.slice/db.service/sub"]);
        let targets: BTreeMap<_, _> = [
            ("a", By::Unit("db.service".into())),
            ("b", By::Cgroup("/system.slice/db.service/sub".into())),
            ("c", By::Unit("system.slice".into())),
            ("d", By::Cgroup("system.slice/db.service".into())),
        ]
        .map(|(name, by)| (name.to_owned(), by))
        .into();
        let found = Lookup::default().find(&tree, &targets);
        assert_eq!(found["a"].as_ref().unwrap().len(), 1);
        for other in ["b", "c", "d"] {
            let why = found[other].as_ref().unwrap_err();
            assert!(why.contains("of the target `a`"), "{other}: {why}");
        }
    }
}
