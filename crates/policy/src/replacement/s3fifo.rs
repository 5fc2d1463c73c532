//! S3-FIFO: a small queue that pages used once leave soon, a main queue for pages used more, and a
//! queue of ghosts that shows which pages left too soon.
//!
//! Yang, Zhang, Qiu, Yue and Rashmi, "FIFO queues are all you need for cache eviction", SOSP 2023,
//! section 4. The small queue has a tenth of the pages (`small`). A page that was touched twice in
//! it (`touches`) moves to the main queue when its turn comes; any other is evicted and becomes a
//! ghost. The main queue is a CLOCK with two-bit counters. A page that is touched while it is a
//! ghost comes into the main queue at once.
//!
//! There are as many ghosts as pages in the main queue (`ghosts`). While there is room, all pages
//! come into the small queue, as in the paper; libCacheSim's later versions use the main queue once
//! the small one is full, and have fewer misses if DRAM is nearly large enough.
//!
//! A prefetched page comes into the small queue even if it is a ghost. Its first touch is not
//! counted, like the touch that brings a page in; without a touch it does not become a ghost.

use super::lists::{self, Lists};
use super::make::pages;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::settings;

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "s3fifo",
    summary: "small, main and ghost queue (Yang 2023)",
    paper: "Yang et al., FIFO queues are all you need for cache eviction, SOSP 2023, section 4",
    when: "Many pages that are used only once, as in caches of objects.",
    evidence: crate::registry::Evidence {
        open: "What becomes of prefetched pages: the first touch is not counted.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints (S3FIFO-0.1000-2); its later versions fill the main queue \
                   once the small one is full",
    },
    make: Make::Online(&|capacity, params, _| {
        let settings = S3FifoSettings::take(params)?;
        Ok(Box::new(S3Fifo::new(capacity, settings)))
    }),
};

/// Bound of the counter of touches.
const MAX_TOUCHES: u8 = 3;

