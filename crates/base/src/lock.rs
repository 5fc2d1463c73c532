//! Values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that threads share, also after a panic of the thread that held it.
pub fn lock<T: ?Sized>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
