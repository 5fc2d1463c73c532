//! Which page of a program has which number, and where: address ranges, and numbers in ranges that
//! are used again.

use std::collections::BTreeMap;
use std::ops::Range;

use terrace_policy::page::Page;
use terrace_policy::replacement::PageId;

/// Ranges of pages with numbers in a row.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// By first page: number of pages, and the number of the first.
    by_start: BTreeMap<u64, (u64, u32)>,
    /// Free numbers: first, and behind the last.
    free: BTreeMap<u32, u32>,
    /// Numbers that were ever used.
    used: u32,
}

/// Pages in a row, with numbers in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// The first page.
    pub start: Page,
    /// How many pages.
    pub pages: u64,
    /// The number of the first.
    pub first: PageId,
}

impl Extent {
    /// Returns the pages with their numbers.
    pub fn pages(self) -> impl Iterator<Item = (Page, PageId)> {
        let numbered = move |at| (Page(self.start.0 + at), PageId(self.first.0 + at as u32));
        (0..self.pages).map(numbered)
    }
}

impl Ranges {
    /// Returns the number of a page.
    pub fn find(&self, page: Page) -> Option<PageId> {
        let (&start, &(pages, first)) = self.by_start.range(..=page.0).next_back()?;
        let at = page.0 - start;
        (at < pages).then(|| PageId(first + at as u32))
    }

    /// Numbers those of the pages from `start` to before `end` that have no number, and returns
    /// them. There are fewer than 2^32 pages.
    pub fn insert(&mut self, start: Page, end: Page) -> Vec<Extent> {
        let gaps = self.gaps(start.0, end.0);
        let numbered = gaps.into_iter().map(|gap| {
            let pages = gap.end - gap.start;
            let first = self.take_numbers(pages as u32);
            self.by_start.insert(gap.start, (pages, first));
            Extent {
                start: Page(gap.start),
                pages,
                first: PageId(first),
            }
        });
        numbered.collect()
    }

    /// Takes the pages from `start` to before `end` away, and returns those that there were. Their
    /// numbers are used again once they are given back by [`Ranges::free`].
    pub fn cut(&mut self, start: Page, end: Page) -> Vec<Extent> {
        self.split(start.0);
        self.split(end.0);
        let starts: Vec<u64> = self
            .by_start
            .range(start.0..end.0)
            .map(|(&start, _)| start)
            .collect();
        let extents = starts.into_iter().filter_map(|start| {
            let (pages, first) = self.by_start.remove(&start)?;
            let (start, first) = (Page(start), PageId(first));
            Some(Extent {
                start,
                pages,
                first,
            })
        });
        extents.collect()
    }

    /// Returns the pages of a range that have numbers.
    pub fn within(&mut self, start: Page, end: Page) -> Vec<Extent> {
        let extents = self.cut(start, end);
        extents.iter().for_each(|extent| self.put(*extent));
        extents
    }

    /// Puts pages with their numbers somewhere, where none are.
    pub fn put(&mut self, extent: Extent) {
        let Extent {
            start,
            pages,
            first,
        } = extent;
        self.by_start.insert(start.0, (pages, first.0));
    }

    /// Gives the numbers of pages back that were cut.
    pub fn free(&mut self, extent: Extent) {
        let mut start = extent.first.0;
        let mut end = start + extent.pages as u32;
        if let Some((&before, &up_to)) = self.free.range(..start).next_back()
            && up_to == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(up_to) = self.free.remove(&end) {
            end = up_to;
        }
        self.free.insert(start, end);
    }

    /// Returns the pages that have numbers as spans without gaps, each from its first page to
    /// before its end.
    pub fn spans(&self) -> Vec<(Page, Page)> {
        let mut spans: Vec<(Page, Page)> = Vec::new();
        for (&start, &(pages, _)) in &self.by_start {
            match spans.last_mut() {
                Some((_, end)) if end.0 == start => end.0 += pages,
                _ => spans.push((Page(start), Page(start + pages))),
            }
        }
        spans
    }

    /// Returns how many numbers were ever used.
    pub fn used(&self) -> usize {
        self.used as usize
    }

    fn gaps(&self, start: u64, end: u64) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut from = start;
        if let Some((&before, &(pages, _))) = self.by_start.range(..=start).next_back() {
            from = from.max(before + pages);
        }
        for (&next, &(pages, _)) in self.by_start.range(start..end) {
            if from < next {
                gaps.push(from..next);
            }
            from = from.max(next + pages);
        }
        if from < end {
            gaps.push(from..end);
        }
        gaps
    }

    /// Makes a range end before `at`, and another begin there, where one goes over it.
    fn split(&mut self, at: u64) {
        let Some((&start, &(pages, first))) = self.by_start.range(..at).next_back() else {
            return;
        };
        let before = at - start;
        if before < pages {
            self.by_start.insert(start, (before, first));
            let rest = (pages - before, first + before as u32);
            self.by_start.insert(at, rest);
        }
    }

    fn take_numbers(&mut self, pages: u32) -> u32 {
        let fits = self.free.iter().find(|&(start, end)| end - start >= pages);
        let Some((&start, &end)) = fits else {
            let first = self.used;
            self.used += pages;
            return first;
        };
        self.free.remove(&start);
        if end - start > pages {
            self.free.insert(start + pages, end);
        }
        start
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// A map with an entry for each page is the slow twin.
        #[test]
        fn as_a_map_of_single_pages(
            steps in prop::collection::vec((0_u64..60, 1_u64..20, 0..3), 1..60)
        ) {
            let mut ranges = Ranges::default();
            let mut twin: HashMap<u64, PageId> = HashMap::new();
            for (start, pages, step) in steps {
                let (from, to) = (Page(start), Page(start + pages));
                let there: Vec<u64> = (from.0..to.0).filter(|p| twin.contains_key(p)).collect();
                match step {
                    0 => for (page, id) in ranges.insert(from, to).into_iter().flat_map(Extent::pages) {
                        prop_assert!(twin.values().all(|other| *other != id), "two of a number");
                        prop_assert!(twin.insert(page.0, id).is_none());
                    },
                    1 => {
                        let cut = ranges.cut(from, to);
                        let mut pages = Vec::new();
                        for (page, id) in cut.iter().flat_map(|extent| extent.pages()) {
                            prop_assert_eq!(twin.remove(&page.0), Some(id));
                            pages.push(page.0);
                        }
                        prop_assert_eq!(pages, there);
                        cut.into_iter().for_each(|extent| ranges.free(extent));
                    }
                    _ => {
                        let within = ranges.within(from, to);
                        let pages: Vec<u64> = within.iter().flat_map(|e| e.pages()).map(|p| p.0.0).collect();
                        prop_assert_eq!(pages, there);
                    }
                }
                for page in 0..90 {
                    prop_assert_eq!(ranges.find(Page(page)), twin.get(&page).copied());
                }
            }
            prop_assert!(ranges.used() <= 90 + 20 * 60);
            let spans = ranges.spans();
            prop_assert!(spans.windows(2).all(|pair| pair[0].1 < pair[1].0), "{spans:?}");
            let mut pages: Vec<u64> = twin.into_keys().collect();
            pages.sort_unstable();
            prop_assert_eq!(spans.into_iter().flat_map(|(from, to)| from.0..to.0).collect::<Vec<_>>(), pages);
        }
    }
}
