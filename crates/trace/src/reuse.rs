//! Reuse distances: the number of other pages that a program touches between two touches of a page.
//!
//! An LRU memory of n pages hits exactly the touches whose distance is below n (Mattson, Gecsei,
//! Slutz and Traiger, Evaluation techniques for storage hierarchies, IBM Systems Journal 9(2),
//! 1970), so one pass over a trace tells the misses of every size of memory. Where pages are given
//! back, a memory that held one has room for another without an eviction; the stack has a hole
//! there.

use std::collections::BinaryHeap;

/// Bits of the timeline in a word.
const WORD: usize = 64;

/// The exact LRU stack distance of each touch, in the footprint's logarithm of time.
///
/// As Olken (Efficient methods for calculating the success function of fixed space replacement
/// policies, LBL-12370, 1981): a page's last touch is a mark on a timeline, and a distance is the
/// number of marks after it. The marks are bits, and a Fenwick tree counts them by words. When the
/// timeline is full it is drawn anew with the marks close together, so that its length, and all
/// memory, goes with the number of pages and not with the number of touches.
#[derive(Debug, Default)]
pub struct Distances {
    /// Time of the mark of each page; [`UNTOUCHED`] for pages without a mark.
    marks: Vec<u32>,
    timeline: Timeline,
    /// Marks that stand, those of holes included.
    standing: u32,
    /// Times of the marks of holes, the latest first.
    holes: BinaryHeap<u32>,
}

const UNTOUCHED: u32 = u32::MAX;
/// Visits whose marks are fetched together.
const AHEAD: usize = 64;

impl Distances {
    /// Notes a touch of a page. Returns its distance, the number of other pages touched since its
    /// last touch; `None` for the first. Pages are numbered from 0, nearly without gaps. Holes
    /// count as pages: a memory of n pages hits the touches whose distance is below n all the same.
    #[inline]
    pub fn touch(&mut self, page: u32) -> Option<u32> {
        if page as usize >= self.marks.len() {
            self.grow(page);
        }
        if self.timeline.is_full() {
            self.redraw();
        }
        let mark = std::mem::replace(&mut self.marks[page as usize], self.timeline.now());
        let distance = if mark == UNTOUCHED {
            self.enter();
            None
        } else {
            // The page's own mark is among those up to it.
            let distance = self.standing - self.timeline.up_to(mark);
            self.leave(mark);
            Some(distance)
        };
        self.timeline.mark(page);
        distance
    }

    /// Makes room for a page without a mark: the highest hole, or at the end.
    #[cold]
    fn enter(&mut self) {
        match self.holes.pop() {
            Some(hole) => self.timeline.erase(hole),
            None => self.standing += 1,
        }
    }

    /// Takes a page out of the stack, which has a hole there then. Its next touch is a first one.
    pub fn discard(&mut self, page: u32) {
        let Some(mark) = self.marks.get_mut(page as usize) else {
            return;
        };
        let mark = std::mem::replace(mark, UNTOUCHED);
        if mark != UNTOUCHED {
            self.timeline.owners[mark as usize] = UNTOUCHED;
            self.holes.push(mark);
        }
    }

    /// Takes the mark of a page that is touched off its place. Memories that are too small for the
    /// page, and large enough for the highest hole, take the page in there: the hole is then where
    /// the page was.
    #[inline]
    fn leave(&mut self, mark: u32) {
        if self.holes.peek().is_none_or(|hole| *hole < mark) {
            self.timeline.erase(mark);
            return;
        }
        let Some(mut hole) = self.holes.peek_mut() else {
            return;
        };
        self.timeline.erase(*hole);
        self.timeline.owners[mark as usize] = UNTOUCHED;
        *hole = mark;
    }

    #[cold]
    fn grow(&mut self, page: u32) {
        self.marks.resize(page as usize + 1, UNTOUCHED);
    }

    #[cold]
    fn redraw(&mut self) {
        self.holes.clear();
        self.timeline
            .redraw(&mut self.marks, &mut self.holes, self.standing);
    }

    /// Notes touches of all these pages, and appends what [`Distances::touch`] returns.
    pub fn touch_all(&mut self, pages: &[u32], answers: &mut Vec<Option<u32>>) {
        answers.reserve(pages.len());
        for pages in pages.chunks(AHEAD) {
            // The processor waits once for all of their marks, and not for each.
            let marks = pages.iter().map(|page| self.marks.get(*page as usize));
            std::hint::black_box(marks.flatten().fold(0, |all, mark| all ^ mark));
            answers.extend(pages.iter().map(|page| self.touch(*page)));
        }
    }
}

