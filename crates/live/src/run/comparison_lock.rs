//! The lock of comparisons: one run at a time compares on a machine. Two would each measure the
//! other, and both need `vm.page-cluster`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use terrace_base::{Context, Result};

use crate::machine::sysctl::{Attempt, PageCluster, directory, may_set, open_lock};
use crate::system::lock::wait;

/// Interval at which the end of the other run is polled.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Owner of a lock.
#[derive(Debug)]
enum Answer<T> {
    Ours(T),
    /// Another run: this process, if known.
    Another(Option<u32>),
}

/// A wait, with the callback for its notice.
pub struct Waiting<'a> {
    /// Whether a signal asked to end.
    pub stop: &'a dyn Fn() -> bool,
    /// Notice of the run that is waited for, sent once.
    pub told: &'a mut dyn FnMut(&str),
}

impl Waiting<'_> {
    /// Tries again until no other run owns it; `None` if a signal asked to end.
    fn until<T>(&mut self, mut ask: impl FnMut() -> Result<Answer<T>>) -> Result<Option<T>> {
        let ask = || match ask() {
            Ok(Answer::Ours(ours)) => Ok(Ok(ours)),
            Ok(Answer::Another(owner)) => Err(owner),
            Err(error) => Ok(Err(error)),
        };
        let mut told = false;
        let waits = |owner: Option<u32>| {
            let stops = (self.stop)();
            if !stops && !std::mem::replace(&mut told, true) {
                let process = owner.map_or(String::new(), |pid| format!(" (PID {pid})"));
                (self.told)(&format!("waits for another run of terrace{process}"));
            }
            !stops
        };
        wait(LOOK_EVERY, ask, waits).transpose()
    }
}

/// The right to compare, held until dropped.
#[derive(Debug)]
pub struct ComparisonLock {
    _lock: File,
}

impl ComparisonLock {
    /// Waits for a running comparison, and for the owner of `vm.page-cluster`, so that waiting
    /// comes before the first run. `None` if a signal asked to end meanwhile.
    ///
    /// # Errors
    /// A failure if the locks cannot be used, or this process cannot make the kernel read single
    /// pages.
    pub fn acquire(state: &Path, waiting: &mut Waiting) -> Result<Option<Self>> {
        if !may_set() {
            Attempt::Forbidden.require_single()?;
        }
        let path = directory(state).join("terrace-turn.lock");
        let Some(lock) = waiting.until(|| take(&path))? else {
            return Ok(None);
        };
        let knob = await_knob(state, waiting)?;
        Ok(knob.map(|_| Self { _lock: lock }))
    }
}

/// Takes `vm.page-cluster` when no other run owns it. `None` if a signal asked to end meanwhile.
///
/// # Errors
/// See [`PageCluster::acquire`].
pub fn await_knob(state: &Path, waiting: &mut Waiting) -> Result<Option<Attempt>> {
    waiting.until(|| {
        Ok(match PageCluster::acquire(state)? {
            Attempt::Another(owner) => Answer::Another(owner),
            attempt => Answer::Ours(attempt),
        })
    })
}

/// Returns the lock, or the process that holds it, if known.
fn take(path: &Path) -> Result<Answer<File>> {
    let what = || format!("cannot use {}", path.display());
    let mut lock = open_lock(path)?;
    if lock.try_lock().is_err() {
        let mut owner = String::new();
        lock.read_to_string(&mut owner).or_fail(what)?;
        return Ok(Answer::Another(owner.trim().parse().ok()));
    }
    lock.set_len(0)
        .and_then(|()| lock.seek(SeekFrom::Start(0)))
        .and_then(|_| write!(lock, "{}", std::process::id()))
        .or_fail(what)?;
    Ok(Answer::Ours(lock))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_the_lock_and_the_next_knows_who() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let first = take(&path).unwrap();
        assert!(matches!(first, Answer::Ours(_)));
        let ours = std::process::id();
        assert!(matches!(take(&path).unwrap(), Answer::Another(owner) if owner == Some(ours)));

        let told = std::cell::RefCell::new(Vec::new());
        let mut waiting = Waiting {
            stop: &|| !told.borrow().is_empty(),
            told: &mut |text| told.borrow_mut().push(text.to_owned()),
        };
        assert!(waiting.until(|| take(&path)).unwrap().is_none());
        let sentence = format!("waits for another run of terrace (PID {ours})");
        assert_eq!(*told.borrow(), [sentence]);

        drop(first);
        assert!(matches!(take(&path).unwrap(), Answer::Ours(_)));
    }
}
