//! Threads that carry out fetches, so that the steering thread never waits.
//!
//! A fetch first reclaims memory of the program's budget, in the context of the fetching thread,
//! which takes milliseconds if dirty pages have to be written. The kernel reads the pages
//! asynchronously, so a fetch first waits until few reads are in flight: a demand fault must not
//! wait behind hints (Fedorov 2016, section 5.4.3).

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use terrace_policy::prefetch::ledger::Ticket;
use terrace_policy::{Page, Space};

use crate::fetch::advice::Advisor;
use crate::fetch::reads::Reads;
use crate::system::clock;
use terrace_base::{Context, Result, lock};

/// Pages of one address space that are fetched together.
pub struct Batch {
    /// The address space.
    pub space: Space,
    /// The pages.
    pub pages: Vec<Page>,
    /// Name of the batch in the ledger.
    pub ticket: Ticket,
}

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
    /// Batches that the kernel has taken over, each with its time by [`clock::now`].
    done: Mutex<Vec<(Ticket, Duration)>>,
}

impl Fetchers {
    /// Starts `count` threads that keep an eye on the reads of the tier.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(count: usize, reads: &Reads) -> Result<Self> {
        let (batches, queue) = mpsc::channel();
        let queue = Arc::new(Mutex::new(queue));
        let shared = Arc::new(Shared::default());
        let threads = (0..count)
            .map(|_| {
                let (queue, shared) = (Arc::clone(&queue), Arc::clone(&shared));
                let reads = reads.clone();
                std::thread::Builder::new()
                    .name("terrace-fetch".into())
                    .spawn(move || work(&queue, &shared, &reads))
                    .or_fail(|| "cannot start a fetching thread".into())
            })
            .collect::<Result<_>>()?;
        Ok(Self {
            batches: Some(batches),
            shared,
            threads,
        })
    }

    /// Whether a thread is free to start a batch at once. Otherwise a hint should stay in the
    /// queue, where it can be cancelled for free.
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

    /// Takes the list of batches that the kernel has taken over since the last call.
    pub fn take_done(&self) -> Vec<(Ticket, Duration)> {
        std::mem::take(&mut *lock(&self.shared.done))
    }

    /// Takes the list of address spaces that were found to have ended.
    pub fn take_gone(&self) -> Vec<Space> {
        std::mem::take(&mut *lock(&self.shared.gone))
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

fn work(queue: &Mutex<Receiver<Batch>>, shared: &Shared, reads: &Reads) {
    clock::sleep_exactly();
    let mut advisor = Advisor::default();
    loop {
        let batch = lock(queue).recv();
        let Ok(mut batch) = batch else {
            return;
        };
        let mut rest = batch.pages.as_mut_slice();
        while !rest.is_empty() {
            reads.wait_for_few();
            let (part, after) = rest.split_at_mut(reads.at_once(rest.len()));
            rest = after;
            let result = advisor.will_need(batch.space, part);
            if result.is_err_and(|e| e.raw_os_error() == Some(libc::ESRCH)) {
                let mut gone = lock(&shared.gone);
                gone.push(batch.space);
                break;
            }
        }
        let mut done = lock(&shared.done);
        done.push((batch.ticket, clock::now()));
        drop(done);
        shared.busy.fetch_sub(1, Ordering::AcqRel);
    }
}
