//! Least frequently used: the page that was touched least often since it came in goes; among
//! equals the one that was not touched for the longest time.
//!
//! A count lasts as long as its page is resident: this is in-cache LFU, not the perfect LFU that
//! remembers the counts of pages that went. A prefetched page has a count of 0 until it is
//! touched. Pages of one count share a bucket, and the buckets are linked in the order of their
//! counts, so that a touch moves a page by one bucket: Shah, Mitra and Matani, "An O(1) algorithm
//! for implementing the LFU cache eviction scheme", 2010.

use super::list::{Links, List};
use super::{Answer, PageId, Replacement, Touch};

/// No bucket.
const NONE: u32 = u32::MAX;

/// Least frequently used.
pub struct Lfu {
    capacity: usize,
    resident: usize,
    links: Links,
    /// The bucket of each page, [`NONE`] if it is not resident.
    bucket_of: Vec<u32>,
    buckets: Buckets,
}

/// The pages that were touched equally often.
struct Bucket {
    count: u64,
    /// The most recently used page is at the front.
    pages: List,
    /// The bucket of the next lower count, and of the next higher.
    lower: u32,
    higher: u32,
}

/// The buckets, linked by rising count; none is empty between two calls.
struct Buckets {
    all: Vec<Bucket>,
    free: Vec<u32>,
    lowest: u32,
}

impl Buckets {
    /// The bucket of `count`, made if it is not there, given the buckets it would stand between.
    fn between(&mut self, lower: u32, higher: u32, count: u64) -> u32 {
        if higher != NONE && self.all[higher as usize].count == count {
            return higher;
        }
        let bucket = Bucket {
            count,
            pages: List::default(),
            lower,
            higher,
        };
        let made = match self.free.pop() {
            Some(free) => {
                self.all[free as usize] = bucket;
                free
            }
            None => {
                self.all.push(bucket);
                (self.all.len() - 1) as u32
            }
        };
        self.link(lower, made);
        self.link(made, higher);
        made
    }

    /// Takes a bucket out if it is empty.
    fn drop_empty(&mut self, index: u32) {
        let bucket = &self.all[index as usize];
        if bucket.pages.len() == 0 {
            let (lower, higher) = (bucket.lower, bucket.higher);
            self.link(lower, higher);
            self.free.push(index);
        }
    }

    fn link(&mut self, lower: u32, higher: u32) {
        match lower {
            NONE => self.lowest = higher,
            lower => self.all[lower as usize].higher = higher,
        }
        if higher != NONE {
            self.all[higher as usize].lower = lower;
        }
    }
}

impl Lfu {
    /// A DRAM of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            resident: 0,
            links: Links::default(),
            bucket_of: Vec::new(),
            buckets: Buckets {
                all: Vec::new(),
                free: Vec::new(),
                lowest: NONE,
            },
        }
    }

    #[inline]
    fn bucket_of(&self, page: PageId) -> u32 {
        self.bucket_of.get(page.index()).copied().unwrap_or(NONE)
    }

    /// A touch of a page in bucket `from`.
    #[inline]
    fn count_touch(&mut self, page: PageId, from: u32) {
        let bucket = &mut self.buckets.all[from as usize];
        let (count, higher) = (bucket.count + 1, bucket.higher);
        let taken = higher != NONE && self.buckets.all[higher as usize].count == count;
        let bucket = &mut self.buckets.all[from as usize];
        if bucket.pages.len() == 1 && !taken {
            bucket.count = count;
            return;
        }
        bucket.pages.remove(&mut self.links, page);
        let to = self.buckets.between(from, higher, count);
        self.buckets.drop_empty(from);
        self.put(page, to);
    }

    #[inline]
    fn put(&mut self, page: PageId, bucket: u32) {
        let pages = &mut self.buckets.all[bucket as usize].pages;
        pages.push_front(&mut self.links, page);
        self.bucket_of[page.index()] = bucket;
    }

    #[cold]
    fn admit(&mut self, page: PageId, count: u64) -> Option<PageId> {
        self.cover(page);
        let evicted = (self.resident >= self.capacity)
            .then(|| self.evict())
            .flatten();
        let lowest = self.buckets.lowest;
        let above = match self.buckets.all.get(lowest as usize) {
            Some(bucket) if bucket.count < count => (lowest, bucket.higher),
            _ => (NONE, lowest),
        };
        let bucket = self.buckets.between(above.0, above.1, count);
        self.put(page, bucket);
        self.resident += 1;
        evicted
    }

    fn evict(&mut self) -> Option<PageId> {
        let lowest = self.buckets.all.get(self.buckets.lowest as usize)?;
        let evicted = lowest.pages.back()?;
        self.remove(evicted);
        Some(evicted)
    }

    fn cover(&mut self, page: PageId) {
        self.links.cover(page);
        if page.index() >= self.bucket_of.len() {
            let pages = (page.index() + 1).next_power_of_two();
            self.bucket_of.resize(pages, NONE);
        }
    }
}

impl Replacement for Lfu {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let bucket = self.bucket_of(touch.page);
        if bucket == NONE {
            let evicted = self.admit(touch.page, 1);
            return Answer::Miss { evicted };
        }
        self.count_touch(touch.page, bucket);
        Answer::Hit
    }

    fn prefetch(&mut self, page: PageId) -> Option<PageId> {
        if self.contains(page) {
            return None;
        }
        self.admit(page, 0)
    }

    fn remove(&mut self, page: PageId) {
        let bucket = self.bucket_of(page);
        if bucket != NONE {
            let pages = &mut self.buckets.all[bucket as usize].pages;
            pages.remove(&mut self.links, page);
            self.buckets.drop_empty(bucket);
            self.bucket_of[page.index()] = NONE;
            self.resident -= 1;
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.bucket_of(page) != NONE
    }

    fn resident(&self) -> usize {
        self.resident
    }
}
