//! A lock that is waited for, but not for ever.

use std::fs::File;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// Receives sentences on what is waited for.
pub(crate) type Say<'a> = &'a mut dyn FnMut(&str);

/// Locks the file or directory at `path` against other processes until dropped. `None` if there is
/// nothing to lock, or another process still holds the lock after `tries` at intervals of `pause`.
pub(crate) fn lock(path: &Path, tries: usize, pause: Duration) -> Option<File> {
    let file = File::open(path).ok()?;
    let mut tries = 0..tries;
    let waits = |_| tries.next().is_some();
    wait(pause, || file.try_lock(), waits)?;
    Some(file)
}

/// Asks for what others hold at intervals of `pause`, until it is ours. `None` if it `waits` no
/// longer, which is told who holds it.
pub(crate) fn wait<T, H>(
    pause: Duration,
    mut ask: impl FnMut() -> Result<T, H>,
    mut waits: impl FnMut(H) -> bool,
) -> Option<T> {
    loop {
        match ask() {
            Ok(ours) => return Some(ours),
            Err(holder) => match waits(holder) {
                true => thread::sleep(pause),
                false => return None,
            },
        }
    }
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

    #[test]
    fn what_others_hold_is_asked_for_until_it_is_ours_or_the_wait_ends() {
        let mut holders = vec![3, 2, 1];
        let mut seen = Vec::new();
        let ask = || holders.pop().map_or(Ok("ours"), Err);
        let got = wait(Duration::ZERO, ask, |holder| {
            seen.push(holder);
            true
        });
        assert_eq!((got, seen), (Some("ours"), vec![1, 2, 3]));
        let ended = wait(Duration::ZERO, || Err::<(), _>(7), |holder| holder != 7);
        assert_eq!(ended, None);
    }
}
