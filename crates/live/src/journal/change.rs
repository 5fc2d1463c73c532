//! A change on the machine that a run makes, notes in its journal first, and undoes.
//!
//! The journal knows no kind of change. Each kind implements [`Change`] beside the code that makes
//! the change, and gives itself a name in the journal (`#[typetag::serde(name = "...")]`), by which
//! a journal of a killed run finds it again.

use std::fmt;
use std::path::{Path, PathBuf};

use terrace_base::{Bytes, Result};

use super::state::State;
use crate::system::lock::Say;

/// A kind of change. Its `Display` names what is changed, as part of a sentence.
#[typetag::serde]
pub trait Change: fmt::Debug + fmt::Display + Send + Sync {
    /// Identifies what is changed where that is less than the whole record: a later change of the
    /// same subject replaces the earlier one in the journal.
    fn subject(&self) -> Option<String> {
        None
    }

    /// Returns the path of the swap area or control group that was made; `None` for other changes.
    fn path(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the value before of a setting of the machine that was taken over; `None` for other
    /// changes. What the setting is now does not tell whether it is undone: its owner restores it.
    fn before(&self) -> Option<&str> {
        None
    }

    /// Whether nothing of it is left, as far as that can be seen.
    fn is_undone(&self) -> bool {
        self.before().is_some()
    }

    /// Whether something of it can be left after a boot of the machine.
    fn outlives_boot(&self) -> bool {
        false
    }

    /// Whether something of it is left on this machine, which was started anew since if `rebooted`.
    fn is_left(&self, rebooted: bool) -> bool {
        match self.before() {
            // A boot sets it as the machine has it.
            Some(_) => !rebooted,
            None => !self.is_undone() && (!rebooted || self.outlives_boot()),
        }
    }

    /// Returns what is found of it while it is left, as a sentence for people without its full
    /// stop.
    fn found(&self) -> String {
        match self.before() {
            Some(before) => format!("{self} was {before} before"),
            None => format!("{self} is there"),
        }
    }

    /// Returns what has become of it now that it is undone, as [`Change::found`].
    fn undone(&self) -> String {
        match self.before() {
            Some(before) => format!("{self} is {before} again"),
            None => format!("{self} is removed"),
        }
    }

    /// Undoes it for a run that has ended. What is waited for is told to `say`. Called only if it
    /// can be left: after a boot only if it outlives one.
    ///
    /// # Errors
    /// A failure if what is there is not the run's, or it cannot be undone now.
    fn undo(&self, run: &DeadRun, say: Say) -> Result<()>;

    /// Whether the program needs it: then it is undone after the end of the program.
    fn is_the_programs(&self) -> bool {
        self.before().is_none()
    }

    /// Whether it may stay while its process is stopped (`SIGSTOP`).
    fn outlasts_stops(&self) -> bool {
        true
    }

    /// Puts it back while its process `owner` is stopped. It stays in the journal.
    fn suspend(&self, _state: &Path, _owner: u32) {}

    /// Makes it again, because its process `owner` goes on.
    fn resume(&self, _state: &Path, _owner: u32) {}

    /// Ends what keeps its killed process from ending.
    fn abort(&self) {}

    /// Returns the processes of the program that it shows, of the run of `owner`.
    fn processes(&self, _owner: u32) -> Vec<u32> {
        Vec::new()
    }

    /// Returns what has to end before it can be undone for the run of `owner`; `None` if waiting
    /// does not help.
    fn awaited(&self, _owner: u32) -> Option<Awaited> {
        None
    }

    /// Returns the processes of this machine that have something in swap areas, if it is one;
    /// `None` for other changes.
    fn holders(&self) -> Option<Vec<u32>> {
        None
    }

    /// Returns the bytes of programs in it, where other runs may have some; `None` where they
    /// cannot: only what they may use is left to them.
    fn shared(&self) -> Option<Bytes> {
        None
    }

    /// Whether programs keep it from being undone: it is undone when they have ended.
    fn is_in_use(&self) -> bool {
        false
    }
}

/// What keeps a change from being undone for now, in the order in which it is waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Awaited {
    /// The program: one of its processes.
    Program(u32),
    /// A mount that the kernel still takes for served.
    Mount,
    /// Room for what is in swap areas: the end of processes that have something there.
    Room,
    /// A group without processes that the kernel still takes for busy.
    Group,
}

/// The run whose change is undone.
pub struct DeadRun<'a> {
    /// Number of its process.
    pub owner: u32,
    /// Whether the machine was started anew since.
    pub rebooted: bool,
    /// The state directory.
    pub state: &'a State,
    /// Whether the journal of a run that goes on has the same change.
    pub is_anothers: &'a dyn Fn(&dyn Change) -> bool,
}

impl dyn Change + '_ {
    /// Whether both are of the same subject.
    pub fn is_of(&self, other: &dyn Change) -> bool {
        match (self.subject(), other.subject()) {
            (Some(one), Some(another)) => {
                self.typetag_name() == other.typetag_name() && one == another
            }
            _ => self.equals(other),
        }
    }

    /// Whether both are the same in all.
    pub(super) fn equals(&self, other: &dyn Change) -> bool {
        let text = |change: &dyn Change| serde_json::to_string(change).ok();
        text(self).is_some_and(|one| Some(one) == text(other))
    }
}
