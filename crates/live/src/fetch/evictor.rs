//! Has pages leave DRAM that a policy names, before the kernel needs room:
//! `process_madvise(MADV_PAGEOUT)`.
//!
//! A page whose copy in the tier is up to date leaves at once; another is written first. That takes
//! the time of a thread of its own, as fetching does, and neither the program's nor that of
//! steering.

use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use terrace_base::{Context, Result};
use terrace_policy::eviction::Eviction;
use terrace_policy::{Location, Page, Space};

use crate::fetch::advice::Advisor;
use crate::group::reserve::Reserve;
use crate::group::room::Room;

/// Batches that may wait. While more pages should go than the kernel pages out, the rest stays: by
/// the time of its turn the program might be back at it.
const WAITING: usize = 16;

/// Pages of one address space.
type Batch = (Space, Vec<Page>);

/// An eviction policy at work.
pub struct Evictor {
    policy: Box<dyn Eviction>,
    room: Room,
    _reserve: Option<Reserve>,
    free: u64,
    leaving: Vec<Location>,
    let_go: u64,
    batches: Option<SyncSender<Batch>>,
    thread: Option<JoinHandle<()>>,
}

impl Evictor {
    /// Starts the thread that carries out what `policy` decides for a program with this room, of
    /// which a `reserve` may be kept.
    ///
    /// # Errors
    /// A failure if no thread can be started.
    pub fn start(policy: Box<dyn Eviction>, room: Room, reserve: Option<Reserve>) -> Result<Self> {
        let (batches, queue) = mpsc::sync_channel(WAITING);
        let thread = std::thread::Builder::new()
            .name("terrace-evict".into())
            .spawn(move || work(&queue))
            .or_fail(|| "cannot start an evicting thread".into())?;
        Ok(Self {
            policy,
            free: room.free(),
            room,
            _reserve: reserve,
            leaving: Vec::new(),
            let_go: 0,
            batches: Some(batches),
            thread: Some(thread),
        })
    }

    /// Handles the first touch of a page since it came in, `foreseen` if it was fetched.
    pub fn arrived(&mut self, at: Location, foreseen: bool) {
        let leaving = &mut self.leaving;
        self.policy.arrived(at, foreseen, self.free, leaving);
    }

    /// Has the pages paged out that should leave by now.
    pub fn carry_out(&mut self) {
        if self.leaving.is_empty() {
            return;
        }
        for group in self.leaving.chunk_by(|a, b| a.space == b.space) {
            let pages = group.iter().map(|at| at.page).collect();
            let batches = self.batches.as_ref();
            if batches.is_some_and(|it| it.try_send((group[0].space, pages)).is_ok()) {
                self.let_go += group.len() as u64;
            }
        }
        self.leaving.clear();
        self.free = self.room.free();
    }

    /// Returns the number of pages that were let go so far.
    pub fn let_go(&self) -> u64 {
        self.let_go
    }

    /// Whether it is worth to watch the program for further arrivals.
    pub fn wants_arrivals(&self) -> bool {
        self.policy.wants_arrivals()
    }

    /// Forgets an address space that has ended.
    pub fn forget(&mut self, space: Space) {
        self.policy.forget(space);
    }
}

impl Drop for Evictor {
    fn drop(&mut self) {
        self.batches = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(queue: &Receiver<Batch>) {
    let mut advisor = Advisor::default();
    for (space, mut pages) in queue {
        // A process that has ended has no pages to let go.
        let _ = advisor.page_out(space, &mut pages);
    }
}
