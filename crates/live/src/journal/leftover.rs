//! Leftovers of killed runs: found by their journals, and undone if they are what a run makes.
//!
//! A journal is trusted if only root or the caller can have written it ([`State::read`]). Even so,
//! each thing that it names is compared with what a run makes before it is touched: names are
//! reused, and a journal may be older than what lies there now. Anything else is reported and left
//! alone.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use terrace_base::process::Figures;
use terrace_base::{Bytes, Context, Result};

use super::change::{Awaited, Change, DeadRun};
use super::entry::{Entry, Owner, boot_id};
use super::names::owner_of;
use super::state::State;
use crate::system::lock::Say;
use crate::system::privilege;

/// Clock ticks in a second of the times in `/proc` (`USER_HZ`, include/asm-generic/param.h).
const USER_HZ: u64 = 100;
/// Seconds by which the clocks of files and of processes may differ.
const CLOCKS_DIFFER: u64 = 2;

/// The leftovers of one run.
#[derive(Debug)]
pub struct Leftover {
    /// Name of its journal; `None` if no journal names them (`doctor::orphan`).
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
    /// Areas and groups that readable journals name, those of running runs among them.
    pub(crate) claimed: Vec<PathBuf>,
}

/// Puts back what killed processes have left, as far as that is possible now, unless another
/// process is at it.
pub(super) fn recover(state: &State) {
    let found = || Found::look(state).unwrap_or_default().leftovers;
    if found().is_empty() {
        return;
    }
    let Some(_turn) = state.try_turn() else {
        return;
    };
    for leftover in found() {
        // What is left stays in its journal, for the guardian of its process and for `terrace
        // doctor`.
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
    pub(super) fn beside(state: &State, journal: &OsStr) -> Result<Self> {
        Self::without(state, Some(journal))
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
                let changes = run.entry.changes.iter();
                found.claimed.extend(changes.filter_map(|it| it.path()));
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
    pub(super) fn changes_of(state: &State, owner: u32) -> Vec<Box<dyn Change>> {
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
    pub(crate) fn without_journal(pid: u32, changes: Vec<Box<dyn Change>>) -> Self {
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
    pub(crate) fn names(&self, path: &Path) -> bool {
        let mut paths = self.entry.changes.iter().filter_map(|change| change.path());
        paths.any(|it| it == path)
    }

    /// Returns the process whose run has left it.
    pub(crate) fn owner(&self) -> u32 {
        self.entry.owner.pid
    }

    /// Whether its run has ended and left it to runs that went on then.
    pub(crate) fn was_left_to_others(&self) -> bool {
        self.entry.ended
    }

    /// Returns what is to be waited for before the rest can be undone; `None` if waiting does not
    /// help.
    pub(super) fn awaited(&self) -> Option<Awaited> {
        let changes = self.entry.changes.iter();
        changes.filter_map(|it| it.awaited(self.owner())).min()
    }

    /// Returns the processes whose end is waited for, for what is waited for.
    pub(super) fn programs(&self, awaited: &Awaited) -> Vec<u32> {
        let mut changes = self.entry.changes.iter();
        match awaited {
            Awaited::Program(process) => vec![*process],
            Awaited::Room => changes.find_map(|it| it.holders()).unwrap_or_default(),
            Awaited::Mount | Awaited::Group => Vec::new(),
        }
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
        let changes = self.entry.changes.iter();
        changes.flat_map(|it| it.processes(self.owner())).collect()
    }

    /// Undoes what can be undone: while the program still runs, all but its cgroup and tier. The
    /// journal then names only the rest, and is removed if nothing is left.
    pub fn clean(mut self, state: &State, say: Say) -> Cleaned {
        let mut cleaned = Cleaned::default();
        let running = self.processes();
        let rebooted = self.is_of_another_boot();
        let planned = std::mem::take(&mut self.entry.changes);
        let before = planned.len();
        for change in planned.into_iter().rev() {
            if change.is_the_programs() && !running.is_empty() {
                self.entry.changes.push(change);
                continue;
            }
            let was_left = change.is_left(rebooted);
            match self.undo(&*change, state, say) {
                // What was planned and never made is nothing that anybody has lost.
                Ok(()) if !was_left => {}
                Ok(()) => cleaned.done.push(change.undone()),
                Err(error) => {
                    cleaned.left.push(match change.is_in_use() {
                        true => format!("{error}; clean again when they have ended"),
                        false => format!("{change} was left: {error}; {}", self.by_hand(state)),
                    });
                    self.entry.changes.push(change);
                }
            }
        }
        self.entry.changes.reverse();
        if let Some(process) = running.first() {
            cleaned.left.push(format!(
                "the program of a killed run still runs (process {process}) and keeps its cgroup \
                 and tier; clean again when it has ended"
            ));
        }
        if self.entry.changes.len() == before && before > 0 {
            return cleaned;
        }
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
        let shared = self.entry.changes.iter().filter_map(|it| it.shared());
        Bytes(shared.map(|used| used.0).sum())
    }

    /// Removes the areas that an ended run has handed over.
    ///
    /// # Errors
    /// A failure if an area cannot be removed; the journal stays then.
    pub(crate) fn take_over(self, state: &State, say: Say) -> Result<()> {
        let changes = || self.entry.changes.iter();
        let mut shared = changes().rev().filter(|it| it.shared().is_some());
        shared.try_for_each(|area| self.undo(&**area, state, say))?;
        let is_done = changes().all(|change| change.is_undone());
        if let Some(name) = self.name.as_ref().filter(|_| is_done) {
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

    fn undo(&self, change: &dyn Change, state: &State, say: Say) -> Result<()> {
        let run = DeadRun {
            owner: self.owner(),
            rebooted: self.is_of_another_boot(),
            state,
            is_anothers: &|change| self.is_anothers(change, state),
        };
        // The boot has undone the others; what has their names now is not ours.
        match run.rebooted && !change.outlives_boot() {
            true => Ok(()),
            false => change.undo(&run, say),
        }
    }

    /// Whether the journal of a run that goes on has the same change.
    fn is_anothers(&self, change: &dyn Change, state: &State) -> bool {
        let names = state.names().unwrap_or_default().into_iter();
        let others =
            names.filter(|name| Some(name) != self.name.as_ref() && owner_of(name).is_some());
        let mut others = others.filter_map(|name| Entry::read(state, &name).ok()?);
        others.any(|entry| entry.goes_on() && entry.changes.iter().any(|it| it.equals(change)))
    }
}

/// Whether a process runs that is older than this, as the writer of a journal of this age is.
pub(crate) fn is_older(pid: u32, age: Duration) -> bool {
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
        "the journal {} of a killed run, which left nothing else,",
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
