//! A lock that is waited for, but not for ever.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Locks the file or directory at `path` against other processes until dropped. `None` if there is
/// nothing to lock, or another process still holds the lock after `tries` at intervals of `pause`.
pub(crate) fn lock(path: &Path, tries: usize, pause: Duration) -> Option<File> {
    let file = File::open(path).ok()?;
    for _ in 0..tries {
        if file.try_lock().is_ok() {
            return Some(file);
        }
        thread::sleep(pause);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_for_one_until_it_is_dropped() {
        let directory = tempfile::tempdir().unwrap();
        let take = || lock(directory.path(), 2, Duration::from_millis(1));
        let held = take().unwrap();
        assert!(take().is_none());
        drop(held);
        assert!(take().is_some());
        assert!(lock(&directory.path().join("none"), 2, Duration::ZERO).is_none());
    }
}
