//! Belady's MIN, the optimum: evicts the page whose next touch is farthest away.
//!
//! Belady, "A study of replacement algorithms for a virtual-storage computer", IBM Systems Journal
//! 5(2), 1966. It knows all touches to come, and no policy has fewer misses on them. As in all
//! policies here, every touched page comes in, even if another page will be touched sooner. Pages
//! that are never touched again are evicted before all others, the highest page number first.
//!
//! The rank of a page is the index of its next touch, and the ranks of the resident pages form a
//! bit set. So touch n hits if bit n is set, and the page to evict is the highest bit. Bits of past
//! touches are not cleared, because all others are higher. The policy takes 12 bytes and a bit for
//! every touch.

use super::bitset::BitSet;
use super::{Answer, Entry, Make, PageId, Replacement, Touch};

/// The registry's entry.
pub const ENTRY: Entry = Entry {
    name: "belady",
    summary: "the optimum: knows the future (Belady 1966)",
    paper: "Belady, IBM Systems Journal 5(2), 1966",
    when: "To see how far from the fewest misses a policy is. It needs the whole trace, and takes 12 bytes a touch.",
    evidence: crate::registry::Evidence {
        open: "Which page goes of those that are not touched again: the highest number.",
        compared: "libCacheSim on its trace cloudPhysicsIO: its miss ratios, to the last digit \
                   that it prints",
    },
    make: Make::Offline(&|capacity, _, future| Ok(Box::new(Belady::new(capacity, future)))),
};

/// The offline optimum.
pub struct Belady {
    capacity: usize,
    future: Vec<PageId>,
    /// Rank of the touched page after each touch.
    next_ranks: Vec<usize>,
    /// Number of touches so far.
    now: usize,
    /// Rank of each page: the index of its next touch in `future`, or its page number past the end
    /// of `future` if there is none.
    ranks: Vec<usize>,
    /// Ranks of the resident pages, and some below `now` without a meaning.
    ranked: BitSet,
    resident: usize,
}

impl Belady {
    /// Makes an empty DRAM of `capacity` pages for the touches of `future`, in order. Touches in
    /// another order are answered, but not optimally.
    pub fn new(capacity: usize, future: &[PageId]) -> Self {
        let end = future.len();
        let pages = future.iter().map(|page| page.index() + 1).max();
        let mut ranks: Vec<_> = (0..pages.unwrap_or(0)).map(|page| end + page).collect();
        let mut next_ranks = vec![0; end];
        for (at, page) in future.iter().enumerate().rev() {
            next_ranks[at] = std::mem::replace(&mut ranks[page.index()], at);
        }
        let mut ranked = BitSet::default();
        ranked.cover(end + ranks.len());
        Self {
            capacity: capacity.max(1),
            future: future.to_vec(),
            next_ranks,
            now: 0,
            ranks,
            ranked,
            resident: 0,
        }
    }

    fn rank(&self, page: PageId) -> usize {
        let never = self.future.len() + page.index();
        self.ranks.get(page.index()).copied().unwrap_or(never)
    }

    #[cold]
    fn admit(&mut self, rank: usize) -> Option<PageId> {
        let full = self.resident >= self.capacity;
        let evicted = full.then(|| self.evict()).flatten();
        self.ranked.insert(rank);
        self.resident += 1;
        evicted
    }

    #[cold]
    fn touch_out_of_order(&mut self, page: PageId) -> Answer {
        if self.contains(page) {
            return Answer::Hit;
        }
        let evicted = self.prefetch(page);
        Answer::Miss { evicted }
    }
}

impl Replacement for Belady {
    #[inline]
    fn touch(&mut self, touch: Touch) -> Answer {
        if self.future.get(self.now) != Some(&touch.page) {
            return self.touch_out_of_order(touch.page);
        }
        let hit = self.ranked.contains(self.now);
        let next_rank = self.next_ranks[self.now];
        self.now += 1;
        self.ranks[touch.page.index()] = next_rank;
        if hit {
            self.ranked.insert(next_rank);
            return Answer::Hit;
        }
        let evicted = self.admit(next_rank);
        Answer::Miss { evicted }
    }

    fn fetch(&mut self, page: PageId) -> Option<PageId> {
        let rank = self.rank(page);
        self.ranked.cover(rank + 1);
        self.admit(rank)
    }

    fn evict(&mut self) -> Option<PageId> {
        // Without resident pages there may be bits of past touches.
        let rank = self.ranked.last().filter(|_| self.resident > 0)?;
        self.ranked.remove(rank);
        self.resident -= 1;
        let never = |rank| PageId((rank - self.future.len()) as u32);
        let evicted = self.future.get(rank).copied();
        Some(evicted.unwrap_or_else(|| never(rank)))
    }

    fn evicts(&self) -> bool {
        true
    }

    fn remove(&mut self, page: PageId) {
        if self.contains(page) {
            self.ranked.remove(self.rank(page));
            self.resident -= 1;
        }
    }

    fn contains(&self, page: PageId) -> bool {
        self.ranked.contains(self.rank(page))
    }

    fn resident(&self) -> usize {
        self.resident
    }
}

#[cfg(test)]
mod tests {
    use super::super::example::evictions;
    use super::*;

    fn belady(capacity: usize, future: &[u32]) -> Belady {
        let future: Vec<_> = future.iter().copied().map(PageId).collect();
        Belady::new(capacity, &future)
    }

    /// The reference string by which textbooks compare policies: 9 misses with three pages, where
    /// LRU has 12 and FIFO 15.
    #[test]
    fn the_farthest_page_goes() {
        let pages = [7, 0, 1, 2, 0, 3, 0, 4, 2, 3, 0, 3, 2, 1, 2, 0, 1, 7, 0, 1];
        let evicted = evictions(&mut belady(3, &pages), &pages);
        assert_eq!(evicted, [7, 1, 0, 4, 3, 2]);
    }

    #[test]
    fn a_prefetched_page_has_its_place_in_the_future() {
        let mut belady = belady(2, &[1, 2, 3]);
        assert_eq!(belady.prefetch(PageId(3)), None);
        assert_eq!(belady.prefetch(PageId(9)), None);
        assert_eq!(belady.prefetch(PageId(2)), Some(PageId(9)));
        assert_eq!(evictions(&mut belady, &[1]), [3]);
    }

    #[test]
    fn touches_out_of_order_are_answered() {
        let mut belady = belady(2, &[1, 2]);
        assert_eq!(evictions(&mut belady, &[5, 5, 1, 2]), [5]);
        assert_eq!(evictions(&mut belady, &[1, 2, 6, 1]), [2]);
        assert_eq!(belady.resident(), 2);
    }
}
