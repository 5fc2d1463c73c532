//! The ledger over a model of the kernel, whatever the order of events: each page that was read
//! from the tier was read by a fetch or by a major fault, so that reads = issued + major faults -
//! reissued.

use std::collections::HashMap;
use std::time::Duration;

use proptest::prelude::*;
use terrace_policy::prefetch::Outcome;
use terrace_policy::prefetch::ledger::{Ledger, Ticket, Timing};
use terrace_policy::{Location, Page, Space};

/// Time of a read, and of an eviction at least, in ticks of a microsecond.
const READ: u64 = 20;
const EVICTION: u64 = 200;
const PAGES: u64 = 12;

/// State of a page, and the time since when.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    InTier,
    /// A fault reads it.
    Faulting(u64),
    /// A fetch has read it, and no access was made since.
    Cached(u64),
    InMemory(u64),
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Submit(u64, u64),
    TakeOver,
    Touch(u64),
    Evict(u64),
    Sweep,
    Pass(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let page = 0..PAGES;
    let event = prop_oneof![
        3 => (page.clone(), 1..6u64).prop_map(|(page, count)| Event::Submit(page, count)),
        3 => Just(Event::TakeOver),
        6 => page.clone().prop_map(Event::Touch),
        4 => page.prop_map(Event::Evict),
        2 => Just(Event::Sweep),
        4 => (1..2 * EVICTION).prop_map(Event::Pass),
    ];
    prop::collection::vec(event, 1..400)
}

/// A machine with one program, and the ledger of its fetches.
struct Machine {
    now: u64,
    pages: HashMap<u64, State>,
    ledger: Ledger,
    /// Batches that the kernel has not taken over.
    submitted: Vec<(Ticket, Vec<u64>)>,
    fetched: std::collections::HashSet<u64>,
    reads: u64,
    issued: u64,
    majors: u64,
    reissued: u64,
}

fn at(page: u64) -> Location {
    Location::new(Space(1), Page(page))
}

impl Machine {
    fn new() -> Self {
        let timing = Timing {
            read: Duration::from_micros(READ),
            eviction: Duration::from_micros(EVICTION),
        };
        Self {
            now: 0,
            pages: (0..PAGES).map(|page| (page, State::InTier)).collect(),
            ledger: Ledger::new(timing, PAGES),
            submitted: Vec::new(),
            fetched: Default::default(),
            reads: 0,
            issued: 0,
            majors: 0,
            reissued: 0,
        }
    }

    fn step(&mut self, event: Event) {
        match event {
            Event::Submit(first, count) => self.submit(first, count),
            Event::TakeOver => self.take_over(),
            Event::Touch(page) => self.touch(page),
            Event::Evict(page) => self.evict(page),
            Event::Sweep => self.sweep(),
            Event::Pass(time) => self.pass(time),
        }
    }

    /// Submits the pages that are not mapped and not fetched already.
    fn submit(&mut self, first: u64, count: u64) {
        let is_mapped = |page: &u64| matches!(self.pages[page], State::InMemory(_));
        let pages: Vec<u64> = (first..(first + count).min(PAGES))
            .filter(|page| !is_mapped(page) && !self.fetched.contains(page))
            .collect();
        self.issued += pages.len() as u64;
        self.fetched.extend(&pages);
        let places: Vec<Location> = pages.iter().copied().map(at).collect();
        let ticket = self.ledger.submit(&places, self.reads);
        self.submitted.push((ticket, pages));
    }

    /// The kernel reads the pages of the oldest batch that still lie in the tier.
    fn take_over(&mut self) {
        if self.submitted.is_empty() {
            return;
        }
        let (ticket, pages) = self.submitted.remove(0);
        for page in pages {
            if self.pages[&page] == State::InTier {
                self.reads += 1;
                self.pages.insert(page, State::Cached(self.now));
            }
        }
        self.ledger
            .complete(ticket, Duration::from_micros(self.now));
    }

    /// The program touches a page, and waits if the page is not there.
    fn touch(&mut self, page: u64) {
        match self.pages[&page] {
            State::InTier => {
                self.reads += 1;
                self.pages.insert(page, State::Faulting(self.now));
            }
            State::Cached(_) => {
                self.pages.insert(page, State::InMemory(self.now));
            }
            State::Faulting(_) | State::InMemory(_) => {}
        }
    }

    /// The kernel evicts a page that has been there for long enough.
    fn evict(&mut self, page: u64) {
        if let State::Cached(since) | State::InMemory(since) = self.pages[&page]
            && self.now - since > EVICTION
            && !self
                .submitted
                .iter()
                .any(|(_, pages)| pages.contains(&page))
        {
            self.pages.insert(page, State::InTier);
        }
    }

    fn sweep(&mut self) {
        let mut ended = Vec::new();
        let pages = &self.pages;
        let is_touched = |at: Location| matches!(pages[&at.page.0], State::InMemory(_));
        let now = Duration::from_micros(self.now);
        self.ledger
            .sweep(1000, self.reads, now, is_touched, &mut ended);
        for (at, outcome) in ended {
            self.end(at.page.0, Some(outcome));
        }
    }

    /// Lets time pass, in which faults end: their batches have been taken over by then.
    fn pass(&mut self, time: u64) {
        self.now += time;
        for page in 0..PAGES {
            if let State::Faulting(since) = self.pages[&page]
                && self.now - since >= READ
            {
                self.majors += 1;
                let ended = since + READ;
                self.pages.insert(page, State::InMemory(ended));
                let outcome = self.ledger.faulted(at(page), Duration::from_micros(ended));
                self.end(page, outcome);
            }
        }
    }

    fn end(&mut self, page: u64, outcome: Option<Outcome>) {
        self.reissued += u64::from(outcome == Some(Outcome::Reissued));
        if outcome.is_some() {
            self.fetched.remove(&page);
        }
    }
}

proptest! {
    #[test]
    fn each_read_is_a_fetch_s_or_a_fault_s(events in events()) {
        let mut machine = Machine::new();
        for event in events {
            machine.step(event);
        }
        // What is under way arrives.
        while !machine.submitted.is_empty() {
            machine.take_over();
        }
        machine.pass(READ);
        prop_assert_eq!(machine.ledger.outstanding(), machine.fetched.len());
        // A fetch of a page that the program touched at the same time is not known to have read
        // nothing until the fault has ended; all faults have.
        prop_assert_eq!(machine.reads, machine.issued + machine.majors - machine.reissued);
    }
}
