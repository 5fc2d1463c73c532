//! Leftovers of killed runs: found by their journals, and undone if they are what a run makes.
//!
//! A journal is trusted if only root or the caller can have written it ([`State::read`]). Even so,
//! each thing that it names is compared with what a run makes before it is touched: names are reused,
//! and a journal may be older than what lies there now. Anything else is reported and left alone.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags};

use super::state::distrust;
use super::{Change, Entry, Journal, Owner, State, boot_id, name_of, owner_of};
use crate::group::cgroup;
use crate::group::delegation;
use crate::machine::peers;
use crate::machine::sysctl;
use crate::machine::zswap;
use crate::nodes::balancing;
use crate::sched::held::put_back_all;
use crate::system::privilege;
use crate::tier::area::Area;
use crate::tier::swapoff::Say;
use terrace_base::mounts;
use terrace_base::process::Figures;
use terrace_base::{Bytes, Context, Error, Result};

/// The magic numbers of the two versions of the cgroup file system (linux/magic.h).
const CGROUP_FILE_SYSTEMS: [u64; 2] = [0x0027_e0eb, 0x6367_7270];

/// Clock ticks in a second of the times in `/proc` (`USER_HZ`, include/asm-generic/param.h).
const USER_HZ: u64 = 100;
/// Seconds by which the clocks of files and of processes may differ.
const CLOCKS_DIFFER: u64 = 2;

/// The leftovers of one run.
#[derive(Debug)]
pub struct Leftover {
    /// Name of its journal; `None` if no journal names them ([`super::orphan`]).
    name: Option<OsString>,
    entry: Entry,
}

/// Contents of a state directory.
#[derive(Debug, Default)]
pub struct Found {
    /// Leftovers of killed runs.
    pub leftovers: Vec<Leftover>,
    /// What ended runs have left to running ones; empty if none runs, for then it is a leftover.
    pub handed_over: Vec<Leftover>,
    /// Number of running runs, those of other users among them.
    pub going_on: usize,
    /// A sentence for each file that has a journal's name but is not trusted.
    pub strays: Vec<String>,
    /// What readable journals name, those of running runs among them.
    pub(super) claimed: Vec<Change>,
}

/// What keeps a leftover from being undone for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// A process of the program.
    Program(u32),
    /// What is in its areas.
    Room,
    /// A mount that the kernel still takes for served.
    Mount,
    /// A group without processes that the kernel still takes for busy.
    Group,
}

/// Puts back what killed processes have left, as far as that is possible now, unless another process is at it.
pub(super) fn recover(state: &State) {
    let found = || Found::look(state).unwrap_or_default().leftovers;
    if found().is_empty() {
        return;
    }
    let Some(_turn) = state.try_turn() else {
        return;
    };
    for leftover in found() {
        // What is left stays in its journal, for the guardian of its process and for `terrace doctor`.
        leftover.clean(state, &mut |_| {});
    }
}

/// Result of cleaning, for people.
#[derive(Debug, Default)]
pub struct Cleaned {
    /// What was undone.
    pub done: Vec<String>,
    /// What was left alone, with the reason: a sentence each.
    pub left: Vec<String>,
}

impl Found {
    /// Reads the state directory. Files without a journal's name are ignored.
    ///
    /// # Errors
    /// A failure if the directory cannot be read.
    pub fn look(state: &State) -> Result<Self> {
        let mut found = Self::without(state, None)?;
        if found.going_on == 0 {
            found.leftovers.append(&mut found.handed_over);
        }
        Ok(found)
    }

    /// Reads what other runs have recorded beside this journal.
    ///
    /// # Errors
    /// A failure if the directory cannot be read.
    pub fn beside(journal: &Journal) -> Result<Self> {
        Self::without(&journal.state, Some(&journal.name))
    }

    fn without(state: &State, own: Option<&OsStr>) -> Result<Self> {
        let names = state.names();
        let what = || format!("cannot read the state directory {}", state.path().display());
        let mut names = names.or_fail(what)?;
        names.sort();
        names.retain(|name| owner_of(name).is_some() && Some(name.as_os_str()) != own);
        let mut found = Self::default();
        for name in names {
            if let Some(age) = state.age_of_closed(&name) {
                match owner_of(&name).is_some_and(|owner| is_older(owner, age)) {
                    true => found.going_on += 1,
                    false => found.strays.push(closed(&state.path().join(&name))),
                }
                continue;
            }
            let run = Entry::read(state, &name).map(|entry| {
                entry.map(|entry| Leftover {
                    name: Some(name),
                    entry,
                })
            });
            if let Ok(Some(run)) = &run {
                found.claimed.extend(run.entry.changes.iter().cloned());
            }
            match run {
                Ok(Some(run)) if run.entry.goes_on() => found.going_on += 1,
                Ok(Some(run)) if run.entry.ended => found.handed_over.push(run),
                Ok(left) => found.leftovers.extend(left),
                Err(stray) => found.strays.push(stray),
            }
        }
        Ok(found)
    }

