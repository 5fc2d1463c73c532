//! The queue, slow and as its documentation has it.

use terrace_base::Nanos;
use terrace_device::{Class, Completion, Kind, Order, Request, Timing};

use crate::elevator::Elevator;

/// The queue as its documentation has it, with searches for everything.
pub struct Twin {
    timing: Timing,
    now: u64,
    bus_free: u64,
    /// In the order in which they came into their queues.
    pub waiting: Vec<(Request, u64)>,
    pub running: Vec<Completion>,
    ended: Vec<Completion>,
    last: Class,
    last_overdue: bool,
    elevator: Elevator,
}

pub const CLASSES: [Class; 3] = [Class::Demand, Class::Prefetch, Class::Background];

impl Twin {
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            now: 0,
            bus_free: 0,
            waiting: Vec::new(),
            running: Vec::new(),
            ended: Vec::new(),
            last: Class::Background,
            last_overdue: false,
            elevator: Elevator::default(),
        }
    }

    pub fn submit(&mut self, now: u64, request: Request) {
        self.advance(now);
        if self.running.len() < self.timing.channels as usize {
            if self.timing.order == Order::Elevator {
                self.elevator.choose(&[(request, self.now)], self.now);
            }
            self.start(request, self.now, self.now);
        } else {
            self.waiting.push((request, self.now));
        }
    }

    pub fn complete(&mut self, now: u64) -> Option<Completion> {
        self.advance(now);
        (!self.ended.is_empty()).then(|| self.ended.remove(0))
    }

    pub fn promote(&mut self, id: u64) -> bool {
        let Some(at) = self.waiting.iter().position(|(r, _)| r.id == id) else {
            return false;
        };
        if self.waiting[at].0.class != Class::Demand {
            self.waiting[at].0.class = Class::Demand;
            if !matches!(self.timing.order, Order::Plain | Order::Elevator) {
                let promoted = self.waiting.remove(at);
                self.waiting.push(promoted);
            }
        }
        true
    }

    pub fn cancel(&mut self, id: u64) -> Option<Request> {
        let at = self.waiting.iter().position(|(r, _)| r.id == id)?;
        Some(self.waiting.remove(at).0)
    }

    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        // `running` is in the order of starting, so of those that end together the first is found.
        while let Some(next) = self.running.iter().map(|c| c.finished).min()
            && next.0 <= self.now
        {
            let at = self.running.iter().position(|c| c.finished == next);
            self.ended.push(self.running.remove(at.unwrap()));
            if !self.waiting.is_empty() {
                let place = self.choose(next.0);
                let (request, submitted) = self.waiting.remove(place);
                self.start(request, submitted, next.0);
            }
        }
    }

    fn first(&self, class: Class) -> Option<usize> {
        self.waiting.iter().position(|(r, _)| r.class == class)
    }

    /// When the first of a class is overdue.
    fn due(&self, class: Class, patience: Nanos) -> Option<u64> {
        Some(self.waiting[self.first(class)?].1 + patience.0)
    }

    /// Which of those that wait goes next.
    fn choose(&mut self, at: u64) -> usize {
        match self.timing.order {
            Order::Plain => 0,
            Order::Elevator => self.elevator.choose(&self.waiting, at),
            Order::RoundRobin => {
                let after = CLASSES.iter().cycle().skip(self.last as usize + 1);
                let mut waiting = after.take(3).filter_map(|c| Some((c, self.first(*c)?)));
                let (class, place) = waiting.next().unwrap();
                self.last = *class;
                place
            }
            Order::Deadline(deadlines) => {
                let dues = [
                    (
                        self.due(Class::Prefetch, deadlines.prefetch),
                        Class::Prefetch,
                    ),
                    (
                        self.due(Class::Background, deadlines.background),
                        Class::Background,
                    ),
                ];
                let overdue = dues
                    .into_iter()
                    .filter_map(|(due, class)| Some((due.filter(|due| *due <= at)?, class)))
                    .min();
                let demand = self.first(Class::Demand);
                let late = overdue.is_some() && !(self.last_overdue && demand.is_some());
                self.last_overdue = late;
                match overdue {
                    Some((_, class)) if late => self.first(class).unwrap(),
                    _ => CLASSES.iter().find_map(|c| self.first(*c)).unwrap(),
                }
            }
        }
    }

    fn start(&mut self, request: Request, submitted: u64, at: u64) {
        let latency = match request.kind {
            Kind::Read => self.timing.read,
            Kind::Write => self.timing.write,
        };
        let mut finished = at + latency.0;
        if self.timing.bandwidth.is_some() {
            self.bus_free = self.bus_free.max(at) + self.timing.transfer(request.bytes).0;
            finished = finished.max(self.bus_free);
        }
        self.running.push(Completion {
            request,
            submitted: Nanos(submitted),
            started: Nanos(at),
            finished: Nanos(finished),
        });
    }
}
