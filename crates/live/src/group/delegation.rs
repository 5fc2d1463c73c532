//! Delegation of controllers under version 2: a group can delegate its controllers only if it has
//! no processes of its own (Documentation/admin-guide/cgroup-v2.rst, «No Internal Process
//! Constraint»). So that the program's group can be made below the group in which Terrace was
//! started, the processes of that group, Terrace among them, move to a leaf of it, where all limits
//! still hold. In the private namespace of a container that group is called the root, and is none.
//!
//! Runs that were started in the same group share the leaf; the last of them removes it, under a
//! lock of the group's directory. Where no leaf is needed, at the root and above our group, a
//! delegated controller stays delegated: others may rely on it by then.

use std::ffi::OsStr;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::group::cgroup::{PROCESSES, groups_in, hold_group, processes_of, remove};
use crate::journal::names::PREFIX;
use crate::journal::{Change, DeadRun};
use crate::system::busy::while_busy;
use crate::system::lock::Say;
use terrace_base::{Context, Error, Result};

/// Name of the leaf.
pub const CALLERS: &str = "terrace-callers";

/// How often processes are moved: each round may leave children that were started meanwhile.
const ROUNDS: u32 = 100;

/// The changes that give groups below one of ours memory limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// The groups that have to delegate the memory controller, the outermost first.
    pub controllers: Vec<PathBuf>,
    /// The leaf to which the processes of the innermost group have to move, if they have to.
    pub leaf: Option<PathBuf>,
}

impl Needed {
    /// Determines the changes that limits in groups below `group` need.
    ///
    /// # Errors
    /// A failure if the hierarchy above has no memory controller.
    pub fn below(group: &Path) -> Result<Self> {
        let mut controllers = Vec::new();
        let mut at = group;
        while !lists_memory(&at.join(CONTROL)) {
            controllers.insert(0, at.to_owned());
            if lists_memory(&at.join(AVAILABLE)) {
                break;
            }
            at = at
                .parent()
                .filter(|at| at.join(AVAILABLE).exists())
                .ok_or_else(|| {
                    Error::failure(format!(
                        "the cgroup {} has no memory controller; have it delegated \
                     (systemd-run --scope -p Delegate=yes terrace ...)",
                        group.display()
                    ))
                })?;
        }
        let leaf = group.join(CALLERS);
        // The root, which alone has no type, may have processes and delegate controllers. An
        // existing leaf is another run's, which this run shares from now on.
        let needs_leaf = leaf.exists() || !controllers.is_empty() && group.join(TYPE).exists();
        Ok(Self {
            controllers,
            leaf: needs_leaf.then_some(leaf),
        })
    }

    /// Makes the changes. The groups that are to have limits exist already: they tell other runs
    /// that the leaf is still needed.
    ///
    /// # Errors
    /// A failure if processes may not be moved or the controller cannot be delegated.
    pub fn carry_out(&self) -> Result<()> {
        let Some(leaf) = &self.leaf else {
            return self
                .controllers
                .iter()
                .try_for_each(|group| hand_on(group).or_fail(|| cannot_hand_on(group)));
        };
        let group = parent(leaf);
        let _lock = lock(group).or_fail(|| format!("cannot lock {}", group.display()))?;
        for outer in self.controllers.iter().filter(|outer| *outer != group) {
            hand_on(outer).or_fail(|| cannot_hand_on(outer))?;
        }
        match fs::create_dir(leaf) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.or_fail(|| format!("cannot make the cgroup {}", leaf.display()))?,
        }
        split(group, leaf).or_fail(|| cannot_hand_on(group))
    }
}

const CONTROL: &str = "cgroup.subtree_control";
pub(crate) const AVAILABLE: &str = "cgroup.controllers";
const TYPE: &str = "cgroup.type";

fn cannot_hand_on(group: &Path) -> String {
    format!(
        "cannot hand the memory controller of the cgroup {} on; start terrace in one that is \
         delegated (systemd-run --scope -p Delegate=yes terrace ...)",
        group.display()
    )
}

/// Whether a file of controllers names that of memory.
pub(crate) fn lists_memory(file: &Path) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().any(|name| name == "memory")
}

fn hand_on(group: &Path) -> io::Result<()> {
    fs::write(group.join(CONTROL), "+memory")
}

/// Moves all processes of `group` to its `leaf`, until the group can delegate its controller.
fn split(group: &Path, leaf: &Path) -> io::Result<()> {
    // It is busy if other processes were started there meanwhile.
    while_busy(ROUNDS, Duration::ZERO, || {
        move_all(group, leaf)?;
        hand_on(group)
    })
}

/// Moves the processes of one group to another.
fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    let door = to.join(PROCESSES);
    for process in processes_of(from) {
        match fs::write(&door, process.to_string()) {
            // The process has ended.
            Err(e) if e.raw_os_error() == Some(libc::ESRCH) => {}
            moved => moved?,
        }
    }
    Ok(())
}

/// The leaf to which a run has moved its callers; moves them back when dropped.
#[derive(Debug, Default)]
pub struct Leaf(pub Option<PathBuf>);

impl Drop for Leaf {
    fn drop(&mut self) {
        if let Some(leaf) = &self.0 {
            // A change that cannot be undone now stays in the journal for `terrace doctor --clean`.
            let _ = undo(leaf);
        }
    }
}

/// Whether nothing needs to be undone: the leaf is gone, or other runs still need it.
pub fn is_undone(leaf: &Path) -> bool {
    !leaf.exists() || is_needed(leaf)
}