    /// Returns what a process has changed, by its journals.
    pub(crate) fn changes_of(state: &State, owner: u32) -> Vec<Change> {
        let names = state.names().unwrap_or_default().into_iter();
        let own = names.filter(|name| owner_of(name) == Some(owner));
        let entries = own.filter_map(|name| Entry::read(state, &name).ok()?);
        entries.flat_map(|entry| entry.changes).collect()
    }

    /// Whether there are no leftovers.
    pub fn is_empty(&self) -> bool {
        self.leftovers.is_empty() && self.strays.is_empty()
    }
}

impl Leftover {
    /// Makes one of what no journal names: `changes` of a dead process with this number.
    pub(super) fn without_journal(pid: u32, changes: Vec<Change>) -> Self {
        let owner = Owner {
            pid,
            boot: boot_id(),
            started: 0,
        };
        Self {
            name: None,
            entry: Entry {
                owner,
                changes,
                ended: false,
            },
        }
    }

    /// Whether it has a change of this path.
    pub(super) fn names(&self, path: &Path) -> bool {
        self.entry.changes.iter().any(|change| change.is_at(path))
    }

    /// Returns the process whose run has left it.
    pub(crate) fn owner(&self) -> u32 {
        self.entry.owner.pid
    }

    /// Whether its run has ended and left it to runs that went on then.
    pub(crate) fn was_left_to_others(&self) -> bool {
        self.entry.ended
    }

    /// Returns what is to be waited for before the rest can be undone; `None` if waiting does not help.
    pub(crate) fn awaited(&self) -> Option<Awaited> {
        if let Some(process) = self.processes().first() {
            return Some(Awaited::Program(*process));
        }
        let is_mounted = |change: &Change| match change {
            Change::Mount(mountpoint) => mounts::is_mounted(mountpoint),
            _ => false,
        };
        if self.entry.changes.iter().any(is_mounted) {
            return Some(Awaited::Mount);
        }
        if self.pages() > Bytes(0) {
            return Some(Awaited::Room);
        }
        let is_there = |change: &Change| match change {
            Change::Cgroup(directory) => directory.exists(),
            _ => false,
        };
        let has_group = self.entry.changes.iter().any(is_there);
        has_group.then_some(Awaited::Group)
    }

    /// Tells what is left, for people.
    pub fn found(&self, state: &Path) -> Vec<String> {
        let rebooted = self.is_of_another_boot();
        let left = self.entry.changes.iter().filter(|it| it.is_left(rebooted));
        let found = left.map(|change| match self.name {
            Some(_) => change.found(),
            None => format!("{}, and no journal names it", change.found()),
        });
        let found: Vec<_> = found.collect();
        match &self.name {
            Some(name) if found.is_empty() => vec![format!("{} is there", journal(state, name))],
            _ => found,
        }
    }

    fn is_of_another_boot(&self) -> bool {
        self.entry.owner.boot != boot_id()
    }

    /// Returns the processes of the program that still run in its cgroup.
    pub fn processes(&self) -> Vec<u32> {
        self.cgroups()
            .filter(|path| self.hold_cgroup(path).is_ok())
            .flat_map(|path| cgroup::processes_in(path))
            .collect()
    }

    fn cgroups(&self) -> impl Iterator<Item = &PathBuf> {
        self.entry.changes.iter().filter_map(|change| match change {
            Change::Cgroup(path) => Some(path),
            _ => None,
        })
    }

