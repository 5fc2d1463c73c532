//! A service of a model: pages, how often each is touched, and what a look sees of it.

use std::time::Duration;

use terrace_policy::control::{Controller, Decision, Moved, Seen, Spec, Step};

const PAGE: u64 = 4096;
/// Time that a touch of a page in the tier waits.
const FAULT: Duration = Duration::from_micros(100);

/// The service. Each of its pages is touched every so many looks.
pub struct Service {
    controller: Controller,
    looks: u64,
    /// Looks between two touches of a page; 0 if nothing touches it.
    pub every: Vec<u64>,
    touched: Vec<u64>,
    present: Vec<bool>,
    /// Pages that were taken, the last one last.
    taken: Vec<usize>,
    stalled: Duration,
    written: u64,
    /// Decisions so far.
    pub decisions: Vec<Decision>,
    /// Time that it stood still so far.
    pub lost: Duration,
}

impl Service {
    /// Starts a service with all pages in DRAM.
    pub fn start(control: &str, every: Vec<u64>) -> Self {
        let pages = every.len();
        Self {
            controller: Spec::parse(control).unwrap().controller().unwrap(),
            looks: 0,
            every,
            touched: vec![0; pages],
            present: vec![true; pages],
            taken: Vec::new(),
            stalled: Duration::ZERO,
            written: 0,
            decisions: Vec::new(),
            lost: Duration::ZERO,
        }
    }

    /// Time since it began.
    pub fn now(&self) -> Duration {
        self.controller.every() * self.looks as u32
    }

    /// Bytes in DRAM.
    pub fn resident(&self) -> u64 {
        self.present.iter().filter(|present| **present).count() as u64 * PAGE
    }

    /// Lets it run for some time.
    pub fn run(&mut self, time: Duration) {
        let end = self.now() + time;
        while self.now() < end {
            self.step();
        }
    }

    /// Touches a page once.
    pub fn touch(&mut self, page: usize) {
        self.touched[page] = self.looks;
        if !self.present[page] {
            self.present[page] = true;
            self.stalled += FAULT;
        }
    }

    /// Lets it wait as at a fault.
    pub fn wait(&mut self) {
        self.stalled += FAULT;
    }

    /// Bytes that were asked to leave so far.
    pub fn reclaimed(&self) -> u64 {
        self.controller.decisions().reclaimed
    }

    fn step(&mut self) {
        self.looks += 1;
        for page in 0..self.every.len() {
            let every = self.every[page];
            // Not all at the same look.
            if every > 0 && (self.looks + page as u64 * 7919).is_multiple_of(every) {
                self.touch(page);
            }
        }
        let resident = self.resident();
        let stalled = self.stalled.min(self.controller.every());
        self.lost += stalled;
        self.stalled -= stalled;
        let seen = Seen {
            time: self.now(),
            resident,
            swapped: self.every.len() as u64 * PAGE - resident,
            stalled,
            written: std::mem::take(&mut self.written),
            short: false,
        };
        let decision = self.controller.look(&seen, None);
        self.decisions.push(decision);
        let before = self.resident();
        match decision.step {
            Step::Reclaim(bytes) => self.reclaim(bytes / PAGE),
            Step::GiveBack(bytes) => self.give_back(bytes / PAGE),
            Step::Hold => {}
        }
        self.controller.came(Moved {
            bytes: before.abs_diff(self.resident()),
            tried: 0,
        });
    }

    fn reclaim(&mut self, pages: u64) {
        let present = |page: &usize| self.present[*page];
        let mut coldest: Vec<usize> = (0..self.every.len()).filter(present).collect();
        coldest.sort_by_key(|page| self.touched[*page]);
        for page in coldest.into_iter().take(pages as usize) {
            self.present[page] = false;
            self.taken.push(page);
            self.written += PAGE;
        }
    }

    fn give_back(&mut self, pages: u64) {
        let mut left = pages;
        while left > 0
            && let Some(page) = self.taken.pop()
        {
            left -= u64::from(!self.present[page]);
            self.present[page] = true;
        }
    }

    /// Number of times that something was given back where it was not at the look before.
    pub fn episodes(&self) -> usize {
        let back = |decision: &Decision| matches!(decision.step, Step::GiveBack(_));
        let pairs = self.decisions.windows(2);
        pairs
            .filter(|pair| !back(&pair[0]) && back(&pair[1]))
            .count()
    }
}