/// Marks in the order of time.
#[derive(Debug, Default)]
struct Timeline {
    /// The page whose mark was made at each time; [`UNTOUCHED`] where it was given back.
    owners: Vec<u32>,
    capacity: usize,
    /// A bit a time: whether the mark still stands.
    bits: Vec<u64>,
    /// The Fenwick tree: word w holds the marks of the words in `w & (w + 1)..=w`. The word in
    /// which time is enters the tree when it is full: until then nothing asks for its marks.
    counts: Vec<u32>,
}

impl Timeline {
    fn is_full(&self) -> bool {
        self.owners.len() == self.capacity
    }

    fn now(&self) -> u32 {
        self.owners.len() as u32
    }

    /// Sets a mark now, for `page`; time goes on.
    fn mark(&mut self, page: u32) {
        let time = self.owners.len();
        self.owners.push(page);
        self.bits[time / WORD] |= 1 << (time % WORD);
        if time % WORD == WORD - 1 {
            self.enter(time / WORD);
        }
    }

    /// Enters a word that is full into the tree.
    fn enter(&mut self, mut word: usize) {
        let marks = self.bits[word].count_ones();
        while let Some(count) = self.counts.get_mut(word) {
            *count += marks;
            word |= word + 1;
        }
    }

    fn erase(&mut self, time: u32) {
        let mut word = time as usize / WORD;
        self.bits[word] &= !(1 << (time as usize % WORD));
        if word == self.owners.len() / WORD {
            return;
        }
        while let Some(count) = self.counts.get_mut(word) {
            *count -= 1;
            word |= word + 1;
        }
    }

    /// Returns the number of marks up to `time`.
    fn up_to(&self, time: u32) -> u32 {
        let (mut word, bit) = (time as usize / WORD, time as usize % WORD);
        let within = self.bits[word] & (u64::MAX >> (WORD - 1 - bit));
        let mut marks = within.count_ones();
        while word > 0 {
            marks += self.counts[word - 1];
            word &= word - 1;
        }
        marks
    }

    /// Moves the standing marks together at the beginning, with as much room again behind them, and
    /// notes where those of pages and of holes are then.
    fn redraw(&mut self, marks: &mut [u32], holes: &mut BinaryHeap<u32>, standing: u32) {
        let mut kept = 0;
        for (word, bits) in self.bits.iter().enumerate() {
            let mut bits = *bits;
            while bits != 0 {
                let owner = self.owners[word * WORD + bits.trailing_zeros() as usize];
                match owner {
                    UNTOUCHED => holes.push(kept as u32),
                    page => marks[page as usize] = kept as u32,
                }
                self.owners[kept] = owner;
                kept += 1;
                bits &= bits - 1;
            }
        }
        self.owners.truncate(kept);
        let words = (2 * standing as usize / WORD + 1)
            .next_power_of_two()
            .max(16);
        self.capacity = words * WORD;
        self.bits = (0..words).map(|word| ones(kept, word)).collect();
        let full = kept / WORD * WORD;
        self.counts = (0..words)
            .map(|word| {
                let first = (word & (word + 1)) * WORD;
                full.min((word + 1) * WORD).saturating_sub(first) as u32
            })
            .collect();
    }
}

/// Word `word` of a row of bits whose first `count` are set.
fn ones(count: usize, word: usize) -> u64 {
    match count.saturating_sub(word * WORD) {
        0 => 0,
        bits if bits >= WORD => u64::MAX,
        bits => (1 << bits) - 1,
    }
}

/// Histogram of reuse distances.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reuse {
    /// First touches of a page.
    pub cold: u64,
    /// At `d`: touches before which `d` other pages were touched since the last touch of the page.
    pub distances: Vec<u64>,
}

impl Reuse {
    /// Notes a touch of a distance that [`Distances::touch`] returned.
    #[inline]
    pub fn add(&mut self, distance: Option<u32>) {
        let Some(distance) = distance else {
            self.cold += 1;
            return;
        };
        let distance = distance as usize;
        match self.distances.get_mut(distance) {
            Some(touches) => *touches += 1,
            None => self.add_longest(distance),
        }
    }

    #[cold]
    fn add_longest(&mut self, distance: usize) {
        self.distances.resize(distance + 1, 0);
        self.distances[distance] = 1;
    }

