//! Least frequently used: evicts the page with the fewest touches since it came in; among equals
//! the least recently used.
//!
//! A count lasts as long as its page is resident: this is in-cache LFU, not perfect LFU, which
//! remembers the counts of evicted pages. A prefetched page has a count of 0 until it is touched.
//! Pages of one count share a bucket, and the buckets are linked in the order of their counts, so
//! that a touch moves a page by one bucket: Shah, Mitra and Matani, "An O(1) algorithm for
//! implementing the LFU cache eviction scheme", 2010.

use super::table::Table;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};
use crate::list::{Links, List};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "lfu",
    summary: "least frequently used",
    paper: "Shah, Mitra and Matani, An O(1) algorithm for LFU, 2010",
    when: "Popularity that does not change, as of items in a cache of objects. Pages that were hot once stay for long.",
    evidence: crate::registry::Evidence {
        open: "Whether counts outlive pages, and which of equals goes: they do not, and the \
               least recent.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Online(&|capacity, _, _| Ok(Box::new(Lfu::new(capacity)))),
};

/// Least frequently used.
pub struct Lfu {
    capacity: usize,
    resident: usize,
    links: Links,
    /// Bucket of each page, [`NONE`] if the page is not resident.
    bucket_of: Table<u32>,
    buckets: Buckets,
}

impl Lfu {
    /// Makes an empty DRAM of `capacity` pages.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity,
            resident: 0,
            links: Links::default(),
            bucket_of: Table::default(),
            buckets: Buckets::new(),
        }
    }

    #[inline]
    fn count_touch(&mut self, page: PageId, from: u32) {
        let bucket = self.buckets.at(from);
        let (alone, count, higher) = (bucket.pages.len() == 1, bucket.count + 1, bucket.higher);
        if self.buckets.at(higher).count != count && alone {
            self.buckets.at(from).count = count;
            return;
        }
        let to = self.buckets.between(from, higher, count);
        self.take(page, from);
        self.put(page, to);
    }

    #[cold]
    fn admit(&mut self, page: PageId, count: u64) -> Option<PageId> {
        let full = self.resident >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        let bucket = self.buckets.low(count);
        self.put(page, bucket);
        self.resident += 1;
        evicted
    }

    #[inline]
    fn put(&mut self, page: PageId, bucket: u32) {
        let pages = &mut self.buckets.at(bucket).pages;
        pages.push_front(&mut self.links, page.0);
        self.bucket_of.set(page, bucket);
    }

    #[inline]
    fn take(&mut self, page: PageId, bucket: u32) {
        let pages = &mut self.buckets.at(bucket).pages;
        pages.remove(&mut self.links, page.0);
        if pages.len() == 0 {
            self.buckets.unlink(bucket);
        }
    }
}

impl Replacement for Lfu {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        let bucket = self.bucket_of.get(touch.page);
        if bucket == NONE {
            let evicted = self.admit(touch.page, 1);
            return Answer::Miss { evicted };
        }
        self.count_touch(touch.page, bucket);
        Answer::Hit
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        self.admit(page, 0)
    }

    fn evict(&mut self) -> Option<PageId> {
        let lowest = self.buckets.lowest();
        let evicted = self.buckets.at(lowest).pages.back().map(PageId)?;
        self.remove(evicted);
        Some(evicted)
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        let bucket = self.bucket_of.get(page);
        if bucket != NONE {
            self.take(page, bucket);
            self.bucket_of.set(page, NONE);
            self.resident -= 1;
        }
    }

    fn expect(&self, pages: &[PageId]) {
        self.bucket_of.expect(pages);
        pages.iter().for_each(|page| self.links.expect(page.0));
    }

    fn contains(&self, page: PageId) -> bool {
        self.bucket_of.get(page) != NONE
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

/// The bucket that never has a page and closes the circle between the highest and the lowest count.
const NONE: u32 = 0;

/// Pages with the same number of touches.
struct Bucket {
    /// Touches of each page.
    count: u64,
    /// Pages, the most recently used at the front.
    pages: List,
    /// Bucket of the next lower count.
    lower: u32,
    /// Bucket of the next higher count.
    higher: u32,
}

/// All buckets, in a circle of rising counts; between calls none but [`NONE`] is empty.
struct Buckets {
    all: Vec<Bucket>,
    free: Vec<u32>,
}

impl Buckets {
    fn new() -> Self {
        let none = Bucket {
            count: u64::MAX,
            pages: List::default(),
            lower: NONE,
            higher: NONE,
        };
        Self {
            all: vec![none],
            free: Vec::new(),
        }
    }

    fn at(&mut self, bucket: u32) -> &mut Bucket {
        &mut self.all[bucket as usize]
    }

    fn lowest(&mut self) -> u32 {
        self.at(NONE).higher
    }

    /// Returns the bucket of a count of 0 or 1, made if necessary.
    fn low(&mut self, count: u64) -> u32 {
        let lowest = self.lowest();
        if self.at(lowest).count < count {
            let higher = self.at(lowest).higher;
            return self.between(lowest, higher, count);
        }
        self.between(NONE, lowest, count)
    }

    /// Returns the bucket of `count`, which is `higher` or is made between `lower` and it.
    #[inline]
    fn between(&mut self, lower: u32, higher: u32, count: u64) -> u32 {
        if self.at(higher).count == count {
            return higher;
        }
        let bucket = Bucket {
            count,
            pages: List::default(),
            lower,
            higher,
        };
        let made = self.add(bucket);
        self.at(lower).higher = made;
        self.at(higher).lower = made;
        made
    }

    fn add(&mut self, bucket: Bucket) -> u32 {
        if let Some(free) = self.free.pop() {
            *self.at(free) = bucket;
            return free;
        }
        self.all.push(bucket);
        // There are no more buckets than pages, which have numbers of 32 bits.
        (self.all.len() - 1) as u32
    }

    fn unlink(&mut self, bucket: u32) {
        let Bucket { lower, higher, .. } = *self.at(bucket);
        self.at(lower).higher = higher;
        self.at(higher).lower = lower;
        self.free.push(bucket);
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    #[test]
    fn the_least_often_touched_goes_then_the_least_recently_touched() {
        // 1 and 2 are touched twice, so 3 goes for 4. Then all were touched twice, 1 longest ago.
        let mut lfu = Lfu::new(3);
        assert_eq!(evictions(&mut lfu, &[1, 1, 2, 2, 3, 4, 4, 5]), [3, 1]);
    }

    #[test]
    fn a_count_does_not_outlast_its_stay() {
        // 1 goes with two touches and comes back with one, fewer than 2 has.
        let mut lfu = Lfu::new(2);
        let pages = [1, 1, 2, 2, 2, 3, 3, 3, 1, 4];
        assert_eq!(evictions(&mut lfu, &pages), [1, 2, 1]);
    }

    #[test]
    fn a_prefetched_page_goes_first_until_it_is_touched() {
        let mut lfu = Lfu::new(2);
        assert_eq!(evictions(&mut lfu, &[1]), []);
        assert_eq!(lfu.prefetch(PageId(2)), None);
        assert_eq!(evictions(&mut lfu, &[3]), [2]);
        assert_eq!(lfu.prefetch(PageId(4)), Some(PageId(1)));
        assert_eq!(evictions(&mut lfu, &[4, 5]), [3]);
    }
}
