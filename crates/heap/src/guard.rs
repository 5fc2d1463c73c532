//! Guards: the locks of containers' data, each with the last operation that changed anything under it
//! (`lane::own`).
//!
//! A guard is held by a thread for one operation, or by a transaction until it has ended. Who waits for
//! one in an operation holds no other. A transaction may hold others, so that two could wait for each
//! other for ever. They do not, since an older one waits for a younger one, and a younger one does not
//! wait for an older one but is told to try again (wait-die: Rosenkrantz, Stearns and Lewis, System level
//! concurrency control for distributed database systems, TODS 3(2), 1978). A transaction that is tried
//! again by [`Heap::transaction`](crate::Heap::transaction) stays as old as it was, and so gets on. A
//! thread within transactions of several heaps is as old as the oldest of them in each: it holds the guards
//! of all while it waits for one.

use std::cell::{Cell, UnsafeCell};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::RawRwLock;
use parking_lot::lock_api::{RawRwLock as _, RawRwLockTimed as _};

use crate::error::{Error, Result};
use crate::lane::own::Stamp;

/// How often who waits for a guard looks who has it.
const LOOK: Duration = Duration::from_millis(1);

/// A lock, in one cache line with what it guards of DRAM.
#[repr(align(64))]
pub(crate) struct Guard {
    lock: RawRwLock,
    /// The age of the oldest transaction of the thread whose transaction holds it; 0 if none does.
    holder: AtomicU64,
    inside: UnsafeCell<Inside>,
}

/// What is known of the data under a guard.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inside {
    /// The operation that last changed any of them since the heap was opened.
    pub last: Option<Stamp>,
    /// Elements that came since then, less those that went.
    pub came: i64,
}

/// Others may read, and nobody may change anything.
pub(crate) struct Reading<'g>(&'g Guard);

/// Nobody else reads or changes anything.
pub(crate) struct Writing<'g>(&'g Guard);

// SAFETY: `inside` is only reached by who holds the lock.
unsafe impl Send for Guard {}
// SAFETY: as above.
unsafe impl Sync for Guard {}

/// When a transaction began; smaller is older. Never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Age(u64);

impl Age {
    /// Of a transaction that begins now.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }

    const OLDEST: u64 = u64::MAX;
}

thread_local! {
    /// The age of the oldest transaction that this thread has under way, of whichever heap; all ones if
    /// it has none.
    static OLDEST: Cell<u64> = const { Cell::new(Age::OLDEST) };
}

/// Says which is the oldest transaction of this thread.
pub(crate) fn set_oldest(age: Option<Age>) {
    OLDEST.set(age.map_or(Age::OLDEST, |age| age.0));
}

/// Whether this thread has any transaction under way.
#[inline]
pub(crate) fn has_transaction() -> bool {
    OLDEST.get() != Age::OLDEST
}

impl Guard {
    /// Of data that this operation was the last to change.
    pub fn new(last: Option<Stamp>) -> Self {
        Self {
            lock: RawRwLock::INIT,
            holder: AtomicU64::new(0),
            inside: UnsafeCell::new(Inside { last, came: 0 }),
        }
    }

    /// Holds off all who change anything.
    ///
    /// # Errors
    ///
    /// This thread has a transaction of another heap under way that must not wait.
    #[inline]
    pub fn read(&self) -> Result<Reading<'_>> {
        if !self.lock.try_lock_shared() {
            self.wait(RawRwLock::try_lock_shared_for, RawRwLock::lock_shared)?;
        }
        Ok(Reading(self))
    }

    /// Holds off all others.
    ///
    /// # Errors
    ///
    /// As [`Guard::read`].
    #[inline]
    pub fn write(&self) -> Result<Writing<'_>> {
        if !self.lock.try_lock_exclusive() {
            self.wait(RawRwLock::try_lock_exclusive_for, RawRwLock::lock_exclusive)?;
        }
        Ok(Writing(self))
    }

    /// As [`Guard::read`], if nobody who changes anything holds it.
    pub fn try_read(&self) -> Option<Reading<'_>> {
        self.lock.try_lock_shared().then(|| Reading(self))
    }

    /// As [`Guard::write`], if nobody holds it.
    pub fn try_write(&self) -> Option<Writing<'_>> {
        // Made only if it is locked: one that is dropped unlocks it.
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

    /// Waits as a transaction does, which holds other guards.
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

    /// Holds off all others for a transaction of this thread, until it calls [`Guard::release`].
    ///
    /// # Errors
    ///
    /// An older transaction holds it.
    pub fn hold(&self, age: Age) -> Result<()> {
        let age = age.0.min(OLDEST.get());
        if !self.lock.try_lock_exclusive() {
            self.wait_as(age, RawRwLock::try_lock_exclusive_for)?;
        }
        self.holder.store(age, Ordering::Release);
        Ok(())
    }

    /// Lets go of a guard, and says what is known of its data from now on.
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

    /// What is known of the data of a guard that a transaction holds.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn held(&self) -> Inside {
        // SAFETY: the lock is held exclusively.
        unsafe { *self.inside.get() }
    }

    /// Waits until nobody holds it, for somebody who holds no guard.
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
                // The older one waits for the second by now, or will.
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
