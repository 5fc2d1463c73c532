//! Locks that do not mind that somebody panicked.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks. What a mutex of the heap protects is whole between any two statements that can panic.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
