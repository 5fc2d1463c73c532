//! A thread that works until it is told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use terrace_base::{Context, Error, Result, lock};

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

/// A running thread whose work can fail, which ends it; stopped and waited for when dropped.
#[derive(Debug)]
pub(crate) struct Task {
    problem: Arc<Mutex<Option<Error>>>,
    _worker: Worker,
}

impl Task {
    /// Same as [`Worker::start`].
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(
        name: &str,
        work: impl FnOnce(&AtomicBool) -> Result<()> + Send + 'static,
    ) -> Result<Self> {
        let problem = Arc::new(Mutex::new(None));
        let told = Arc::clone(&problem);
        let worker = Worker::start(name, move |stop| {
            let ended = work(stop);
            *lock(&told) = ended.err();
        })?;
        Ok(Self {
            problem,
            _worker: worker,
        })
    }

    /// Returns the reason why the work ended early, once.
    pub fn problem(&self) -> Option<Error> {
        lock(&self.problem).take()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_task_ended_is_told_once() {
        let task = Task::start("test", |_| Err(Error::failure("no room"))).unwrap();
        let problem = std::iter::repeat_with(|| task.problem()).find_map(|problem| problem);
        assert_eq!(problem.unwrap().to_string(), "no room");
        assert!(task.problem().is_none());
    }
}
