//! The journal of a run: each change of the machine is on disk before it is made.
//!
//! Each run has a file in the state directory, which is removed when all changes are undone. After a
//! `kill -9` it stays, and tells `terrace doctor --clean` what belongs to the run ([`leftover`]).

pub mod leftover;
pub(crate) mod orphan;
pub(crate) mod state;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::group::cgroup;
use crate::group::delegation;
use crate::machine::guardian::Guardian;
use crate::machine::peers;
use crate::machine::sysctl;
use crate::sched::held::Held;
use crate::tier::area::Area;
use crate::tier::identity::Identity;
use terrace_base::mounts;
use terrace_base::process::Figures;
use terrace_base::{Context, Error, Result};

pub use state::{State, Unread};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A swap area was made.
    Tier(Area, Identity),
    /// A cgroup was made.
    Cgroup(PathBuf),
    /// The processes beside the program's cgroup were moved to this one.
    Callers(PathBuf),
    /// `vm.page-cluster` was taken over; this was its value.
    PageCluster(String),
    /// The parameters of zswap were taken over; these were their values.
    Zswap(String),
    /// The kernel's NUMA balancing was taken over; this was its mode.
    Balancing(String),
    /// How tasks are scheduled was changed; this is what was found.
    Scheduling(Vec<Held>),
    /// A directory was mounted on.
    Mount(PathBuf),
    /// Private mounts became shared.
    Mounts,
}

/// A process, with its start time, which tells it from a later one of the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Owner {
    pid: u32,
    /// Id of this boot, by the kernel.
    boot: String,
    /// Clock ticks after boot (`/proc/PID/stat`, field 22).
    started: u64,
}

/// Contents of a journal's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    owner: Owner,
    changes: Vec<Change>,
    /// Whether the run has ended and left the rest to runs that go on (`neighbours`).
    #[serde(default)]
    ended: bool,
}

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

/// Returns `$TERRACE_STATE_DIR`, or the system's directory for state.
pub fn state_directory() -> PathBuf {
    std::env::var_os("TERRACE_STATE_DIR").map_or("/var/lib/terrace".into(), PathBuf::from)
}

impl Journal {
    /// Begins a journal in the directory `state`, which is made if it is missing, and puts back what killed processes
    /// have left there.
    ///
    /// # Errors
    /// A failure if that cannot be written, or users other than root and the caller can write there.
    pub fn begin(state: &Path) -> Result<Self> {
        let pid = std::process::id();
        let state = State::make(state)?;
        let owner = Owner::of(pid).ok_or_else(|| Error::failure("/proc is not mounted"))?;
        leftover::recover(&state);
        // What an earlier session of this process has left to other runs keeps its name, and so does what is left of a
        // killed process that had this one's number.
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
    /// A failure if the file cannot be written, or no guardian started: then nothing may be changed.
    pub fn note(&mut self, change: Change) -> Result<()> {
        if self.guardian.is_none() {
            self.guardian = Guardian::start(self.state.path())?;
        }
        let outlasts_stops = !matches!(change, Change::PageCluster(_) | Change::Scheduling(_));
        if let Some(guardian) = self.guardian.as_mut().filter(|_| !outlasts_stops) {
            guardian.look_for_stops();
        }
        let changes = &mut self.entry.changes;
        match changes.iter_mut().find(|noted| noted.is_of(&change)) {
            Some(noted) if *noted == change => return Ok(()),
            Some(noted) => *noted = change,
            None => changes.push(change),
        }
        self.save()
    }

    /// Forgets a change that was recorded and not made.
    ///
    /// # Errors
    /// A failure if the file cannot be written.
    pub(crate) fn forget(&mut self, change: &Change) -> Result<()> {
        self.entry.changes.retain(|noted| !noted.is_of(change));
        self.save()
    }

    /// Records that this run is over. Running runs remove what is left of it when they end, and leave
    /// nothing to it any more.
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
        left.map(Change::to_string).collect()
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
        let undone = self.entry.changes.iter().all(Change::is_undone);
        match undone {
            true => drop(self.state.remove(&self.name)),
            // It puts back the rest when that is possible.
            false => self.leave_guardian(),
        }
    }
}

impl Entry {
    /// Reads a journal; `None` if its run has just ended. The error is a sentence why the file is left
    /// alone.
    fn read(state: &State, name: &OsStr) -> std::result::Result<Option<Self>, String> {
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

    fn goes_on(&self) -> bool {
        self.owner.is_alive() && !self.ended
    }

    fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }
}

