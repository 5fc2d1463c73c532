//! Contents of a journal's file: the changes, and the process that made them.

use std::ffi::OsStr;
use std::fs;
use std::io;

use serde::{Deserialize, Serialize};
use terrace_base::Error;
use terrace_base::process::Figures;

use super::change::Change;
use super::names::owner_of;
use super::state::{State, Unread};

/// A process, with its start time, which tells it from a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Owner {
    pub pid: u32,
    /// Id of this boot, by the kernel.
    pub boot: String,
    /// Clock ticks after boot (`/proc/PID/stat`, field 22).
    pub started: u64,
}

/// Contents of a journal's file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub owner: Owner,
    pub changes: Vec<Box<dyn Change>>,
    /// Whether the run has ended and left the rest to runs that go on (`tier::neighbours`).
    #[serde(default)]
    pub ended: bool,
}

impl Entry {
    /// Reads a journal; `None` if its run has just ended. The error is a sentence why the file is
    /// left alone.
    pub fn read(state: &State, name: &OsStr) -> std::result::Result<Option<Self>, String> {
        let shown = state.path().join(name);
        let shown = shown.display();
        let text = match state.read(name) {
            Ok(text) => text,
            Err(Unread::Gone) => return Ok(None),
            Err(Unread::Untrusted(why)) => {
                let sentence = format!(
                    "{shown} {why}, so it is not trusted and is left alone; if nobody needs it, \
                     remove it (rm {shown})"
                );
                // Without the system's error number, as in all sentences.
                return Err(Error::failure(sentence).to_string());
            }
        };
        let Ok(entry) = serde_json::from_str::<Self>(&text) else {
            return Err(format!(
                "{shown} is no journal of this version of terrace, or was cut off, and is left \
                 alone; what it named is looked for without it; if nobody needs it, remove it \
                 (rm {shown})"
            ));
        };
        if owner_of(name) != Some(entry.owner.pid) {
            return Err(format!(
                "{shown} is the journal of another process than its name says and is left alone"
            ));
        }
        Ok(Some(entry))
    }

    pub fn goes_on(&self) -> bool {
        self.owner.is_alive() && !self.ended
    }

    pub fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

impl Owner {
    pub fn of(pid: u32) -> Option<Self> {
        // One that was killed does nothing more, whether its parent has asked for its end or not.
        let figures = Figures::of(pid).ok()?.filter(|it| !it.has_ended)?;
        Some(Self {
            pid,
            boot: boot_id(),
            started: figures.started,
        })
    }

    fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// Returns the id of this boot, by the kernel.
pub(crate) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
