//! Threads that carry out fetches, so that the steering thread never waits.
//!
//! A fetch first reclaims memory of the program's budget, in the context of the fetching thread, which
//! takes milliseconds if dirty pages have to be written.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use terrace_policy::{Page, Space};

use crate::advice::Advisor;
use terrace_base::{Context, Result};

/// Pages of one address space that are fetched together.
pub type Batch = (Space, Vec<Page>);

/// A pool of fetching threads; they end when this is dropped.
pub struct Fetchers {
    batches: Option<Sender<Batch>>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    /// Batches handed over and not yet finished.
    busy: AtomicUsize,
    /// Address spaces that were found to have ended.
    gone: Mutex<Vec<Space>>,
}

impl Fetchers {
    /// Starts `count` threads.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(count: usize) -> Result<Self> {
        let (batches, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let shared = Arc::new(Shared::default());
        let threads = (0..count)
            .map(|_| {
                let (queue, shared) = (Arc::clone(&queue), Arc::clone(&shared));
                std::thread::Builder::new()
                    .name("terrace-fetch".into())
                    .spawn(move || work(&queue, &shared))
                    .or_fail(|| "cannot start a fetching thread".into())
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            batches: Some(batches),
            shared,
            threads,
        })
    }

    /// Whether a thread is free to start a batch at once. Otherwise a hint should stay in the queue, where
    /// it can be cancelled for free.
    pub fn is_free(&self) -> bool {
        self.shared.busy.load(Ordering::Acquire) < self.threads.len()
    }

    /// Hands a batch over.
    pub fn fetch(&self, batch: Batch) {
        self.shared.busy.fetch_add(1, Ordering::AcqRel);
        if let Some(batches) = &self.batches {
            // The receivers live as long as this.
            let _ = batches.send(batch);
        }
    }

    /// Takes the list of address spaces that were found to have ended.
    pub fn take_gone(&self) -> Vec<Space> {
        std::mem::take(&mut *self.shared.gone.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Drop for Fetchers {
    fn drop(&mut self) {
        self.batches = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn work(queue: &Mutex<Receiver<Batch>>, shared: &Shared) {
    let mut advisor = Advisor::default();
    loop {
        let batch = queue.lock().unwrap_or_else(|e| e.into_inner()).recv();
        let Ok((space, mut pages)) = batch else {
            return;
        };
        let result = advisor.will_need(space, &mut pages);
        if result.is_err_and(|e| e.raw_os_error() == Some(libc::ESRCH)) {
            let mut gone = shared.gone.lock().unwrap_or_else(|e| e.into_inner());
            gone.push(space);
        }
        shared.busy.fetch_sub(1, Ordering::AcqRel);
    }
}
