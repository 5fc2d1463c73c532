//! What a run has changed on the machine, on disk before it is changed.
//!
//! One file a run in the state directory, removed with the last change undone. After a
//! `kill -9` it stays, and tells `terrace doctor --clean` what is ours.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::budget;
use crate::sysctl;
use crate::tier::Area;
use terrace_base::{Context, Error, Result};

/// One thing that was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// A swap area was made.
    Tier(Area),
    /// A cgroup was made.
    Cgroup(PathBuf),
    /// `vm.page-cluster` was taken over; it had been this.
    PageCluster(String),
}

/// A process, told apart from a later one of the same number by when it started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    pid: u32,
    /// The kernel's id of this boot.
    boot: String,
    /// Clock ticks after boot (`/proc/PID/stat`, field 22).
    started: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Entry {
    owner: Owner,
    changes: Vec<Change>,
}

/// The journal of this run; its file goes when it is dropped.
#[derive(Debug)]
pub struct Journal {
    state: PathBuf,
    file: PathBuf,
    entry: Entry,
}

/// `$TERRACE_STATE_DIR`, or the system's place for it.
pub fn state_directory() -> PathBuf {
    std::env::var_os("TERRACE_STATE_DIR").map_or("/var/lib/terrace".into(), PathBuf::from)
}

impl Journal {
    /// Begins a journal in the directory `state`, which is made if need be.
    ///
    /// # Errors
    /// A failure where that cannot be written.
    pub fn begin(state: &Path) -> Result<Self> {
        let pid = std::process::id();
        fs::create_dir_all(state).or_fail(|| {
            format!(
                "cannot make the state directory {} (set TERRACE_STATE_DIR to another)",
                state.display()
            )
        })?;
        let owner = Owner::of(pid).ok_or_else(|| Error::failure("/proc is not mounted"))?;
        let file = state.join(format!("run-{pid}.json"));
        if file.exists() {
            return Err(Error::failure(
                "a killed run left something behind; put it back first: terrace doctor --clean",
            ));
        }
        Ok(Self {
            state: state.to_owned(),
            file,
            entry: Entry {
                owner,
                changes: Vec::new(),
            },
        })
    }

    /// The state directory.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// A name for something of this run.
    pub fn name(&self) -> String {
        format!("{}{}", budget::PREFIX, self.entry.owner.pid)
    }

    /// A file of this run in `directory`.
    pub fn path_for(&self, directory: &Path, extension: &str) -> PathBuf {
        let absolute = directory.canonicalize();
        let name = format!("{}.{extension}", self.name());
        absolute.unwrap_or_else(|_| directory.to_owned()).join(name)
    }

    /// Notes a change that is about to be made.
    ///
    /// # Errors
    /// A failure where the file cannot be written: then nothing may be changed.
    pub fn note(&mut self, change: Change) -> Result<()> {
        if self.entry.changes.contains(&change) {
            return Ok(());
        }
        self.entry.changes.push(change);
        self.write()
            .or_fail(|| format!("cannot write {}", self.file.display()))
    }

    /// Replaces the file as a whole, so that it is never found half written.
    fn write(&self) -> io::Result<()> {
        let new = self.file.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(serde_json::to_string(&self.entry)?.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &self.file)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let undone = self.entry.changes.iter().all(Change::is_undone);
        if undone {
            let _ = fs::remove_file(&self.file);
        }
    }
}

impl Owner {
    fn of(pid: u32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, field 2, may hold blanks and brackets; the rest follows its last bracket.
        let started = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?;
        Some(Self {
            pid,
            boot: boot_id(),
            started: started.parse().ok()?,
        })
    }

    fn is_alive(&self) -> bool {
        Self::of(self.pid).as_ref() == Some(self)
    }
}

/// The kernel's id of this boot.
fn boot_id() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}

impl Change {
    fn is_undone(&self) -> bool {
        match self {
            Self::Tier(area) => area.is_undone(),
            Self::Cgroup(path) => !path.exists(),
            Self::PageCluster(_) => true,
        }
    }
}

/// What a killed run left behind.
#[derive(Debug)]
pub struct Leftover {
    file: PathBuf,
    entry: Entry,
}