    /// Notes touches of the page that was touched before.
    pub fn add_zeros(&mut self, touches: u64) {
        if touches > 0 {
            self.add(Some(0));
            self.distances[0] += touches - 1;
        }
    }

    /// Returns the number of touches.
    pub fn touches(&self) -> u64 {
        self.cold + self.distances.iter().sum::<u64>()
    }

    /// Returns the number of misses of an LRU memory of `pages` pages that is empty at first.
    pub fn misses(&self, pages: u64) -> u64 {
        let hits = usize::try_from(pages).unwrap_or(usize::MAX);
        self.cold + self.distances.iter().skip(hits).sum::<u64>()
    }

    /// Returns the touches of distance 0, 1, 2 to 3, 4 to 7 and so on, up to the largest distance.
    pub fn by_powers_of_two(&self) -> Vec<Bin> {
        let mut bins = Vec::new();
        let mut start = 0;
        while start < self.distances.len() {
            let end = (2 * start).max(1).min(self.distances.len());
            bins.push(Bin {
                from: start as u64,
                to: (2 * start as u64).max(1) - 1,
                touches: self.distances[start..end].iter().sum(),
            });
            start = (2 * start).max(1);
        }
        bins
    }
}

/// Touches of a range of distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest distance, in pages.
    pub from: u64,
    /// The largest distance, in pages.
    pub to: u64,
    /// Number of touches.
    pub touches: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The stack itself: the most recent page first.
    #[derive(Default)]
    struct Stack(Vec<u32>);

    impl Stack {
        fn touch(&mut self, page: u32) -> Option<u32> {
            let depth = self.0.iter().position(|p| *p == page);
            if let Some(depth) = depth {
                self.0.remove(depth);
            }
            self.0.insert(0, page);
            depth.map(|depth| depth as u32)
        }
    }

    #[test]
    fn a_short_walk_by_hand() {
        let mut distances = Distances::default();
        let answers = [0, 1, 2, 0, 0, 2, 1].map(|page| distances.touch(page));
        let expected = [None, None, None, Some(2), Some(0), Some(1), Some(2)];
        assert_eq!(answers, expected);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Enough touches that the timeline of 1024 times is redrawn again and again, and enough
        /// pages that it grows.
        #[test]
        fn as_the_stack_has_it(
            pages in prop_oneof![1u32..20, 500u32..1500],
            touches in prop::collection::vec(any::<u32>(), 2000..4000),
        ) {
            let (mut fast, mut slow) = (Distances::default(), Stack::default());
            for touch in touches {
                let page = touch % pages;
                prop_assert_eq!(fast.touch(page), slow.touch(page));
            }
        }

        /// The misses of any memory are as many as of a memory that is simulated, also if pages are
        /// given back, and over enough touches for the timeline to be redrawn.
        #[test]
        fn misses_are_those_of_a_real_memory(
            steps in prop::collection::vec((0u32..40, prop::bool::weighted(0.1)), 0..5000),
            size in 0usize..50,
        ) {
            let (mut distances, mut reuse) = (Distances::default(), Reuse::default());
            let (mut memory, mut misses) = (Vec::new(), 0);
            for (page, discards) in steps {
                if discards {
                    distances.discard(page);
                    memory.retain(|other| *other != page);
                    continue;
                }
                reuse.add(distances.touch(page));
                if let Some(place) = memory.iter().position(|p| *p == page) {
                    memory.remove(place);
                } else {
                    misses += 1;
                }
                memory.insert(0, page);
                memory.truncate(size);
            }
            prop_assert_eq!(reuse.misses(size as u64), misses);
        }
    }

    #[test]
    fn memory_goes_with_the_pages() {
        let mut distances = Distances::default();
        for touch in 0..100_000 {
            distances.touch(touch % 10);
        }
        assert_eq!(distances.timeline.capacity, 1024);
    }

    #[test]
    fn bins_double() {
        let reuse = Reuse {
            cold: 5,
            distances: vec![10, 20, 30, 40, 50],
        };
        let bin = |from, to, touches| Bin { from, to, touches };
        let expected = [bin(0, 0, 10), bin(1, 1, 20), bin(2, 3, 70), bin(4, 7, 50)];
        assert_eq!(reuse.by_powers_of_two(), expected);
        assert_eq!(reuse.touches(), 155);
        assert_eq!(reuse.misses(3), 5 + 40 + 50);
        assert_eq!(reuse.misses(u64::MAX), 5);
    }
}
