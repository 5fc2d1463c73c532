//! `vm.page-cluster`: how many neighbours in the swap area the kernel reads with a page (2^n).
//!
//! The knob is one for the whole machine. One run at a time owns it, by a lock; others leave it
//! alone. A value that an administrator writes meanwhile is reported, and left as it is. Only uid 0
//! may write it, whatever capabilities a user has; in a container it may be read-only.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use crate::journal::{Change, DeadRun};
use crate::system::lock::Say;
use crate::system::privilege;
use crate::system::trust::distrust;
use terrace_base::{Context, Error, Result, lock};

const KNOB: &str = "/proc/sys/vm/page-cluster";
const LOCK: &str = "terrace-page-cluster.lock";
/// Its value for one page a fault.
const SINGLE: &str = "0";
/// Directory for files that do not outlive a boot.
const RUN: &str = "/run";
/// How often the guardian looks whether an owner that goes on has written the knob.
const LOOKS: usize = 100_000;

/// Ownership of the knob, which is restored when dropped.
#[derive(Debug)]
pub struct PageCluster {
    hand: Hand,
    /// Locked while this process owns the knob; contains the value to restore after a `kill -9`,
    /// the number of this process, and whose value the knob has.
    lock: File,
}

/// Whose value the knob has: shared by its owner and by who tells the user.
#[derive(Clone, Debug)]
pub struct Hand {
    knob: PathBuf,
    found: String,
    last: Arc<Mutex<Last>>,
}

/// The last writes of the knob.
#[derive(Debug)]
struct Last {
    /// Value of ours, or the one that was there when this process took it.
    ours: String,
    /// Value that another program has written since.
    foreign: Option<String>,
    /// Whether a notice has said so.
    told: bool,
}

/// Result of the attempt to take the knob.
#[derive(Debug)]
pub enum Attempt {
    /// This process owns it.
    Taken(PageCluster),
    /// Another run owns it: this process, if known.
    Another(Option<u32>),
    /// This process may not write it.
    Forbidden,
}

impl PageCluster {
    /// Takes the knob, unless another run owns it. The lock is one file for the machine, whatever
    /// the state directories of its runs: two owners would each restore the other's value. If the
    /// machine has no directory for it, it is in `state`.
    ///
    /// # Errors
    /// A failure if the knob cannot be read, or the lock cannot be used.
    pub fn acquire(state: &Path) -> Result<Attempt> {
        Self::take(Path::new(KNOB), &directory(state))
    }

    fn take(knob: &Path, directory: &Path) -> Result<Attempt> {
        match File::options().write(true).open(knob) {
            Err(e) if is_forbidden(&e) => return Ok(Attempt::Forbidden),
            opened => opened.or_fail(|| format!("cannot write {}", knob.display()))?,
        };
        let path = directory.join(LOCK);
        let what = || format!("cannot use {}", path.display());
        let mut lock = open_lock(&path)?;
        let mut text = String::new();
        lock.read_to_string(&mut text).or_fail(what)?;
        let mut words = text.split_whitespace();
        let (found, owner) = (words.next(), words.next());
        if lock.try_lock().is_err() {
            return Ok(Attempt::Another(owner.and_then(|pid| pid.parse().ok())));
        }
        let now = read(knob)?;
        // What a killed owner found, unless another program has written the knob since.
        let found = found.filter(|found| found.parse::<u32>().is_ok());
        let found = found.filter(|found| [SINGLE, found].contains(&now.as_str()));
        let found = found.unwrap_or(&now).to_owned();
        let last = Last {
            ours: now,
            foreign: None,
            told: false,
        };
        let taken = Self {
            hand: Hand {
                knob: knob.to_owned(),
                found,
                last: Arc::new(Mutex::new(last)),
            },
            lock,
        };
        taken.note(Wanted::Found).or_fail(what)?;
        Ok(Attempt::Taken(taken))
    }

    /// Returns the value found.
    pub fn found(&self) -> &str {
        &self.hand.found
    }

    /// Returns what tells whose value the knob has, also after this owner has gone.
    pub fn hand(&self) -> Hand {
        self.hand.clone()
    }