impl Leftover {
    /// All of them in the state directory. A file that cannot be read is an error of its own.
    ///
    /// # Errors
    /// A failure where the directory or one of its journals cannot be read.
    pub fn find(state: &Path) -> Result<Vec<Self>> {
        let what = || format!("cannot read the state directory {}", state.display());
        let entries = match fs::read_dir(state) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.or_fail(what)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let file = entry.or_fail(what)?.path();
            if file
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                found.extend(Self::read(file)?);
            }
        }
        Ok(found)
    }

    fn read(file: PathBuf) -> Result<Option<Self>> {
        let text = match fs::read_to_string(&file) {
            // Its run has just ended.
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => text.or_fail(|| format!("cannot read {}", file.display()))?,
        };
        let entry: Entry = serde_json::from_str(&text).map_err(|e| {
            Error::failure(format!(
                "the journal {} is damaged ({e}); undo by hand what it names, then remove it",
                file.display()
            ))
        })?;
        Ok((!entry.owner.is_alive()).then_some(Self { file, entry }))
    }

    /// What it names, for people.
    pub fn changes(&self) -> Vec<String> {
        self.entry.changes.iter().map(Change::to_string).collect()
    }

    /// The processes of the program that still run in its cgroup.
    pub fn processes(&self) -> Vec<u32> {
        self.entry
            .changes
            .iter()
            .flat_map(|change| match change {
                Change::Cgroup(path) => budget::processes_in(path),
                _ => Vec::new(),
            })
            .collect()
    }

    fn state(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    /// Undoes everything, or, while the program still runs, all but its cgroup and tier.
    ///
    /// # Errors
    /// A failure where something cannot be undone; the journal stays then.
    pub fn clean(self) -> Result<()> {
        let running = !self.processes().is_empty();
        let rebooted = self.entry.owner.boot != boot_id();
        for change in self.entry.changes.iter().rev() {
            match change {
                // A boot has undone these, and what has their names now is not ours.
                Change::PageCluster(_) | Change::Cgroup(_) if rebooted => {}
                Change::Tier(area) if rebooted && !area.outlives_boot() => {}
                Change::PageCluster(_) => sysctl::restore(self.state())?,
                _ if running => {}
                Change::Tier(area) => area.remove()?,
                Change::Cgroup(path) => budget::remove(path)
                    .or_fail(|| format!("cannot remove the cgroup {}", path.display()))?,
            }
        }
        if running {
            return Ok(());
        }
        fs::remove_file(&self.file).or_fail(|| format!("cannot remove {}", self.file.display()))
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tier(area) => write!(f, "swap area {}", area.path().display()),
            Self::Cgroup(path) => write!(f, "cgroup {}", path.display()),
            Self::PageCluster(found) => write!(f, "vm.page-cluster, which was {found}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swap_file(directory: &Path) -> Area {
        Area::File(directory.join("terrace-1.swap"), terrace_base::Bytes(4096))
    }

    #[test]
    fn a_run_that_ends_leaves_no_journal() {
        let state = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(state.path()).unwrap();
        let area = swap_file(state.path());
        journal.note(Change::Tier(area)).unwrap();
        assert!(journal.file.exists());
        assert!(
            Leftover::find(state.path()).unwrap().is_empty(),
            "its owner lives"
        );
        drop(journal);
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_is_not_undone_stays_in_the_journal() {
        let state = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(state.path()).unwrap();
        let area = swap_file(state.path());
        fs::write(area.path(), "").unwrap();
        journal.note(Change::Tier(area)).unwrap();
        let file = journal.file.clone();
        drop(journal);
        assert!(file.exists());
    }

    #[test]
    fn a_dead_owner_is_cleaned_up_after_and_nothing_else_is_touched() {
        let state = tempfile::tempdir().unwrap();
        let area = swap_file(state.path());
        let cgroup = state.path().join("terrace-1");
        fs::write(area.path(), "").unwrap();
        fs::create_dir(&cgroup).unwrap();
        fs::write(state.path().join("bystander"), "").unwrap();
        let entry = Entry {
            owner: Owner {
                pid: std::process::id(),
                boot: boot_id(),
                started: 0, // not when this process started: another one of the same number
            },
            changes: vec![Change::Tier(area.clone()), Change::Cgroup(cgroup.clone())],
        };
        let file = state.path().join("run-1.json");
        fs::write(&file, serde_json::to_string(&entry).unwrap()).unwrap();

        let mut found = Leftover::find(state.path()).unwrap();
        assert_eq!(found[0].changes().len(), 2);
        found.remove(0).clean().unwrap();
        assert!(!area.path().exists() && !cgroup.exists() && !file.exists());
        assert!(state.path().join("bystander").exists());
    }

    #[test]
    fn a_damaged_journal_is_named() {
        let state = tempfile::tempdir().unwrap();
        fs::write(state.path().join("run-1.json"), "{").unwrap();
        let error = Leftover::find(state.path()).unwrap_err().to_string();
        assert!(error.contains("run-1.json") && error.contains("damaged"));
    }
}