settings! {
    /// Settings of `s3fifo`.
    pub struct S3FifoSettings {
        /// share of the pages that the small queue has
        small: f64 = 0.1, 0.0..=1.0;
        /// pages that are remembered, as a share of those of the main queue
        ghosts: f64 = 1.0, 0.0..=16.0;
        /// touches in the small queue that make a page worth keeping
        touches: u8 = 2, 1..=MAX_TOUCHES;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Queue {
    #[default]
    None,
    Small,
    Main,
    Ghost,
    /// In the small queue, prefetched and not touched since.
    Fetched,
}

#[derive(Clone, Copy, Debug, Default)]
struct State {
    queue: Queue,
    /// Touches since the page came into its queue.
    touches: u8,
}

impl From<Queue> for State {
    fn from(queue: Queue) -> Self {
        Self { queue, touches: 0 }
    }
}

impl lists::State for State {
    const RESIDENT: usize = 2;

    #[inline]
    fn list(self) -> usize {
        match self.queue {
            Queue::Fetched => Queue::Small as usize,
            queue => queue as usize,
        }
    }
}

/// S3-FIFO.
pub struct S3Fifo {
    capacity: usize,
    /// Most pages in the main queue; the others are in the small queue.
    main_capacity: usize,
    /// Most ghosts.
    ghost_capacity: usize,
    /// Touches in the small queue that make a page worth keeping.
    worth_keeping: u8,
    queues: Lists<State, 4>,
}

impl S3Fifo {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize, settings: S3FifoSettings) -> Self {
        let small = pages(settings.small, capacity).max(1);
        let main_capacity = capacity.saturating_sub(small);
        Self {
            capacity,
            main_capacity,
            ghost_capacity: pages(settings.ghosts, main_capacity),
            worth_keeping: settings.touches,
            queues: Lists::default(),
        }
    }

    /// Brings in a page that is in no queue.
    fn admit(&mut self, page: PageId, queue: Queue) -> Option<PageId> {
        let full = self.resident() >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.queues.push(page, queue);
        evicted
    }

    fn evict_from_small(&mut self) -> Option<PageId> {
        while let Some((page, state)) = self.queues.pop_back(Queue::Small) {
            if state.touches >= self.worth_keeping {
                self.queues.push(page, Queue::Main);
                continue;
            }
            if state.queue != Queue::Fetched {
                self.remember(page);
            }
            return Some(page);
        }
        None
    }

    fn evict_from_main(&mut self) -> Option<PageId> {
        while let Some((page, mut state)) = self.queues.pop_back(Queue::Main) {
            if state.touches == 0 {
                return Some(page);
            }
            state.touches -= 1;
            self.queues.push(page, state);
        }
        None
    }

    fn remember(&mut self, page: PageId) {
        self.queues.push(page, Queue::Ghost);
        if self.queues.len(Queue::Ghost) > self.ghost_capacity {
            self.queues.pop_back(Queue::Ghost);
        }
    }
}

impl Replacement for S3Fifo {
    fn touch(&mut self, touch: Touch) -> Answer {
        let state = self.queues.at(touch.page);
        let evicted = match state.queue {
            Queue::Small | Queue::Main => {
                state.touches = (state.touches + 1).min(MAX_TOUCHES);
                return Answer::Hit;
            }
            Queue::Fetched => {
                state.queue = Queue::Small;
                return Answer::Hit;
            }
            Queue::None => self.admit(touch.page, Queue::Small),
            Queue::Ghost => {
                self.remove(touch.page);
                self.admit(touch.page, Queue::Main)
            }
        };
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.remove(page);
        self.admit(page, Queue::Fetched)
    }

    fn evict(&mut self) -> Option<PageId> {
        if self.queues.len(Queue::Main) > self.main_capacity {
            return self.evict_from_main();
        }
        // All pages of the small queue may have moved to the main queue.
        self.evict_from_small().or_else(|| self.evict_from_main())
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        self.queues.remove(page);
    }

    fn expect(&self, pages: &[PageId]) {
        self.queues.expect(pages);
    }

    fn contains(&self, page: PageId) -> bool {
        self.queues.is_resident(page)
    }

    fn resident(&self) -> usize {
        self.queues.resident()
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    const FULL: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

    /// Ten pages in the small queue.
    fn full() -> S3Fifo {
        let mut s3fifo = S3Fifo::new(10, S3FifoSettings::default());
        assert_eq!(evictions(&mut s3fifo, &FULL), []);
        s3fifo
    }

    #[test]
    fn a_page_that_is_touched_twice_moves_on() {
        // The turn of 1 has come, but 2, touched only once since it came in, goes in its place.
        assert_eq!(evictions(&mut full(), &[1, 1, 2, 11, 12]), [2, 3]);
    }

    #[test]
    fn a_ghost_comes_back_into_the_main_queue() {
        // 1 comes back for 2 and stays, while all others pass through the small queue.
        let mut s3fifo = full();
        assert_eq!(evictions(&mut s3fifo, &[11, 1]), [1, 2]);
        assert_eq!(evictions(&mut s3fifo, &FULL[2..]), []);
        let scan: Vec<u32> = (12..=30).collect();
        assert_eq!(evictions(&mut s3fifo, &scan), (3..=21).collect::<Vec<_>>());
        assert!(s3fifo.contains(PageId(1)));
    }

    #[test]
    fn the_main_queue_spares_a_touched_page() {
        // All move on as the turn of 1 comes, and as the small queue is empty then, the oldest
        // of the main queue goes. So it is once more with 11; but 2, now the oldest, was touched
        // in the main queue.
        let mut s3fifo = full();
        evictions(&mut s3fifo, &[FULL, FULL].concat());
        assert_eq!(evictions(&mut s3fifo, &[11]), [1]);
        assert_eq!(evictions(&mut s3fifo, &[2, 11, 11, 12]), [3]);
    }
}