    /// Undoes what can be undone: while the program still runs, all but its cgroup and tier. The journal
    /// then names only the rest, and is removed if nothing is left.
    pub fn clean(mut self, state: &State, say: Say) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let running = self.processes();
        let rebooted = self.is_of_another_boot();
        let mut kept = Vec::new();
        for change in self.entry.changes.iter().rev() {
            let stays = !matches!(
                change,
                Change::PageCluster(_)
                    | Change::Zswap(_)
                    | Change::Balancing(_)
                    | Change::Scheduling(_)
            );
            if stays && !running.is_empty() {
                kept.push(change.clone());
                continue;
            }
            let was_left = change.is_left(rebooted);
            match self.undo(change, state, say) {
                // What was planned and never made is nothing that anybody has lost.
                Ok(()) if !was_left => {}
                Ok(()) => cleaned.done.push(change.undone()),
                Err(error) if matches!(change, Change::Tier(area, _) if area.is_on()) => {
                    kept.push(change.clone());
                    cleaned
                        .left
                        .push(format!("{error}; clean again when they have ended"));
                }
                Err(error) => {
                    kept.push(change.clone());
                    cleaned.left.push(format!(
                        "{change} was left: {error}; {}",
                        self.by_hand(state)
                    ));
                }
            }
        }
        if let Some(process) = running.first() {
            cleaned.left.push(format!(
                "the program of a killed run still runs (process {process}) and keeps its cgroup \
                 and tier; clean again when it has ended"
            ));
        }
        if kept.len() == self.entry.changes.len() && !kept.is_empty() {
            return cleaned;
        }
        kept.reverse();
        self.entry.changes = kept;
        match self.save(state) {
            Err(error) => cleaned.left.push(error.to_string()),
            Ok(()) => cleaned.done.extend(self.journal_alone(state, &cleaned)),
        }
        cleaned
    }

    /// Returns what to do about a change that cannot be undone here.
    fn by_hand(&self, state: &State) -> String {
        let journal = self.name.as_ref().map(|name| state.path().join(name));
        let journal = journal.map(|it| format!(", then remove {}", it.display()));
        format!("see to it by hand{}", journal.unwrap_or_default())
    }

    /// Tells of a journal that has named nothing that was left, and is removed.
    fn journal_alone(&self, state: &State, cleaned: &Cleaned) -> Option<String> {
        let is_alone = cleaned.done.is_empty() && cleaned.left.is_empty();
        let name = self.name.as_ref().filter(|_| is_alone)?;
        Some(format!("{} is removed", journal(state.path(), name)))
    }

    /// Returns how much of the areas is in use.
    pub(crate) fn pages(&self) -> Bytes {
        let areas = self.entry.changes.iter().filter_map(|change| match change {
            Change::Tier(area, _) => Some(area.used().0),
            _ => None,
        });
        Bytes(areas.sum())
    }

    /// Removes the areas that an ended run has handed over.
    ///
    /// # Errors
    /// A failure if an area cannot be removed; the journal stays then.
    pub(crate) fn take_over(self, state: &State, say: Say) -> Result<()> {
        let mut changes = self.entry.changes.iter();
        let is_area = |change: &&Change| matches!(change, Change::Tier(..));
        changes
            .clone()
            .rev()
            .filter(is_area)
            .try_for_each(|area| self.undo(area, state, say))?;
        if let Some(name) = self
            .name
            .as_ref()
            .filter(|_| changes.all(Change::is_undone))
        {
            // The ended run may have removed it itself just now.
            let _ = state.remove(name);
        }
        Ok(())
    }

    fn save(&self, state: &State) -> Result<()> {
        let Some(name) = &self.name else {
            return Ok(());
        };
        let shown = || format!("cannot write {}", state.path().join(name).display());
        if self.entry.changes.is_empty() {
            state.remove(name).or_fail(shown)
        } else {
            let text = self.entry.text();
            let written = text.and_then(|text| state.write(name, &text));
            written.or_fail(shown)
        }
    }

    fn undo(&self, change: &Change, state: &State, say: Say) -> Result<()> {
        let rebooted = self.is_of_another_boot();
        match change {
            // The boot has undone these; what has their names now is not ours.
            Change::PageCluster(_)
            | Change::Zswap(_)
            | Change::Balancing(_)
            | Change::Scheduling(_)
            | Change::Cgroup(_)
            | Change::Callers(_)
            | Change::Mount(_)
            | Change::Mounts
                if rebooted =>
            {
                Ok(())
            }
            Change::Tier(area, _) if rebooted && !area.outlives_boot() => Ok(()),
            Change::PageCluster(_) => sysctl::restore(state.path()),
            Change::Zswap(_) => zswap::restore(state.path()),
            Change::Balancing(_) => balancing::restore(state.path()),
            Change::Scheduling(tasks) => {
                let done = put_back_all(tasks);
                done.or_fail(|| "they cannot be put back".into())
            }
            Change::Tier(area, identity) => {
                match area {
                    Area::File(path, _) => self.hold_name(path)?,
                    Area::Device(path) => hold_device(path)?,
                    Area::Zram(..) => {}
                }
                area.remove(identity, rebooted, say)
            }
            Change::Cgroup(path) => {
                self.hold_cgroup(path)?;
                let removed = cgroup::remove(path);
                removed.or_fail(|| "it cannot be removed".into())
            }
            Change::Mount(mountpoint) => self.unmount(mountpoint, state),
            Change::Mounts => peers::restore(state.path()),
            Change::Callers(leaf) => {
                if leaf.file_name() != Some(OsStr::new(delegation::CALLERS)) {
                    return Err(Error::failure("this is no name that a run gives"));
                }
                hold_group(leaf)?;
                delegation::undo(leaf).or_fail(|| "it cannot be removed".into())
            }
        }
    }

    /// Unmounts what no process serves any more. What is mounted there may be of a later process.
    fn unmount(&self, mountpoint: &Path, state: &State) -> Result<()> {
        let unmounted = mounts::unmount_dead(mountpoint);
        let dead = unmounted.or_fail(|| "it cannot be unmounted".into())?;
        if dead || !mounts::is_mounted(mountpoint) {
            return Ok(());
        }
        let names = state.names().unwrap_or_default().into_iter();
        let others =
            names.filter(|name| Some(name) != self.name.as_ref() && owner_of(name).is_some());
        let mut others = others.filter_map(|name| Entry::read(state, &name).ok()?);
        let noted = Change::Mount(mountpoint.to_owned());
        match others.any(|entry| entry.goes_on() && entry.changes.contains(&noted)) {
            true => Ok(()),
            false => Err(Error::failure("a process serves it")),
        }
    }

    /// Checks that a file or group has a name of this run: the run's own, and any suffix.
    fn hold_name(&self, path: &Path) -> Result<()> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let rest = name.strip_prefix(&name_of(self.entry.owner.pid));
        match rest {
            Some(rest) if !rest.starts_with(|c: char| c.is_ascii_digit()) => Ok(()),
            _ => Err(Error::failure("this is no name that the run gives")),
        }
    }

    /// Checks that a group is one that this run makes, if it exists.
    fn hold_cgroup(&self, path: &Path) -> Result<()> {
        self.hold_name(path)?;
        hold_group(path)
    }
}