/// Whether runs have groups beside the leaf.
fn is_needed(leaf: &Path) -> bool {
    groups_in(parent(leaf)).iter().any(|group| {
        let name = group.file_name().unwrap_or_default();
        group != leaf && name.as_encoded_bytes().starts_with(PREFIX.as_bytes())
    })
}

/// Moves the processes of the leaf back to its group and removes it, unless other runs need it.
///
/// # Errors
/// The kernel's error.
pub fn undo(leaf: &Path) -> io::Result<()> {
    let group = parent(leaf);
    let _lock = match lock(group) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        lock => lock?,
    };
    if is_undone(leaf) {
        return Ok(());
    }
    fs::write(group.join(CONTROL), "-memory")?;
    while_busy(ROUNDS, Duration::ZERO, || {
        move_all(leaf, group)?;
        remove(leaf)
    })
}

/// The processes beside the program's group were moved to this leaf.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Callers(pub PathBuf);

#[typetag::serde(name = "callers")]
impl Change for Callers {
    fn path(&self) -> Option<PathBuf> {
        Some(self.0.clone())
    }

    fn is_undone(&self) -> bool {
        is_undone(&self.0)
    }

    fn undo(&self, _run: &DeadRun, _say: Say) -> Result<()> {
        if self.0.file_name() != Some(OsStr::new(CALLERS)) {
            return Err(Error::failure("this is no name that a run gives"));
        }
        hold_group(&self.0)?;
        undo(&self.0).or_fail(|| "it cannot be removed".into())
    }
}

impl fmt::Display for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the cgroup {}", self.0.display())
    }
}

/// Locks a group's directory until the returned file is dropped.
fn lock(group: &Path) -> io::Result<File> {
    let directory = File::open(group)?;
    directory.lock()?;
    Ok(directory)
}

fn parent(leaf: &Path) -> &Path {
    leaf.parent().unwrap_or(leaf)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a tree with the files of version 2: a root, `slice` in it, `scope` in that.
    struct Tree(tempfile::TempDir);

    impl Tree {
        fn new(controls: [&str; 3]) -> Self {
            let tree = Self(tempfile::tempdir().unwrap());
            let mut available = "cpu memory";
            for (group, control) in ["", "slice", "slice/scope"].into_iter().zip(controls) {
                fs::create_dir_all(tree.at(group)).unwrap();
                fs::write(tree.at(group).join(AVAILABLE), available).unwrap();
                fs::write(tree.at(group).join(CONTROL), control).unwrap();
                if !group.is_empty() {
                    fs::write(tree.at(group).join(TYPE), "domain\n").unwrap();
                }
                available = control;
            }
            tree
        }

        fn at(&self, group: &str) -> PathBuf {
            self.0.path().join(group)
        }
    }

    #[test]
    fn the_root_hands_on_without_a_leaf() {
        let tree = Tree::new(["", "", ""]);
        let needed = Needed::below(&tree.at("")).unwrap();
        assert_eq!(needed.controllers, [tree.at("")]);
        assert_eq!(needed.leaf, None);
        needed.carry_out().unwrap();
        assert_eq!(fs::read_to_string(tree.at(CONTROL)).unwrap(), "+memory");
    }

    #[test]
    fn a_group_with_processes_needs_a_leaf_and_all_above_it_the_controller() {
        let tree = Tree::new(["cpu memory", "cpu", ""]);
        let (slice, scope) = (tree.at("slice"), tree.at("slice/scope"));
        let needed = Needed::below(&scope).unwrap();
        assert_eq!(needed.controllers, [slice, scope.clone()]);
        assert_eq!(needed.leaf, Some(scope.join(CALLERS)));
    }

    #[test]
    fn a_group_that_hands_on_already_needs_nothing() {
        let tree = Tree::new(["cpu memory", "cpu memory", "memory"]);
        let needed = Needed::below(&tree.at("slice/scope")).unwrap();
        assert_eq!(needed, Needed::default());
    }

    #[test]
    fn processes_are_moved_to_the_leaf() {
        let tree = Tree::new(["memory", "memory", ""]);
        let scope = tree.at("slice/scope");
        fs::write(scope.join(PROCESSES), "17\n").unwrap();
        Needed::below(&scope).unwrap().carry_out().unwrap();
        let leaf = scope.join(CALLERS);
        assert_eq!(processes_of(&leaf), [17]);
        assert_eq!(fs::read_to_string(scope.join(CONTROL)).unwrap(), "+memory");
        // A second run shares the leaf.
        assert_eq!(Needed::below(&scope).unwrap().leaf, Some(leaf));
    }

    #[test]
    fn the_last_run_takes_the_leaf_back() {
        let tree = Tree::new(["memory", "memory", "memory"]);
        let scope = tree.at("slice/scope");
        let leaf = scope.join(CALLERS);
        let other = scope.join("terrace-9-1");
        fs::create_dir(&leaf).unwrap();
        fs::create_dir(&other).unwrap();
        undo(&leaf).unwrap();
        assert!(leaf.exists() && is_undone(&leaf), "another run needs it");
        fs::remove_dir(&other).unwrap();
        assert!(!is_undone(&leaf));
        undo(&leaf).unwrap();
        assert!(!leaf.exists() && is_undone(&leaf));
        assert_eq!(fs::read_to_string(scope.join(CONTROL)).unwrap(), "-memory");
        assert!(undo(&leaf).is_ok(), "a second time there is nothing to do");
    }

    #[test]
    fn without_a_controller_above_it_is_said() {
        let tree = Tree::new(["cpu", "cpu", ""]);
        fs::write(tree.at(AVAILABLE), "cpu").unwrap();
        let error = Needed::below(&tree.at("slice")).unwrap_err().to_string();
        assert!(error.contains("has no memory controller"), "{error}");
    }
}
