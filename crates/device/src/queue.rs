//! A device with its waiting requests, in virtual time.

mod elevator;
mod waiting;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use terrace_base::Nanos;

use crate::timing::Timing;
use waiting::Waiting;

/// Which way the bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Who waits for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The program does.
    Demand,
    /// Nobody yet: the page is foretold.
    Prefetch,
    /// Nobody: a page is put away.
    Background,
}

/// A transfer that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// What the driver knows it by; no two unfinished requests have the same.
    pub id: u64,
    /// Which way the bytes go.
    pub kind: Kind,
    /// Who waits for it.
    pub class: Class,
    /// Where it lies on the device, in any unit; only the elevator looks at it.
    pub place: u64,
    /// How much is transferred.
    pub bytes: u64,
}

/// A transfer that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Completion {
    /// What was asked for; its class is the one it was promoted to, if it was before it started.
    pub request: Request,
    /// When it was asked for.
    pub submitted: Nanos,
    /// When a channel took it.
    pub started: Nanos,
    /// When it ended.
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
    /// When the bus has carried everything that has started.
    bus_free: Nanos,
    running: BinaryHeap<Reverse<Running>>,
    /// Tells transfers that end together apart: the one that started first ends first.
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
    /// An idle device at time zero.
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

    /// Asks for a transfer at `now`.
    pub fn submit(&mut self, now: Nanos, request: Request) {
        self.advance(now);
        if self.idle() > 0 {
            self.waiting.pass(request, self.now);
            self.start(request, self.now, self.now);
        } else {
            self.waiting.push(request, self.now);
        }
    }

    /// When the next transfer ends, or has ended, that [`Queue::complete`] has not handed out.
    pub fn next_completion(&self) -> Option<Nanos> {
        match self.ended.front() {
            Some(ended) => Some(ended.finished),
            None => self.running.peek().map(|next| next.0.finished),
        }
    }

    /// The earliest transfer that has ended by `now`, handed out once; call it until there is
    /// none. A waiting request starts at the moment at which a channel became free, even if the
    /// driver comes later.
    pub fn complete(&mut self, now: Nanos) -> Option<Completion> {
        self.advance(now);
        self.ended.pop_front()
    }

    /// Somebody waits for a request now: it becomes demand, behind the demand that waits
    /// already. In plain order, and in that of the elevator, it keeps its place. Returns whether it was waiting.
    pub fn promote(&mut self, id: u64) -> bool {
        self.waiting.promote(id)
    }

    /// Takes a request back. None where it has started, or there is none.
    pub fn cancel(&mut self, id: u64) -> Option<Request> {
        self.waiting.cancel(id)
    }

    /// Requests that wait for a channel.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Demand requests among these.
    pub fn demand_waiting(&self) -> usize {
        self.waiting.demand()
    }

    /// Transfers under way.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Channels that nothing occupies.
    pub fn idle(&self) -> usize {
        self.channels - self.running.len()
    }

    /// Ends what has ended by `now`, each at its time, and starts what waits at that time.
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

/// `span` after `moment`, at most the end of time.
fn later(moment: Nanos, span: Nanos) -> Nanos {
    Nanos(moment.0.saturating_add(span.0))
}
