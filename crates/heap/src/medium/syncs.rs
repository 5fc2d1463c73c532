//! One sync for all threads that wait for one.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::lock::lock;

/// Syncs of one file, numbered from 1; at most one is under way.
#[derive(Default)]
pub(crate) struct Syncs {
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    started: u64,
    finished: u64,
    /// The kernel reports a failed write only once, and forgets the data: after that nothing is
    /// known to be durable any more.
    failure: Option<Error>,
}

impl Syncs {
    /// Waits until a sync has succeeded that began after this call; returns whether this thread
    /// carried it out.
    pub fn sync(&self, sync: impl FnOnce() -> Result<()>) -> Result<bool> {
        let mut state = lock(&self.state);
        // A sync under way may have begun before this thread's stores.
        let enough = state.started + 1;
        loop {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            if state.finished >= enough {
                return Ok(false);
            }
            if state.finished == state.started {
                break;
            }
            let woken = self.finished.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        state.started += 1;
        drop(state);
        let mut under_way = UnderWay {
            syncs: self,
            result: Err(Error::damaged("a sync of the pool was broken off")),
        };
        under_way.result = sync();
        drop(under_way);
        self.outcome().map(|()| true)
    }

    /// The result of the last sync.
    pub fn outcome(&self) -> Result<()> {
        lock(&self.state).failure.clone().map_or(Ok(()), Err)
    }

    /// Returns whether a sync is under way.
    pub fn under_way(&self) -> bool {
        let state = lock(&self.state);
        state.finished != state.started
    }
}

/// A sync under way; dropping it, even by a panic, releases the waiting threads.
struct UnderWay<'s> {
    syncs: &'s Syncs,
    result: Result<()>,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.syncs.state);
        state.finished = state.started;
        state.failure = self.result.clone().err();
        self.syncs.finished.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// A device that is slow: what was stored when a sync began is durable when it ends.
    #[test]
    fn what_was_stored_before_is_durable_after_and_syncs_are_shared() {
        let syncs = Syncs::default();
        let (stored, durable) = (AtomicU64::new(0), AtomicU64::new(0));
        let own = AtomicU64::new(0);
        let work = || {
            for _ in 0..20 {
                let mine = stored.fetch_add(1, Ordering::SeqCst) + 1;
                let device = || {
                    let seen = stored.load(Ordering::SeqCst);
                    thread::sleep(Duration::from_micros(300));
                    durable.store(seen, Ordering::SeqCst);
                    Ok(())
                };
                let was_own = syncs.sync(device).unwrap();
                own.fetch_add(u64::from(was_own), Ordering::SeqCst);
                assert!(durable.load(Ordering::SeqCst) >= mine);
            }
        };
        thread::scope(|scope| (0..8).for_each(|_| drop(scope.spawn(work))));
        assert_eq!(own.into_inner(), lock(&syncs.state).finished);
        assert!(lock(&syncs.state).finished < 160);
    }

    #[test]
    fn after_a_panic_nobody_waits() {
        let syncs = Syncs::default();
        let panics = || syncs.sync(|| panic!("a test looks on"));
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert!(!syncs.under_way());
        syncs.sync(|| Ok(())).unwrap_err();
    }

    #[test]
    fn after_a_failure_nothing_succeeds_any_more() {
        let syncs = Syncs::default();
        assert_eq!(syncs.sync(|| Ok(())), Ok(true));
        let failed = syncs.sync(|| Err(Error::damaged("the device is gone")));
        assert_eq!(failed, Err(Error::damaged("the device is gone")));
        assert_eq!(syncs.sync(|| Ok(())), failed);
    }
}
