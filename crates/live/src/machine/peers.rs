//! Mounts that programs in a name space of their own share with the machine.
//!
//! A mount reaches another mount name space only where the mount below it has a peer there
//! (mount_namespaces(7)). systemd has every mount shared, so that copies of it are peers. Elsewhere
//! mounts are private, as the kernel makes them: a program with a name space of its own (`view`)
//! would be alone with what it mounts, and keep what others unmount. So private mounts become
//! shared while there are such programs, and are private again with the end of the last.
//!
//! A lock's file holds the mounts that were shared before, so that they are left as they are;
//! whoever takes the lock after a `kill -9` finds it there. Another lock, which all runs hold
//! together, tells whether one of them goes on. Runs that see other mounts, as those of a
//! container, have other locks.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use rustix::mount::{MountPropagationFlags, mount_change};
use serde::{Deserialize, Serialize};
use terrace_base::mountinfo::{self, Mount};
use terrace_base::{Context, Error, Result};

use crate::journal::{Change, DeadRun, Journal, boot_id, state_directory};
use crate::machine::sysctl::{directory, open_lock};
use crate::system::lock::{self, Say};

/// How often, and after which pause, the lock is asked for: others hold it for milliseconds.
const TRIES: (u32, Duration) = (1000, Duration::from_millis(10));

/// Mounts that are shared while this exists.
#[derive(Debug)]
pub(crate) struct Peers {
    locks: Locks,
}

/// The two locks of all runs in a mount name space.
#[derive(Debug)]
struct Locks {
    /// Held while mounts are changed. Its file has the boot and the numbers of the mounts that were
    /// shared before; it is empty while all mounts are as they were.
    changes: File,
    /// Held by every run that needs shared mounts.
    runs: File,
}

impl Peers {
    /// Makes private mounts shared, noted in the journal first; none if there are none.
    ///
    /// # Errors
    /// A failure if mounts cannot be read, or the locks cannot be used.
    pub fn join(journal: &mut Journal) -> Result<Option<Self>> {
        let mut locks = Locks::open(&directory(journal.state()))?;
        let shared = locks.change(|locks| {
            let mounts = mounts()?;
            let text = locks.text()?;
            let private: Vec<_> = mounts.iter().filter(can_be_shared).collect();
            if private.is_empty() && text.is_empty() {
                return Ok(false);
            }
            journal.note(Shared)?;
            if text.is_empty() {
                locks.write_down(&mounts)?;
            }
            for mount in private {
                // One that another mount hides cannot be named; nothing is mounted below it then.
                let _ = mount_change(&mount.at, MountPropagationFlags::SHARED);
            }
            locks.runs.lock_shared().or_fail(cannot_lock)?;
            Ok(true)
        })?;
        Ok(shared.then_some(Self { locks }))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // What cannot be put back now stays in the journal for `terrace doctor --clean`.
        let _ = self.locks.leave();
    }
}

/// Makes mounts private again that a killed run has made shared, unless a run needs them.
///
/// # Errors
/// A failure if the locks cannot be used, or a mount cannot be changed.
pub(crate) fn restore(state: &Path) -> Result<()> {
    Locks::open(&directory(state))?.leave()
}

/// Whether mounts are as they were, or needed by a run.
pub(crate) fn is_restored(state: &Path) -> bool {
    let locks = Locks::open(&directory(state));
    locks.is_ok_and(|mut locks| {
        let needed = locks.runs.try_lock().is_err();
        needed || locks.text().is_ok_and(|text| text.is_empty())
    })
}

/// Private mounts became shared.
#[derive(Debug, Serialize, Deserialize)]
struct Shared;

#[typetag::serde(name = "mounts")]
impl Change for Shared {
    fn is_undone(&self) -> bool {
        is_restored(&state_directory())
    }

    fn found(&self) -> String {
        "mounts that were private are shared".to_owned()
    }

    fn undone(&self) -> String {
        "mounts that were shared for programs are private again".to_owned()
    }

    fn undo(&self, run: &DeadRun, _say: Say) -> Result<()> {
        restore(run.state.path())
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the sharing of mounts")
    }
}

impl Locks {
    fn open(directory: &Path) -> Result<Self> {
        let space = fs::metadata("/proc/self/ns/mnt");
        let space = space
            .or_fail(|| "cannot look at the mount name space".into())?
            .ino();
        let open = |name| open_lock(&directory.join(format!("terrace-{name}-{space}.lock")));
        Ok(Self {
            changes: open("mounts")?,
            runs: open("mounting")?,
        })
    }

    /// Calls `change` while no other run changes mounts.
    fn change<T>(&mut self, change: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let (tries, pause) = TRIES;
        let mut tries = 0..tries;
        let waits = |_| tries.next().is_some();
        lock::wait(pause, || self.changes.try_lock(), waits).ok_or_else(|| {
            Error::failure(
                "another process has held the lock of the machine's mounts for seconds; try again when it has ended",
            )
        })?;
        let changed = change(self);
        // Closing would not suffice while a child is between fork and exec.
        let _ = self.changes.unlock();
        changed
    }