    /// Sets one page a fault if `single`, else the value found; leaves a value that another program
    /// has written.
    ///
    /// # Errors
    /// The kernel's error if the knob cannot be written.
    pub fn set(&self, single: bool) -> io::Result<()> {
        let mut last = lock(&self.hand.last);
        if self.hand.is_foreign(&mut last) {
            return self.note(Wanted::Foreign);
        }
        let value = if single { SINGLE } else { self.found() };
        self.note(Wanted::Changing)?;
        let written = fs::write(&self.hand.knob, value);
        value.clone_into(&mut last.ours);
        self.note(if single {
            Wanted::Single
        } else {
            Wanted::Found
        })?;
        written
    }

    /// Writes down whose value the knob has, for the guardian.
    fn note(&self, wanted: Wanted) -> io::Result<()> {
        let text = format!("{} {} {}", self.found(), std::process::id(), wanted.word());
        self.lock.write_all_at(text.as_bytes(), 0)?;
        self.lock.set_len(text.len() as u64)
    }
}

/// What the knob shall be while the owner runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// The value found.
    Found,
    /// Single pages.
    Single,
    /// The owner is about to write one of them.
    Changing,
    /// What another program has written.
    Foreign,
}

impl Wanted {
    /// Returns the word for it in the lock: all are of one length, so that a reader sees one or
    /// another.
    fn word(self) -> &'static str {
        match self {
            Self::Found => "f",
            Self::Single => "s",
            Self::Changing => "c",
            Self::Foreign => "x",
        }
    }

    /// Reads the lock in `directory`, with the value to restore; `None` unless it is of this
    /// process.
    fn of(owner: u32, directory: &Path) -> Option<(Self, String)> {
        let text = fs::read_to_string(directory.join(LOCK)).ok()?;
        let mut words = text.split(' ');
        let found = words.next().filter(|found| found.parse::<u32>().is_ok())?;
        let named: u32 = words.next()?.parse().ok()?;
        let word = words.next().filter(|_| named == owner)?;
        let all = [Self::Found, Self::Single, Self::Changing, Self::Foreign];
        let wanted = all.into_iter().find(|wanted| wanted.word() == word)?;
        Some((wanted, found.to_owned()))
    }
}

/// Restores the knob while its owner is stopped, if it has single pages by the owner's hand.
fn suspend_knob(knob: &Path, directory: &Path, owner: u32) {
    let Some((wanted, found)) = Wanted::of(owner, directory) else {
        return;
    };
    let is_single = || read(knob).is_ok_and(|now| now == SINGLE);
    if [Wanted::Single, Wanted::Changing].contains(&wanted) && is_single() {
        // An error cannot be reported to anybody.
        let _ = fs::write(knob, found);
    }
}

/// Sets the knob as its owner wants it, which goes on, if it has the value found. What the owner
/// writes meanwhile holds in the end.
fn carry_on_with(knob: &Path, directory: &Path, owner: u32) {
    let wanted = || Wanted::of(owner, directory);
    let is_found = |found: &String| read(knob).is_ok_and(|now| now == *found);
    match wanted() {
        Some((Wanted::Single, found)) if is_found(&found) => {
            let _ = fs::write(knob, SINGLE);
        }
        _ => return,
    }
    // It takes the owner two system calls to get from one to the next.
    for _ in 0..LOOKS {
        match wanted() {
            Some((Wanted::Found, found)) => {
                let _ = fs::write(knob, found);
                return;
            }
            Some((Wanted::Changing, _)) => std::thread::yield_now(),
            _ => return,
        }
    }
}

impl Hand {
    /// Returns a notice if another program has written the knob, once.
    pub fn notice(&self) -> Option<String> {
        let mut last = lock(&self.last);
        let is_news = self.is_foreign(&mut last) && !std::mem::replace(&mut last.told, true);
        let foreign = last.foreign.as_ref().filter(|_| is_news)?;
        Some(format!(
            "another program has changed vm.page-cluster from {} to {foreign}; it is left as it is now",
            last.ours
        ))
    }

    /// Whether another program has written the knob since this process did. The value found is not
    /// taken for that: the guardian writes it while this process is stopped.
    fn is_foreign(&self, last: &mut Last) -> bool {
        if last.foreign.is_none() {
            let now = read(&self.knob).ok();
            last.foreign = now.filter(|now| *now != last.ours && *now != self.found);
        }
        last.foreign.is_some()
    }
}

impl Drop for PageCluster {
    fn drop(&mut self) {
        if self.set(false).is_ok() {
            let _ = self.lock.set_len(0);
        }
        // Closing would not suffice while a child is between fork and exec.
        let _ = self.lock.unlock();
    }
}

