//! A device with its waiting requests, in virtual time.

mod elevator;
mod request;
mod waiting;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use terrace_base::Nanos;

use crate::timing::Timing;
pub use request::{Class, Kind, Request};
use waiting::Waiting;

/// A transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// The request; its class is the one that it was promoted to, if that was before it started.
    pub request: Request,
    /// Time of submission.
    pub submitted: Nanos,
    /// Time at which a channel took it.
    pub started: Nanos,
    /// Time at which it ended.
    pub finished: Nanos,
}

/// A device with its waiting requests: a state machine that a driver of virtual time steps.
///
/// A request starts as soon as a channel is free, so none waits while a channel is idle. Time
/// goes forward in [`Queue::submit`] and [`Queue::complete`]; everything else answers as of the
/// last of these calls. A driver that takes all completions of a moment before it does anything
/// else there sees the device as it is. Times that go backwards count as the last one.
#[derive(Debug)]
pub struct Queue {
    timing: Timing,
    channels: usize,
    now: Nanos,
    /// Time at which the bus will have carried everything that has started.
    bus_free: Nanos,
    running: BinaryHeap<Reverse<Running>>,
    /// Orders transfers that end together: the one that started first ends first.
    started: u64,
    waiting: Waiting,
    /// Ended, and not yet taken by the driver.
    ended: VecDeque<Completion>,
}

/// A transfer under way, ordered by its end.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Running {
    finished: Nanos,
    sequence: u64,
    completion: Completion,
}

impl Queue {
    /// Makes an idle device at time zero.
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            channels: timing.channels.max(1) as usize,
            now: Nanos::ZERO,
            bus_free: Nanos::ZERO,
            running: BinaryHeap::new(),
            started: 0,
            waiting: Waiting::new(timing.order),
            ended: VecDeque::new(),
        }
    }

    /// Submits a request at `now`.
    pub fn submit(&mut self, now: Nanos, request: Request) {
        self.advance(now);
        if self.idle() > 0 {
            self.waiting.pass(request, self.now);
            self.start(request, self.now, self.now);
        } else {
            self.waiting.push(request, self.now);
        }
    }

    /// Returns when the next transfer ends, or has ended, that [`Queue::complete`] has not returned
    /// yet.
    pub fn next_completion(&self) -> Option<Nanos> {
        match self.ended.front() {
            Some(ended) => Some(ended.finished),
            None => self.running.peek().map(|next| next.0.finished),
        }
    }

    /// Returns the earliest transfer that has ended by `now`, each once; call it until it returns
    /// `None`. A waiting request starts at the moment at which a channel became free, even if the
    /// driver comes later.
    pub fn complete(&mut self, now: Nanos) -> Option<Completion> {
        self.advance(now);
        self.ended.pop_front()
    }

    /// Makes a waiting request a demand request, behind the demand requests that wait already. In
    /// plain order and in the order of the elevator it keeps its place. Returns whether it was
    /// waiting.
    pub fn promote(&mut self, id: u64) -> bool {
        self.waiting.promote(id)
    }

    /// Cancels a waiting request and returns it; `None` if it has started or does not exist.
    pub fn cancel(&mut self, id: u64) -> Option<Request> {
        self.waiting.cancel(id)
    }

    /// Returns the number of requests that wait for a channel.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the number of demand requests that wait.
    pub fn demand_waiting(&self) -> usize {
        self.waiting.demand()
    }

    /// Returns the number of transfers under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Returns the number of idle channels.
    pub fn idle(&self) -> usize {
        self.channels - self.running.len()
    }

    /// Ends the transfers that end by `now`, each at its time, and starts waiting requests at these
    /// times.
    fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
        while let Some(next) = self.running.peek()
            && next.0.finished <= self.now
        {
            let free_at = next.0.finished;
            self.ended
                .extend(self.running.pop().map(|ended| ended.0.completion));
            if let Some((request, submitted)) = self.waiting.take(free_at) {
                self.start(request, submitted, free_at);
            }
        }
    }

    fn start(&mut self, request: Request, submitted: Nanos, at: Nanos) {
        let latency = match request.kind {
            Kind::Read => self.timing.read,
            Kind::Write => self.timing.write,
        };
        self.bus_free = later(self.bus_free.max(at), self.timing.transfer(request.bytes));
        let finished = later(at, latency).max(self.bus_free);
        self.started += 1;
        self.running.push(Reverse(Running {
            finished,
            sequence: self.started,
            completion: Completion {
                request,
                submitted,
                started: at,
                finished,
            },
        }));
    }
}

/// Returns the time `span` after `moment`, saturating.
fn later(moment: Nanos, span: Nanos) -> Nanos {
    Nanos(moment.0.saturating_add(span.0))
}
