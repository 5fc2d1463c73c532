//! Guards: the locks of containers' data, each with the last operation that changed anything under it
//! (`lane::own`).
//!
//! A guard is held by a thread for one operation, or by a transaction until it has ended. A thread that
//! waits for a guard within an operation holds no other guard. A transaction may hold several, so two
//! could wait for each other for ever. They do not, because an older transaction waits for a younger one,
//! and a younger one does not wait for an older one but is told to try again (wait-die: Rosenkrantz,
//! Stearns and Lewis, System level concurrency control for distributed database systems, TODS 3(2),
//! 1978). A transaction that [`Heap::transaction`](crate::Heap::transaction) tries again keeps its age,
//! and so succeeds at last. A thread within transactions of several heaps is as old as the oldest of them
//! in each heap: it holds the guards of all while it waits for one.

use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockTimed as _};

use crate::error::{Error, Result};
use crate::lane::own::Stamp;

/// How often a thread that waits for a guard checks who holds it.
const LOOK: Duration = Duration::from_millis(1);

/// A lock, in one cache line with the state in DRAM that it guards.
#[repr(align(64))]
pub(crate) struct Guard {
    lock: RawRwLock,
    /// The age of the oldest transaction of the thread whose transaction holds it; 0 if none does.
    holder: AtomicU64,
    inside: UnsafeCell<Inside>,
}

/// The state of the data under a guard.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inside {
    /// The last operation that changed any of the data since the heap was opened.
    pub last: Option<Stamp>,
    /// Elements added since then minus elements removed.
    pub came: i64,
}

/// A shared hold on a guard: others may read, none may write.
pub(crate) struct Reading<'g>(&'g Guard);

/// An exclusive hold on a guard: no other thread reads or writes.
pub(crate) struct Writing<'g>(&'g Guard);

// SAFETY: `inside` is only accessed under the lock.
unsafe impl Send for Guard {}
// SAFETY: as above.
unsafe impl Sync for Guard {}

/// When a transaction began; smaller is older. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Age(u64);

impl Age {
    /// Returns the age of a transaction that begins now.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    const OLDEST: u64 = u64::MAX;
}

thread_local! {
    /// The age of the oldest transaction of this thread, of any heap; all ones if it has none.
    static OLDEST: Cell<u64> = const { Cell::new(Age::OLDEST) };
}

/// Sets the age of the oldest transaction of this thread.
pub(crate) fn set_oldest(age: Option<Age>) {
    OLDEST.set(age.map_or(Age::OLDEST, |age| age.0));
}

/// Returns whether this thread has any transaction under way.
#[inline]
pub(crate) fn has_transaction() -> bool {
    OLDEST.get() != Age::OLDEST
}

impl Guard {
    /// Returns a guard of data that `last` was the last operation to change.
    pub fn new(last: Option<Stamp>) -> Self {
        Self {
            lock: RawRwLock::INIT,
            holder: AtomicU64::new(0),
            inside: UnsafeCell::new(Inside { last, came: 0 }),
        }
    }

