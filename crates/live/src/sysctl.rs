//! `vm.page-cluster`: how many neighbours in the swap area the kernel reads with a page (2^n).
//!
//! One knob for the whole machine. One run at a time owns it, by a lock; others leave it alone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::error::{Context, Result};

const KNOB: &str = "/proc/sys/vm/page-cluster";

/// The knob, ours until dropped, and then set as it was found.
#[derive(Debug)]
pub struct PageCluster {
    knob: PathBuf,
    found: String,
    _lock: File,
}

impl PageCluster {
    /// Takes the knob, unless another run has it. The lock is a file in `state`.
    ///
    /// # Errors
    /// A failure where the knob or the lock cannot be read.
    pub fn acquire(state: &Path) -> Result<Option<Self>> {
        Self::acquire_knob(Path::new(KNOB), state)
    }

    fn acquire_knob(knob: &Path, state: &Path) -> Result<Option<Self>> {
        let path = state.join("page-cluster.lock");
        let lock = File::create(&path).or_fail(|| format!("cannot create {}", path.display()))?;
        if lock.try_lock().is_err() {
            return Ok(None);
        }
        let found = fs::read_to_string(knob)
            .or_fail(|| format!("cannot read {}", knob.display()))?
            .trim()
            .to_owned();
        Ok(Some(Self {
            knob: knob.to_owned(),
            found,
            _lock: lock,
        }))
    }

    /// As it was found.
    pub fn found(&self) -> &str {
        &self.found
    }

    /// One page a fault if `single`, else as it was found.
    ///
    /// A knob that cannot be written stays as it is: the program runs on all the same.
    pub fn set(&self, single: bool) {
        let value = if single { "0" } else { &self.found };
        let _ = fs::write(&self.knob, value);
    }
}

impl Drop for PageCluster {
    fn drop(&mut self) {
        self.set(false);
    }
}

/// Sets the knob to a value that an earlier run noted before it was killed.
///
/// # Errors
/// A failure where it cannot be written.
pub fn restore(value: &str) -> Result<()> {
    fs::write(KNOB, value).or_fail(|| format!("cannot write {KNOB}"))
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
        owner.set(true);
        assert_eq!(read(), "0");
        drop(owner);
        assert_eq!(read(), "3");
        assert!(
            PageCluster::acquire_knob(&knob, state.path())
                .unwrap()
                .is_some()
        );
    }
}
