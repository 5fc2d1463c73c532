//! Replacement: which pages stay in DRAM.
//!
//! A [`Replacement`] decides over a DRAM of a fixed number of pages. It is told of every touch
//! and answers a miss with the page that has to go. Pages are numbered densely ([`PageId`]), so
//! that a policy keeps its state in plain arrays and never hashes.
//!
//! To add a policy: copy [`fifo`], name it in [`REGISTRY`], and give it a slow twin in
//! `tests/replacement/slow`.

pub mod age;
pub mod arc;
pub mod belady;
mod bitset;
pub mod cflru;
pub mod clock;
#[cfg(test)]
mod example;
pub mod fifo;
pub mod lfu;
pub mod linux;
pub mod lirs;
mod list;
pub mod lru;
pub mod random;
pub mod s3fifo;
pub mod sieve;
mod table;
pub mod twoq;

/// A page of a simulation, numbered from 0 in the order of first appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageId(pub u32);

impl PageId {
    /// As an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A touch of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// The page.
    pub page: PageId,
    /// Whether it is written to.
    pub write: bool,
}

/// What became of a touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The page was in DRAM.
    Hit,
    /// It was not, and is now; at most one page had to go for it.
    Miss {
        /// The page that went. None while there is room.
        evicted: Option<PageId>,
    },
}

/// Decides which pages stay in DRAM.
///
/// After every call at most `capacity` pages are resident, as many as were given when it was
/// made. A policy may remember pages that are not resident (ghosts).
pub trait Replacement: Send {
    /// The program touches a page; a page that was not resident is afterwards.
    fn touch(&mut self, touch: Touch) -> Answer;

    /// A page comes in before it was touched, and is kept as the policy keeps what nobody has
    /// used yet. Returns the page that goes for it. No effect on a resident page. The first touch
    /// is a hit, but says no more for the page than a miss would have said.
    fn prefetch(&mut self, page: PageId) -> Option<PageId>;

    /// The page, if it is resident, is clean again: what was written to it is in the slower tier.
    fn cleaned(&mut self, _page: PageId) {}

    /// The page is no longer needed: it is neither resident nor remembered.
    fn remove(&mut self, page: PageId);

    /// Whether the page is resident.
    fn contains(&self, page: PageId) -> bool;

    /// How many pages are resident.
    fn resident(&self) -> usize;

    /// These pages will be touched next: what is known of them may be fetched into the
    /// processor's cache. Changes nothing else.
    fn expect(&self, _pages: &[PageId]) {}

    /// The page that goes next, where that is easily said and nothing is touched before: a driver
    /// may have what it knows of that page fetched into the processor's cache.
    fn next_victim(&self) -> Option<PageId> {
        None
    }

    /// Touches in a row; returns how many missed. Each policy's own loop, so that a touch is no
    /// virtual call.
    fn replay(&mut self, touches: &[Touch]) -> u64 {
        let mut misses = 0;
        for &touch in touches {
            misses += u64::from(matches!(self.touch(touch), Answer::Miss { .. }));
        }
        misses
    }
}

/// How a policy is made.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// From the pages of DRAM, at least one, and a seed for what it leaves to chance.
    Online(fn(capacity: usize, seed: u64) -> Box<dyn Replacement>),
    /// From the pages of DRAM and all touches to come, in order.
    Offline(fn(capacity: usize, future: &[PageId]) -> Box<dyn Replacement>),
}

/// A policy's name on the command line, what it is, and how to make one.
#[derive(Debug)]
pub struct Entry {
    /// The name after `--replacement`.
    pub name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Makes one with its default settings.
    pub make: Make,
}

impl Entry {
    /// Whether it is made from all touches to come.
    pub fn knows_future(&self) -> bool {
        matches!(self.make, Make::Offline(_))
    }
}

/// Every policy, by name.
pub const REGISTRY: &[Entry] = &[
    Entry {
        name: "2q",
        summary: "new pages pass a queue; LRU for those touched again after it (Johnson 1994)",
        make: Make::Online(|capacity, _| Box::new(twoq::TwoQ::new(capacity))),
    },
    Entry {
        name: "age",
        summary: "CLOCK with a counter a page (Awad 2016)",
        make: Make::Online(|capacity, _| Box::new(age::Age::new(capacity))),
    },
    Entry {
        name: "arc",
        summary: "divides DRAM between pages touched once and more often, and adapts (Megiddo 2003)",
        make: Make::Online(|capacity, _| Box::new(arc::Arc::new(capacity))),
    },
    Entry {
        name: "belady",
        summary: "the optimum: knows the future (Belady 1966)",
        make: Make::Offline(|capacity, future| Box::new(belady::Belady::new(capacity, future))),
    },
    Entry {
        name: "cflru",
        summary: "LRU that prefers clean victims in its older half (Park 2006)",
        make: Make::Online(|capacity, _| Box::new(cflru::Cflru::new(capacity))),
    },
    Entry {
        name: "clock",
        summary: "second chance: first in, first out, past pages referenced since",
        make: Make::Online(|capacity, _| Box::new(clock::Clock::new(capacity))),
    },
    Entry {
        name: "fifo",
        summary: "first in, first out",
        make: Make::Online(|capacity, _| Box::new(fifo::Fifo::new(capacity))),
    },
    Entry {
        name: "lfu",
        summary: "least frequently used",
        make: Make::Online(|capacity, _| Box::new(lfu::Lfu::new(capacity))),
    },
    Entry {
        name: "linux",
        summary: "the kernel's active and inactive queues with refaults",
        make: Make::Online(|capacity, _| Box::new(linux::Linux::new(capacity))),
    },
    Entry {
        name: "lirs",
        summary: "keeps pages whose last two touches were close together (Jiang 2002)",
        make: Make::Online(|capacity, _| Box::new(lirs::Lirs::new(capacity))),
    },
    Entry {
        name: "lru",
        summary: "least recently used",
        make: Make::Online(|capacity, _| Box::new(lru::Lru::new(capacity))),
    },
    Entry {
        name: "random",
        summary: "any page, by chance",
        make: Make::Online(|capacity, seed| Box::new(random::Random::new(capacity, seed))),
    },
    Entry {
        name: "s3fifo",
        summary: "small, main and ghost queue (Yang 2023)",
        make: Make::Online(|capacity, _| Box::new(s3fifo::S3Fifo::new(capacity))),
    },
    Entry {
        name: "sieve",
        summary: "the first page not visited since the hand passed (Zhang 2024)",
        make: Make::Online(|capacity, _| Box::new(sieve::Sieve::new(capacity))),
    },
];

/// The policy called `name`, if there is one.
pub fn by_name(name: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.name == name)
}
