//! Guards: the locks of containers' data, each with the last operation that changed anything under
//! it (`lane::own`).
//!
//! A guard is held by a thread for one operation, or by a transaction until it has ended. A thread
//! that waits for a guard within an operation holds no other guard. A transaction may hold several,
//! so two could wait for each other for ever. They do not, because an older transaction waits for a
//! younger one, and a younger one does not wait for an older one but fails and tries again
//! (wait-die: Rosenkrantz, Stearns and Lewis, System level concurrency control for distributed
//! database systems, TODS 3(2), 1978). A transaction that
//! [`Heap::transaction`](crate::Heap::transaction) tries again keeps its age, and so succeeds at
//! last. A thread within transactions of several heaps is as old as the oldest of them in each
//! heap: it holds the guards of all while it waits for one.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::{Error, Result, ensure};
use crate::lane::own::Stamp;

/// The interval at which a waiting thread checks which transaction holds the guard.
const LOOK: Duration = Duration::from_millis(1);

/// A lock, in one cache line with the state in DRAM that it guards.
#[repr(align(64))]
pub(crate) struct Guard {
    inside: RwLock<Inside>,
    /// The age of the oldest transaction of the thread whose transaction holds it; 0 if none does.
    holder: AtomicU64,
    /// The place of the guard among those of the transaction that holds it, or that held it last.
    place: AtomicUsize,
}

/// The state of the data under a guard.
#[derive(Clone, Copy, Default)]
pub(crate) struct Inside {
    /// The last operation that changed any of the data since the heap was opened.
    pub last: Option<Stamp>,
    /// Elements added since then minus elements removed.
    pub added: i64,
}

/// A shared hold on a guard: others may read, none may write.
pub(crate) type Reading<'g> = RwLockReadGuard<'g, Inside>;

/// An exclusive hold on a guard: no other thread reads or writes.
pub(crate) type Writing<'g> = RwLockWriteGuard<'g, Inside>;

/// The time at which a transaction began; smaller is older. Never 0.
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
            inside: RwLock::new(Inside { last, added: 0 }),
            holder: AtomicU64::new(0),
            place: AtomicUsize::new(0),
        }
    }

    /// Takes a shared hold, and waits for writers.
    ///
    /// # Errors
    ///
    /// This thread has a transaction of another heap under way, which must not wait.
    #[inline]
    pub fn read(&self) -> Result<Reading<'_>> {
        match self.inside.try_read() {
            Some(reading) => Ok(reading),
            None => self.wait(|| self.inside.try_read_for(LOOK), || self.inside.read()),
        }
    }

    /// Takes an exclusive hold, and waits for all others.
    ///
    /// # Errors
    ///
    /// Same as [`Guard::read`].
    #[inline]
    pub fn write(&self) -> Result<Writing<'_>> {
        match self.inside.try_write() {
            Some(writing) => Ok(writing),
            None => self.wait(|| self.inside.try_write_for(LOOK), || self.inside.write()),
        }
    }

    /// Same as [`Guard::read`] if no writer holds the guard; otherwise `None`.
    pub fn try_read(&self) -> Option<Reading<'_>> {
        self.inside.try_read()
    }

    /// Same as [`Guard::write`] if the guard is free; otherwise `None`.
    pub fn try_write(&self) -> Option<Writing<'_>> {
        self.inside.try_write()
    }

    #[cold]
    fn wait<H>(&self, try_lock: impl Fn() -> Option<H>, lock: impl FnOnce() -> H) -> Result<H> {
        match OLDEST.get() {
            Age::OLDEST => Ok(lock()),
            age => self.wait_as(age, try_lock),
        }
    }

    /// Waits for the lock as a transaction that holds other guards must.
    fn wait_as<H>(&self, age: u64, try_lock: impl Fn() -> Option<H>) -> Result<H> {
        loop {
            let holder = self.holder.load(Ordering::Acquire);
            ensure(holder == 0 || holder >= age, Error::again)?;
            if let Some(held) = try_lock() {
                return Ok(held);
            }
        }
    }

    /// Takes an exclusive hold for a transaction of this thread, until [`Guard::release`].
    ///
    /// # Errors
    ///
    /// An older transaction holds the guard.
    pub fn hold(&self, age: Age, place: usize) -> Result<()> {
        let age = age.0.min(OLDEST.get());
        let writing = match self.inside.try_write() {
            Some(writing) => writing,
            None => self.wait_as(age, || self.inside.try_write_for(LOOK))?,
        };
        mem::forget(writing);
        self.holder.store(age, Ordering::Release);
        self.place.store(place, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the place that the transaction gave that holds the guard, or that held it last.
    #[inline]
    pub fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }

    /// Releases a guard after `change` has updated the state of its data.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn release(&self, change: impl FnOnce(&mut Inside)) {
        // SAFETY: the lock is held exclusively.
        change(unsafe { &mut *self.inside.data_ptr() });
        self.holder.store(0, Ordering::Release);
        // SAFETY: as above.
        unsafe { self.inside.force_unlock_write() };
    }

    /// Changes the state of the data of a guard that a transaction holds.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn change_held(&self, change: impl FnOnce(&mut Inside)) {
        // SAFETY: the lock is held exclusively.
        change(unsafe { &mut *self.inside.data_ptr() });
    }

    /// Returns the state of the data of a guard that a transaction holds.
    ///
    /// # Safety
    ///
    /// The calling thread's transaction holds it.
    pub unsafe fn held(&self) -> Inside {
        // SAFETY: the lock is held exclusively.
        unsafe { *self.inside.data_ptr() }
    }

    /// Waits until the guard is free. The caller holds no guard.
    pub fn wait_until_free(&self) {
        drop(self.inside.read());
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
    fn a_failed_attempt_leaves_the_guard_as_it_was() {
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
    fn an_older_transaction_waits_and_a_younger_one_must_try_again() {
        let (first, second) = (Guard::new(None), Guard::new(None));
        let (older, younger) = (Age::now(), Age::now());
        let (said, heard) = mpsc::channel();
        thread::scope(|scope| {
            first.hold(older, 0).unwrap();
            let (first, second) = (&first, &second);
            scope.spawn(move || {
                second.hold(younger, 0).unwrap();
                said.send(()).unwrap();
                // The older transaction waits for the second guard by now, or will.
                let told = first.hold(younger, 0).unwrap_err();
                assert_eq!(told.cause(), Cause::Again);
                // SAFETY: held above.
                unsafe { second.release(|inside| inside.added += 1) };
                first.wait_until_free();
                first.hold(younger, 0).unwrap();
                // SAFETY: held above.
                unsafe { first.release(|_| {}) };
            });
            heard.recv().unwrap();
            second.hold(older, 0).unwrap();
            // SAFETY: both are held by this thread.
            unsafe {
                assert_eq!(second.held().added, 1);
                second.release(|_| {});
                first.release(|_| {});
            }
        });
    }
}