/// Whether a process runs that is older than this, as the writer of a journal of this age is.
pub(super) fn is_older(pid: u32, age: Duration) -> bool {
    let Some(figures) = Figures::of(pid).ok().flatten().filter(|it| !it.has_ended) else {
        return false;
    };
    let since_boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let started = figures.started / USER_HZ;
    let runs_for = (since_boot.tv_sec as u64).saturating_sub(started);
    runs_for + CLOCKS_DIFFER >= age.as_secs()
}

/// Names a journal that has nothing to tell any more.
fn journal(state: &Path, name: &OsStr) -> String {
    let path = state.join(name);
    format!(
        "the journal {} of a killed run, of which nothing else is left,",
        path.display()
    )
}

/// A sentence on a journal that this user may not read, and whose run was killed.
fn closed(journal: &Path) -> String {
    format!(
        "{} is the journal of another user's run, which was killed; to see and undo what it left, run: {}",
        journal.display(),
        privilege::as_root()
    )
}

/// Checks that a path leads to a block device, if it exists, so that nothing is written to a file.
fn hold_device(path: &Path) -> Result<()> {
    match fs::metadata(path) {
        Ok(found) if !found.file_type().is_block_device() => Err(Error::failure(format!(
            "{} is no block device",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Checks that a directory is a cgroup of root or the caller, if it exists.
pub(super) fn hold_group(path: &Path) -> Result<()> {
    let cannot = |e: rustix::io::Errno| Error::failure(format!("it cannot be looked at ({e})"));
    let directory = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let group = match rustix::fs::openat(CWD, path, directory, Mode::empty()) {
        Ok(group) => group,
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(e) => return Err(cannot(e)),
    };
    let system = rustix::fs::fstatfs(&group).map_err(cannot)?;
    if !CGROUP_FILE_SYSTEMS.contains(&(system.f_type as u64)) {
        return Err(Error::failure("it is in no cgroup file system"));
    }
    let found = rustix::fs::fstat(&group).map_err(cannot)?;
    match distrust(&found) {
        Some(why) => Err(Error::failure(format!("it {why}"))),
        None => Ok(()),
    }
}
