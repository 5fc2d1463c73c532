//! The journal of a run: each change of the machine is on disk before it is made.
//!
//! Each run has a file in the state directory, which is removed when all changes are undone. After
//! a `kill -9` it stays, and tells `terrace doctor --clean` what belongs to the run ([`leftover`]).

mod change;
mod entry;
mod guardian;
pub mod leftover;
pub(crate) mod names;
pub(crate) mod state;
#[cfg(test)]
mod tests;
pub mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use terrace_base::{Context, Error, Result};

pub use change::{Awaited, Change, DeadRun};
pub(crate) use entry::boot_id;
use entry::{Entry, Owner};
use guardian::Guardian;
pub use guardian::serve_by;
use leftover::Found;
use names::{journal_of, name_of};
pub use state::{State, state_directory};

/// The journal of this run; dropping it removes the file.
#[derive(Debug)]
pub struct Journal {
    state: State,
    name: OsString,
    /// Number of the journal in this process, from 1.
    session: usize,
    entry: Entry,
    /// Puts back what is in the journal if this process is killed; there from the first change on.
    guardian: Option<Guardian>,
}

impl Journal {
    /// Begins a journal in the directory `state`, which is made if it is missing, and puts back
    /// what killed processes have left there.
    ///
    /// # Errors
    /// A failure if that cannot be written, or users other than root and the caller can write
    /// there.
    pub fn begin(state: &Path) -> Result<Self> {
        let pid = std::process::id();
        let state = State::make(state)?;
        let owner = Owner::of(pid).ok_or_else(|| Error::failure("/proc is not mounted"))?;
        leftover::recover(&state);
        // What an earlier session of this process has left to other runs keeps its name, and so
        // does what is left of a killed process that had this one's number.
        let mut sessions = (1..).map(|session| (session, journal_of(pid, session)));
        let (session, name) = sessions
            .find(|(_, name)| !state.has(name))
            .unwrap_or((1, journal_of(pid, 1)));
        Ok(Self {
            state,
            name,
            session,
            entry: Entry {
                owner,
                changes: Vec::new(),
                ended: false,
            },
            guardian: None,
        })
    }

    /// Returns the state directory.
    pub fn state(&self) -> &Path {
        self.state.path()
    }

    /// Returns a name for something of this run.
    pub fn name(&self) -> String {
        let name = name_of(self.entry.owner.pid);
        match self.session {
            1 => name,
            session => format!("{name}-s{session}"),
        }
    }

    /// Returns the path of a file of this run in `directory`.
    pub fn path_for(&self, directory: &Path, extension: &str) -> PathBuf {
        let absolute = directory.canonicalize();
        let name = format!("{}.{extension}", self.name());
        absolute.unwrap_or_else(|_| directory.to_owned()).join(name)
    }

    /// Records a change that is about to be made, or more about a recorded area.
    ///
    /// # Errors
    /// A failure if the file cannot be written, or no guardian started: then nothing may be
    /// changed.
    pub fn note(&mut self, change: impl Change + 'static) -> Result<()> {
        if self.guardian.is_none() {
            self.guardian = Guardian::start(self.state.path())?;
        }
        let outlasts_stops = change.outlasts_stops();
        if let Some(guardian) = self.guardian.as_mut().filter(|_| !outlasts_stops) {
            guardian.look_for_stops();
        }
        let change: Box<dyn Change> = Box::new(change);
        let changes = &mut self.entry.changes;
        match changes.iter_mut().find(|noted| noted.is_of(&*change)) {
            Some(noted) if noted.equals(&*change) => return Ok(()),
            Some(noted) => *noted = change,
            None => changes.push(change),
        }
        self.save()
    }

    /// Forgets a change that was recorded and not made.
    ///
    /// # Errors
    /// A failure if the file cannot be written.
    pub(crate) fn forget(&mut self, change: &dyn Change) -> Result<()> {
        self.entry.changes.retain(|noted| !noted.is_of(change));
        self.save()
    }

    /// Records that this run is over. Running runs remove what is left of it when they end, and
    /// leave nothing to it any more.
    ///
    /// # Errors
    /// A failure if the file cannot be written.
    pub fn end(&mut self) -> Result<()> {
        if self.entry.changes.is_empty() {
            return Ok(());
        }
        self.entry.ended = true;
        self.save()
    }

    /// Leaves its guardian to put back what ended runs have left to this one.
    pub(crate) fn leave_guardian(&mut self) {
        self.guardian.take().into_iter().for_each(Guardian::leave);
    }

    /// Names the changes that are not undone, for people.
    pub fn left(&self) -> Vec<String> {
        let changes = self.entry.changes.iter();
        let left = changes.filter(|change| !change.is_undone());
        left.map(ToString::to_string).collect()
    }

    /// Reads what other runs have recorded beside this journal.
    ///
    /// # Errors
    /// A failure if the directory cannot be read.
    pub(crate) fn others(&self) -> Result<Found> {
        Found::beside(&self.state, &self.name)
    }

    /// Returns the opened directory of the journals.
    pub(crate) fn directory(&self) -> &State {
        &self.state
    }

    fn save(&self) -> Result<()> {
        let text = self.entry.text();
        let written = text.and_then(|text| self.state.write(&self.name, &text));
        let file = || self.state.path().join(&self.name);
        written.or_fail(|| format!("cannot write {}", file().display()))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let undone = self.entry.changes.iter().all(|change| change.is_undone());
        match undone {
            true => drop(self.state.remove(&self.name)),
            // It puts back the rest when that is possible.
            false => self.leave_guardian(),
        }
    }
}