    /// Takes a shared hold, and waits for writers.
    ///
    /// # Errors
    ///
    /// This thread has a transaction of another heap under way, which must not wait.
    #[inline]
    pub fn read(&self) -> Result<Reading<'_>> {
        if !self.lock.try_lock_shared() {
            self.wait(RawRwLock::try_lock_shared_for, RawRwLock::lock_shared)?;
        }
        Ok(Reading(self))
    }

    /// Takes an exclusive hold, and waits for all others.
    ///
    /// # Errors
    ///
    /// Same as [`Guard::read`].
    #[inline]
    pub fn write(&self) -> Result<Writing<'_>> {
        if !self.lock.try_lock_exclusive() {
            self.wait(RawRwLock::try_lock_exclusive_for, RawRwLock::lock_exclusive)?;
        }
        Ok(Writing(self))
    }

    /// Same as [`Guard::read`] if no writer holds the guard; otherwise `None`.
    pub fn try_read(&self) -> Option<Reading<'_>> {
        self.lock.try_lock_shared().then(|| Reading(self))
    }

    /// Same as [`Guard::write`] if the guard is free; otherwise `None`.
    pub fn try_write(&self) -> Option<Writing<'_>> {
        // Made only when the lock is held: dropping it unlocks.
        self.lock.try_lock_exclusive().then(|| Writing(self))
    }

    #[cold]
    fn wait(
        &self,
        try_for: impl Fn(&RawRwLock, Duration) -> bool,
        lock: impl FnOnce(&RawRwLock),
    ) -> Result<()> {
        match OLDEST.get() {
            Age::OLDEST => {
                lock(&self.lock);
                Ok(())
            }
            age => self.wait_as(age, try_for),
        }
    }

    /// Waits for the lock as a transaction that holds other guards must.
    fn wait_as(&self, age: u64, try_for: impl Fn(&RawRwLock, Duration) -> bool) -> Result<()> {
        loop {
            let holder = self.holder.load(Ordering::Acquire);
            if holder != 0 && holder < age {
                return Err(Error::again());
            }
            if try_for(&self.lock, LOOK) {
                return Ok(());
            }
        }
    }

    /// Takes an exclusive hold for a transaction of this thread, until [`Guard::release`].
    ///
    /// # Errors
    ///
    /// An older transaction holds the guard.
    pub fn hold(&self, age: Age) -> Result<()> {
        let age = age.0.min(OLDEST.get());
        if !self.lock.try_lock_exclusive() {
            self.wait_as(age, RawRwLock::try_lock_exclusive_for)?;
        }
        self.holder.store(age, Ordering::Release);
        Ok(())
    }

    /// Releases a guard after `change` has updated the state of its data.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn release(&self, change: impl FnOnce(&mut Inside)) {
        // SAFETY: the lock is held exclusively.
        change(unsafe { &mut *self.inside.get() });
        self.holder.store(0, Ordering::Release);
        // SAFETY: as above.
        unsafe { self.lock.unlock_exclusive() };
    }

    /// Returns the state of the data of a guard that a transaction holds.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn held(&self) -> Inside {
        // SAFETY: the lock is held exclusively.
        unsafe { *self.inside.get() }
    }

    /// Waits until the guard is free. The caller holds no guard.
    pub fn wait_until_free(&self) {
        self.lock.lock_shared();
        // SAFETY: locked one line above.
        unsafe { self.lock.unlock_shared() };
    }
}

impl Deref for Reading<'_> {
    type Target = Inside;

    #[inline]
    fn deref(&self) -> &Inside {
        // SAFETY: the lock is held.
        unsafe { &*self.0.inside.get() }
    }
}

impl Deref for Writing<'_> {
    type Target = Inside;

    #[inline]
    fn deref(&self) -> &Inside {
        // SAFETY: the lock is held.
        unsafe { &*self.0.inside.get() }
    }
}

impl DerefMut for Writing<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Inside {
        // SAFETY: the lock is held exclusively.
        unsafe { &mut *self.0.inside.get() }
    }
}

impl Drop for Reading<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it was locked when this was made.
        unsafe { self.0.lock.unlock_shared() };
    }
}

impl Drop for Writing<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it was locked when this was made.
        unsafe { self.0.lock.unlock_exclusive() };
    }
}

const _: () = assert!(size_of::<Guard>() == 64);

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;
    use crate::error::Cause;

    #[test]
    fn who_tries_in_vain_takes_nothing_away() {
        let guard = Guard::new(None);
        let held = guard.write().unwrap();
        assert!(guard.try_write().is_none());
        assert!(guard.try_write().is_none());
        assert!(guard.try_read().is_none() && guard.try_read().is_none());
        drop(held);
        let held = guard.read().unwrap();
        assert!(guard.try_write().is_none());
        assert!(guard.try_write().is_none() && guard.try_read().is_some());
        drop(held);
        assert!(guard.try_write().is_some());
    }

    #[test]
    fn the_older_waits_and_the_younger_is_told_to_try_again() {
        let (first, second) = (Guard::new(None), Guard::new(None));
        let (older, younger) = (Age::now(), Age::now());
        let (said, heard) = mpsc::channel();
        thread::scope(|scope| {
            first.hold(older).unwrap();
            let (first, second) = (&first, &second);
            scope.spawn(move || {
                second.hold(younger).unwrap();
                said.send(()).unwrap();
                // The older transaction waits for the second guard by now, or will.
                let told = first.hold(younger).unwrap_err();
                assert_eq!(told.cause(), Cause::Again);
                // SAFETY: held above.
                unsafe { second.release(|inside| inside.came += 1) };
                first.wait_until_free();
                first.hold(younger).unwrap();
                // SAFETY: held above.
                unsafe { first.release(|_| {}) };
            });
            heard.recv().unwrap();
            second.hold(older).unwrap();
            // SAFETY: both are held by this thread.
            unsafe {
                assert_eq!(second.held().came, 1);
                second.release(|_| {});
                first.release(|_| {});
            }
        });
    }
}
