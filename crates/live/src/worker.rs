//! A thread that works until it is told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use terrace_base::{Context, Result};

/// Locks a value that threads share, also after a panic of the thread that held it.
pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running thread; stopped and waited for when dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts a thread that does `work`, which ends soon after its argument becomes true. A parked
    /// thread is woken up then.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(name: &str, work: impl FnOnce(&AtomicBool) + Send + 'static) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || work(&told))
            .or_fail(|| "cannot start a thread".into())?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic was printed by its thread.
            let _ = thread.join();
        }
    }
}
