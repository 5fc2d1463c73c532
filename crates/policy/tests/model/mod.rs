//! A memory small and slow enough to be obviously right: pages in the order of their last use,
//! the least recent evicted, every fetch done at once.

use std::collections::{HashMap, HashSet};

use terrace_policy::prefetch::{Engine, EngineSettings, LifeStory, Outcome, Predictor};
use terrace_policy::{Fault, Location, Memory, Page, Residence, Space, Thread};

/// Residence of pages, with LRU eviction.
#[derive(Default)]
struct Lru {
    capacity: usize,
    /// Pages in DRAM, least recently used first; true where the program has touched it since
    /// it came in.
    pages: Vec<(Location, bool)>,
    /// Pages that were ever touched.
    known: HashSet<Location>,
}

impl Lru {
    /// Brings a page in; returns a fetched page that was evicted before it was touched.
    fn load(&mut self, at: Location, touched: bool) -> Option<Location> {
        self.pages.retain(|(page, _)| *page != at);
        self.pages.push((at, touched));
        if self.pages.len() <= self.capacity {
            return None;
        }
        let (evicted, used) = self.pages.remove(0);
        (!used).then_some(evicted)
    }

    fn find(&self, at: Location) -> Option<bool> {
        self.pages.iter().find(|(p, _)| *p == at).map(|(_, t)| *t)
    }
}

impl Memory for Lru {
    fn residence(&mut self, at: Location) -> Residence {
        match self.find(at) {
            Some(true) => Residence::InMemory,
            _ if self.known.contains(&at) => Residence::InTier,
            _ => Residence::Nowhere,
        }
    }
}

/// Drives an engine over a program's accesses.
pub struct Model {
    engine: Engine,
    memory: Lru,
    /// Demand faults on pages that lay in the tier.
    pub faults: u64,
    /// Faults by thread.
    pub faults_of: HashMap<u32, u64>,
    fetches_an_access: usize,
}

impl Model {
    /// A DRAM of `capacity` pages; between two accesses the device fetches `fetches` pages.
    pub fn new(predictor: Box<dyn Predictor>, capacity: usize, fetches: usize) -> Self {
        let engine = Engine::new(predictor, EngineSettings::default());
        Self::of(engine, capacity, fetches)
    }

    /// The same around an engine.
    pub fn of(engine: Engine, capacity: usize, fetches: usize) -> Self {
        Self {
            engine,
            memory: Lru {
                capacity,
                ..Lru::default()
            },
            faults: 0,
            faults_of: HashMap::new(),
            fetches_an_access: fetches,
        }
    }

    /// Touches every page of `pages` for the first time, without the policy's knowledge.
    pub fn populate(&mut self, pages: std::ops::Range<u64>) {
        for page in pages {
            let at = location(page);
            self.memory.known.insert(at);
            self.memory.load(at, true);
        }
    }

    /// The program touches the byte at `address` from `thread`.
    pub fn access(&mut self, thread: u32, address: u64) {
        let at = location(address / 4096);
        match self.memory.find(at) {
            Some(true) => drop(self.memory.load(at, true)),
            Some(false) => {
                self.memory.load(at, true);
                self.engine.touched(at, Outcome::Used, &mut self.memory);
            }
            None => self.fault(thread, at, (address % 4096) as u16),
        }
        self.fetch();
        self.check();
    }

    fn fault(&mut self, thread: u32, at: Location, offset: u16) {
        let came_from_tier = self.memory.known.contains(&at);
        self.memory.known.insert(at);
        let evicted = self.memory.load(at, true);
        self.lose(evicted);
        if came_from_tier {
            self.faults += 1;
            *self.faults_of.entry(thread).or_default() += 1;
            let fault = Fault {
                thread: Thread(thread),
                at,
                offset,
            };
            self.engine.fault(&fault, &mut self.memory);
        }
    }

    fn fetch(&mut self) {
        for _ in 0..self.fetches_an_access {
            let Some(at) = self.engine.next(&mut self.memory) else {
                return;
            };
            assert_ne!(
                self.memory.find(at),
                Some(true),
                "a page in memory was fetched"
            );
            let evicted = self.memory.load(at, false);
            self.lose(evicted);
        }
    }

    fn lose(&mut self, evicted: Option<Location>) {
        if let Some(at) = evicted {
            self.engine.end(at, Outcome::Wasted);
        }
    }

    /// Checks that the fetched pages not touched since are those that the engine counts as
    /// outstanding.
    fn check(&self) {
        let untouched = self.memory.pages.iter().filter(|(_, touched)| !touched);
        assert_eq!(untouched.count() as u64, self.engine.story().outstanding());
    }

    /// Ends the program and returns the life story of all predictions.
    pub fn finish(mut self) -> LifeStory {
        self.engine.finish();
        *self.engine.story()
    }
}

/// A page of the one address space that the model has.
pub fn location(page: u64) -> Location {
    Location::new(Space(1), Page(page))
}
