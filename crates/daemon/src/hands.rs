//! The threads that carry steps out, so that a slow one keeps no look waiting. What is given back
//! goes first: somebody waits for it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use terrace_base::lock;

use crate::fleet::{Done, Job};

/// Threads: enough that one slow device holds up no other, few enough to share a machine with.
const THREADS: usize = 4;

type Queue = (Mutex<VecDeque<Job>>, Condvar);

/// The threads.
pub struct Hands {
    queue: Arc<Queue>,
}

impl Hands {
    /// Starts them. Each step that was carried out is handed to `report`.
    ///
    /// # Errors
    /// The kernel's, if there can be no thread.
    pub fn start(report: impl Fn(Done) + Clone + Send + 'static) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        for number in 0..THREADS {
            let (queue, report) = (Arc::clone(&queue), report.clone());
            let thread = thread::Builder::new().name(format!("terraced-{number}"));
            thread.stack_size(512 << 10).spawn(move || {
                loop {
                    report(next(&queue).perform());
                }
            })?;
        }
        Ok(Self { queue })
    }

    /// Has a step carried out.
    pub fn take(&self, job: Job) {
        let mut jobs = lock(&self.queue.0);
        match job.is_urgent() {
            true => jobs.push_front(job),
            false => jobs.push_back(job),
        }
        self.queue.1.notify_one();
    }

    /// Forgets the steps that have not begun, and returns how many these were.
    pub fn stop(&self) -> usize {
        lock(&self.queue.0).drain(..).count()
    }
}

fn next(queue: &Queue) -> Job {
    let mut jobs = lock(&queue.0);
    loop {
        if let Some(job) = jobs.pop_front() {
            return job;
        }
        let waited = queue.1.wait(jobs);
        jobs = waited.unwrap_or_else(std::sync::PoisonError::into_inner);
    }
}