    /// Puts mounts back, unless another run needs them.
    fn leave(&mut self) -> Result<()> {
        self.change(|locks| {
            let _ = locks.runs.unlock();
            if locks.runs.try_lock().is_err() {
                return Ok(());
            }
            let put_back = locks.put_back();
            let _ = locks.runs.unlock();
            put_back
        })
    }

    /// Makes all mounts private that were not shared before, those among them that were made
    /// meanwhile.
    fn put_back(&mut self) -> Result<()> {
        let text = self.text()?;
        if text.is_empty() {
            return Ok(());
        }
        let before: Vec<u64> = text
            .split_whitespace()
            .filter_map(|id| id.parse().ok())
            .collect();
        let mounts = mounts()?;
        let ours = mounts.iter();
        let ours = ours.filter(|mount| mount.propagation.is_shared && !before.contains(&mount.id));
        for mount in ours {
            let flags = match mount.propagation.follows {
                true => MountPropagationFlags::DOWNSTREAM,
                false => MountPropagationFlags::PRIVATE,
            };
            match mount_change(&mount.at, flags) {
                // It was unmounted just now, or is hidden by another mount.
                Ok(()) | Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOENT) => {}
                Err(e) => {
                    let what =
                        || format!("cannot make the mount on {} private", mount.at.display());
                    return Err(io::Error::from(e)).or_fail(what);
                }
            }
        }
        self.changes.set_len(0).or_fail(cannot_lock)
    }

    fn text(&mut self) -> Result<String> {
        let mut text = String::new();
        let read = self.changes.seek(SeekFrom::Start(0));
        let read = read.and_then(|_| self.changes.read_to_string(&mut text));
        read.or_fail(cannot_lock)?;
        let of_this_boot = text.strip_prefix(&boot_id()).map(str::to_owned);
        Ok(of_this_boot.unwrap_or_default())
    }

    /// Writes down which of the mounts are shared.
    fn write_down(&mut self, mounts: &[Mount]) -> Result<()> {
        let shared = mounts.iter().filter(|mount| mount.propagation.is_shared);
        let ids: Vec<_> = shared.map(|mount| mount.id.to_string()).collect();
        let text = format!("{} {}\n", boot_id(), ids.join(" "));
        let written = self.changes.set_len(0);
        let written = written.and_then(|()| self.changes.seek(SeekFrom::Start(0)));
        let written = written.and_then(|_| self.changes.write_all(text.as_bytes()));
        written.or_fail(cannot_lock)
    }
}

fn cannot_lock() -> String {
    "cannot use the lock of the machine's mounts".to_owned()
}

/// Returns the mounts that this process sees.
fn mounts() -> Result<Vec<Mount>> {
    mountinfo::all().or_fail(|| "cannot read /proc/self/mountinfo".into())
}

/// Whether a mount is private. One that must not be copied stays so: it would no longer be that.
fn can_be_shared(mount: &&Mount) -> bool {
    !mount.propagation.is_shared && !mount.propagation.is_unbindable
}

/// Counts the mounts that are shared only while programs run.
///
/// # Errors
/// A failure if mounts cannot be read.
pub(crate) fn private() -> Result<usize> {
    Ok(mounts()?.iter().filter(can_be_shared).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_that_must_not_be_copied_stays_so() {
        let lines = [
            "36 35 98:0 / /a rw - ext3 /dev/root rw",
            "7 1 0:1 / /b rw shared:3 - tmpfs none rw",
            "8 1 0:1 / /c rw unbindable - tmpfs none rw",
        ];
        let all = mountinfo::parse(lines.join("\n").as_bytes());
        let shared: Vec<_> = all.iter().filter(can_be_shared).map(|it| it.id).collect();
        assert_eq!((all.len(), shared), (3, vec![36]));
    }

    #[test]
    fn a_run_that_goes_on_keeps_them() {
        let directory = tempfile::tempdir().unwrap();
        let mut first = Locks::open(directory.path()).unwrap();
        let mut second = Locks::open(directory.path()).unwrap();
        first.runs.lock_shared().unwrap();
        second.runs.lock_shared().unwrap();
        // As if all mounts of this machine had been shared before: none is changed.
        let mut all = mounts().unwrap();
        all.iter_mut()
            .for_each(|mount| mount.propagation.is_shared = true);
        first.write_down(&all).unwrap();
        first.leave().unwrap();
        assert!(!second.text().unwrap().is_empty(), "the second needs them");
        second.leave().unwrap();
        assert!(second.text().unwrap().is_empty(), "nobody needs them");
        first.changes.seek(SeekFrom::Start(0)).unwrap();
        first.changes.write_all(b"another-boot 1 2\n").unwrap();
        assert!(second.text().unwrap().is_empty(), "those of another boot");
    }
}