impl Attempt {
    /// Returns why this process does not own the knob; `None` if it does.
    fn refusal(&self) -> Option<String> {
        match self {
            Self::Taken(_) => None,
            Self::Another(owner) => {
                let process = owner.map_or(String::new(), |pid| format!(" (process {pid})"));
                Some(format!(
                    "another run of terrace{process} has vm.page-cluster, one knob for the whole \
                     machine"
                ))
            }
            Self::Forbidden => Some(format!(
                "vm.page-cluster, which is {} here, is root's alone to set",
                current().unwrap_or_default()
            )),
        }
    }

    /// Returns a sentence on what a run does without the knob, unless the machine is set that way.
    pub fn notice(&self) -> Option<String> {
        let why = matches!(self, Self::Forbidden).then(|| self.refusal())??;
        Some(format!("{why}; the kernel's readahead stays as it is"))
    }

    /// Checks that faults read single pages or can be made to, for measurements that need it.
    ///
    /// # Errors
    /// A failure that names the obstacle.
    pub fn require_single(&self) -> Result<()> {
        let advice = match self {
            Self::Another(_) => "try again when it has ended",
            Self::Forbidden if !is_single() => {
                "and single pages are to be measured; run as root, or have root set it to 0 \
                 (sysctl vm.page-cluster=0)"
            }
            Self::Taken(_) | Self::Forbidden => return Ok(()),
        };
        let why = self.refusal().unwrap_or_default();
        Err(Error::failure(format!("{why}; {advice}")))
    }
}

/// Returns the directory of locks for the whole machine: only root's, for root trusts no other
/// user's.
pub(crate) fn directory(state: &Path) -> PathBuf {
    let run = Path::new(RUN);
    let ours = run.is_dir() && privilege::is_root();
    let directory = if ours { run } else { state };
    directory.to_owned()
}

/// Opens the lock, if only root or the caller can have written it.
pub(crate) fn open_lock(path: &Path) -> Result<File> {
    let what = || format!("cannot use {}", path.display());
    let lock = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .or_fail(what)?;
    let found = rustix::fs::fstat(&lock).map_err(io::Error::from);
    match distrust(&found.or_fail(what)?) {
        Some(why) => Err(Error::failure(format!(
            "{} {why}, so what it says is not trusted; remove it",
            path.display()
        ))),
        None => Ok(lock),
    }
}

/// Whether a knob is closed to this process, or to all.
pub(crate) fn is_forbidden(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
    )
}

fn read(knob: &Path) -> Result<String> {
    let text = fs::read_to_string(knob);
    let text = text.or_fail(|| format!("cannot read {}", knob.display()))?;
    Ok(text.trim().to_owned())
}

/// Restores the value that a killed run found, unless a living run owns the knob, which will.
///
/// # Errors
/// A failure if the lock cannot be used or the knob cannot be written.
pub(crate) fn restore(state: &Path) -> Result<()> {
    let attempt = PageCluster::take(Path::new(KNOB), &directory(state))?;
    match attempt.notice() {
        Some(why) => Err(Error::failure(why)),
        None => Ok(()),
    }
}

/// `vm.page-cluster` was taken over; this was its value.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Cluster(pub String);

#[typetag::serde(name = "page_cluster")]
impl Change for Cluster {
    fn before(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn undone(&self) -> String {
        match current() {
            Some(now) if now != self.0 => {
                format!("{self} stays {now}, which another program has set")
            }
            _ => format!("{self} is {} again", self.0),
        }
    }

    fn undo(&self, run: &DeadRun, _say: Say) -> Result<()> {
        restore(run.state.path())
    }

    fn outlasts_stops(&self) -> bool {
        false
    }

    fn suspend(&self, state: &Path, owner: u32) {
        suspend_knob(Path::new(KNOB), &directory(state), owner);
    }

    fn resume(&self, state: &Path, owner: u32) {
        carry_on_with(Path::new(KNOB), &directory(state), owner);
    }
}

impl fmt::Display for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "vm.page-cluster")
    }
}

/// Whether this process may set the knob.
pub fn may_set() -> bool {
    File::options().write(true).open(KNOB).is_ok()
}

/// Whether the kernel reads single pages now.
fn is_single() -> bool {
    current().as_deref() == Some(SINGLE)
}

/// Reads the knob.
pub fn current() -> Option<String> {
    read(Path::new(KNOB)).ok()
}

#[cfg(test)]
mod tests;
