//! `vm.page-cluster`: how many neighbours in the swap area the kernel reads with a page (2^n).
//!
//! One knob for the whole machine. One run at a time owns it, by a lock; others leave it alone.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use terrace_base::{Context, Result};

const KNOB: &str = "/proc/sys/vm/page-cluster";
/// For files that do not outlive the system.
const RUN: &str = "/run";

/// The knob, ours until dropped, and then set as it was found.
#[derive(Debug)]
pub struct PageCluster {
    knob: PathBuf,
    found: String,
    /// Locked while we own the knob; holds the value to put back, for whoever comes after a
    /// `kill -9`.
    lock: File,
}

impl PageCluster {
    /// Takes the knob, unless another run has it. The lock is one file for the machine, whatever
    /// the state directories of its runs: two owners would each put back what the other had set.
    /// Where there is no directory for that, it is in `state`.
    ///
    /// # Errors
    /// A failure where the knob or the lock cannot be read or written.
    pub fn acquire(state: &Path) -> Result<Option<Self>> {
        let run = Path::new(RUN);
        let directory = if run.is_dir() { run } else { state };
        Self::acquire_knob(Path::new(KNOB), directory)
    }

    fn acquire_knob(knob: &Path, directory: &Path) -> Result<Option<Self>> {
        let path = directory.join("terrace-page-cluster.lock");
        let what = || format!("cannot use {}", path.display());
        let mut lock = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .or_fail(what)?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        let mut found = String::new();
        lock.read_to_string(&mut found).or_fail(what)?;
        if found.is_empty() {
            let now = fs::read_to_string(knob);
            let now = now.or_fail(|| format!("cannot read {}", knob.display()))?;
            found = now.trim().to_owned();
            lock.write_all(found.as_bytes()).or_fail(what)?;
        }
        Ok(Some(Self {
            knob: knob.to_owned(),
            found,
            lock,
        }))
    }

    /// As it was found.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// One page a fault if `single`, else as it was found.
    ///
    /// # Errors
    /// The kernel's, where the knob cannot be written.
    pub fn set(&self, single: bool) -> io::Result<()> {
        fs::write(&self.knob, if single { "0" } else { &self.found })
    }
}

impl Drop for PageCluster {
    fn drop(&mut self) {
        if self.set(false).is_ok() {
            let _ = self.lock.set_len(0);
        }
        // Closing would do, but for a child that is between fork and exec.
        let _ = self.lock.unlock();
    }
}

/// Puts back what a killed run found, unless a run that lives has the knob: that one will.
///
/// # Errors
/// A failure where the lock cannot be used.
pub fn restore(state: &Path) -> Result<()> {
    PageCluster::acquire(state).map(drop)
}

/// What the knob is set to.
pub fn current() -> Option<String> {
    Some(fs::read_to_string(KNOB).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_owner_at_a_time_and_put_back() {
        let state = tempfile::tempdir().unwrap();
        let knob = state.path().join("knob");
        fs::write(&knob, "3\n").unwrap();
        let read = || fs::read_to_string(&knob).unwrap();

        let owner = PageCluster::acquire_knob(&knob, state.path())
            .unwrap()
            .expect("free");
        assert!(
            PageCluster::acquire_knob(&knob, state.path())
                .unwrap()
                .is_none()
        );
        owner.set(true).unwrap();
        assert_eq!(read(), "0");
        drop(owner);
        assert_eq!(read(), "3");
        assert!(
            PageCluster::acquire_knob(&knob, state.path())
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn after_a_kill_the_next_owner_knows_what_to_put_back() {
        let state = tempfile::tempdir().unwrap();
        let knob = state.path().join("knob");
        fs::write(&knob, "3\n").unwrap();
        let acquire = || PageCluster::acquire_knob(&knob, state.path()).unwrap();

        let killed = acquire().expect("free");
        killed.set(true).unwrap();
        // A kill ends the lock and runs no destructor.
        killed.lock.unlock().unwrap();
        std::mem::forget(killed);
        let next = acquire().expect("the lock went with its owner");
        assert_eq!(next.found(), "3");
        drop(next);
        assert_eq!(fs::read_to_string(&knob).unwrap(), "3");
    }
}