/// Returns the prefix of all names of a run.
fn name_of(pid: u32) -> String {
    format!("{}{pid}", cgroup::PREFIX)
}

/// Returns the name of a process's journal: of its first session, or a later one.
fn journal_of(pid: u32, session: usize) -> OsString {
    match session {
        1 => format!("run-{pid}.json").into(),
        _ => format!("run-{pid}-s{session}.json").into(),
    }
}

/// Returns the process whose journal has this name; `None` for other names.
fn owner_of(name: &OsStr) -> Option<u32> {
    let text = name.to_str()?.strip_prefix("run-")?;
    let text = text.strip_suffix(".json")?;
    let (pid, session) = text.split_once("-s").unwrap_or((text, "1"));
    let (pid, session) = (pid.parse().ok()?, session.parse().ok()?);
    (journal_of(pid, session) == name).then_some(pid)
}

impl Owner {
    fn of(pid: u32) -> Option<Self> {
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

/// Id of this boot, by the kernel.
pub(crate) fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

impl Change {
    /// Whether both concern the same thing.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tier(area, _), Self::Tier(another, _)) => area == another,
            (Self::Scheduling(_), Self::Scheduling(_)) => true,
            _ => self == other,
        }
    }

    /// Whether it is one of the area or group at this path.
    fn is_at(&self, path: &Path) -> bool {
        match self {
            Self::Tier(area, _) => area.path() == path,
            Self::Cgroup(at) | Self::Callers(at) => at == path,
            _ => false,
        }
    }

    fn is_undone(&self) -> bool {
        match self {
            Self::Tier(area, _) => area.is_undone(),
            Self::Cgroup(path) => !path.exists(),
            Self::Callers(leaf) => delegation::is_undone(leaf),
            Self::PageCluster(_) | Self::Zswap(_) | Self::Balancing(_) => true,
            Self::Mounts => peers::is_restored(&state_directory()),
            Self::Scheduling(tasks) => tasks.iter().all(Held::is_put_back),
            Self::Mount(mountpoint) => !mounts::is_mounted(mountpoint),
        }
    }

    /// Whether something of it is left on this machine, which was started anew since if `rebooted`.
    fn is_left(&self, rebooted: bool) -> bool {
        match self {
            // What they are now does not tell; a boot sets them as the machine has them.
            Self::PageCluster(_) | Self::Zswap(_) | Self::Balancing(_) => !rebooted,
            Self::Tier(area, _) => !area.is_undone() && (!rebooted || area.outlives_boot()),
            _ => !rebooted && !self.is_undone(),
        }
    }

    /// Returns what is found of it while it is left, as a sentence for people without its full
    /// stop.
    fn found(&self) -> String {
        match self {
            Self::Tier(area, _) if area.is_on() => format!("{self} is on"),
            Self::PageCluster(before) | Self::Balancing(before) | Self::Zswap(before) => {
                format!("{self} was {before} before")
            }
            Self::Mounts => "mounts that were private are shared".to_owned(),
            Self::Scheduling(_) => format!("{self} is changed"),
            _ => format!("{self} is there"),
        }
    }

    /// Returns what has become of it now that it is undone, as [`Change::found`].
    fn undone(&self) -> String {
        match self {
            Self::PageCluster(before) => match sysctl::current() {
                Some(now) if now != *before => {
                    format!("{self} stays {now}, which another program has set")
                }
                _ => format!("{self} is {before} again"),
            },
            Self::Balancing(before) | Self::Zswap(before) => format!("{self} is {before} again"),
            Self::Mounts => "mounts that were shared for programs are private again".to_owned(),
            Self::Scheduling(_) => format!("{self} is as before"),
            _ => format!("{self} is removed"),
        }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tier(area, _) => write!(f, "the swap area {}", area.path().display()),
            Self::Cgroup(path) | Self::Callers(path) => write!(f, "the cgroup {}", path.display()),
            Self::PageCluster(_) => write!(f, "vm.page-cluster"),
            Self::Zswap(_) => write!(f, "zswap"),
            Self::Balancing(_) => write!(f, "the mode of NUMA balancing"),
            Self::Mount(mountpoint) => write!(f, "the mount on {}", mountpoint.display()),
            Self::Mounts => write!(f, "the sharing of mounts"),
            Self::Scheduling(tasks) => {
                let tasks: Vec<_> = tasks.iter().map(|task| task.tid.to_string()).collect();
                write!(f, "the scheduling of the tasks {}", tasks.join(", "))
            }
        }
    }
}
