//! Dense numbers for the pages of a workload.
//!
//! Policies keep their state in arrays, so every page of every address space gets a number, in
//! the order of first appearance. Programs touch neighbouring pages, so the numbers of 128 pages
//! lie together in a leaf, which is found once and then indexed.

use std::ops::Range;

use rustc_hash::FxHashMap;
use terrace_base::{Error, Result};
use terrace_policy::cache::prefetch;
use terrace_policy::replacement::PageId;
use terrace_policy::{Location, Page, Space};

/// Pages in one leaf: a page that is alone in its leaf, like an object of an object trace, costs no
/// more than 512 bytes.
const LEAF_PAGES: u64 = 128;
/// Leaves found without hashing.
const RECENT: usize = 1 << 14;
/// Leaves found by an index: the first of the first space, as objects of one page have (64 GiB).
const FIRST: usize = 1 << 17;
/// Pages whose places are looked up before the first number is read.
const GROUP: usize = 64;
/// The mark of a page without a number.
const NONE: u32 = u32::MAX;

/// The number of address spaces.
pub const MAX_SPACES: u32 = 1 << 19;

/// Bits of a page number divided by `LEAF_PAGES`.
const LEAF_BITS: u32 = 45;

/// The key of a leaf: the address space, and the page number divided by `LEAF_PAGES`, which has at
/// most 45 bits, as an address has 64.
type LeafKey = u64;

fn leaf_key(at: Location) -> LeafKey {
    debug_assert!(at.space.0 < MAX_SPACES);
    (u64::from(at.space.0) << LEAF_BITS) | (at.page.0 / LEAF_PAGES)
}

/// The numbers of pages, and the pages of numbers.
pub struct PageTable {
    leaves: FxHashMap<LeafKey, u32>,
    /// The leaves, one after the other.
    numbers: Vec<u32>,
    /// The leaves found last, by the low bits of their keys.
    recent: Vec<(LeafKey, u32)>,
    /// The first leaves by their keys; [`NONE`] where there is none.
    first: Vec<u32>,
    /// The page of each number.
    locations: Vec<Location>,
    /// By number, whether the page was given back and not touched since; pages beyond the end were
    /// not.
    gone: Vec<bool>,
    /// How many pages that are.
    gone_count: usize,
    /// The most pages that were there at once, as of when pages were given back last.
    most: usize,
}

impl Default for PageTable {
    fn default() -> Self {
        Self::new()
    }
}

impl PageTable {
    /// Makes an empty table.
    pub fn new() -> Self {
        Self {
            leaves: FxHashMap::default(),
            numbers: Vec::new(),
            recent: vec![(LeafKey::MAX, NONE); RECENT],
            first: Vec::new(),
            locations: Vec::new(),
            gone: Vec::new(),
            gone_count: 0,
            most: 0,
        }
    }

    /// Appends the numbers of pages of one space, with new numbers for new pages. Takes many pages
    /// at a time, so that the processor loads their places in parallel.
    ///
    /// # Errors
    /// A failure where there are more pages than can be simulated: 2^32 - 1, or fewer where they
    /// lie far apart.
    pub fn intern(
        &mut self,
        space: Space,
        pages: &[Page],
        numbers: &mut Vec<PageId>,
    ) -> Result<()> {
        let group = |group: &[PageId]| numbers.extend_from_slice(group);
        self.intern_groups(space, pages, |page| *page, group)
    }

    /// Same as [`PageTable::intern`] of the pages of rows; `take` gets the numbers group by group.
    ///
    /// # Errors
    /// The errors of [`PageTable::intern`].
    #[inline]
    pub fn intern_groups<R>(
        &mut self,
        space: Space,
        rows: &[R],
        page: impl Fn(&R) -> Page,
        mut take: impl FnMut(&[PageId]),
    ) -> Result<()> {
        for group in rows.chunks(GROUP) {
            let mut places = [0; GROUP];
            for (place, row) in places.iter_mut().zip(group) {
                *place = self.place(Location::new(space, page(row)))?;
                prefetch(&self.numbers, *place);
            }
            let mut numbers = [PageId::default(); GROUP];
            for ((&place, row), number) in places.iter().zip(group).zip(&mut numbers) {
                if self.numbers[place] == NONE {
                    self.number(place, Location::new(space, page(row)))?;
                }
                *number = PageId(self.numbers[place]);
            }
            take(&numbers[..group.len()]);
        }
        Ok(())
    }

    /// Notes that pages were touched: those that were given back are there again.
    pub fn touch(&mut self, pages: impl Iterator<Item = PageId>) {
        if self.gone_count == 0 {
            return;
        }
        for page in pages {
            if let Some(gone) = self.gone.get_mut(page.index()) {
                self.gone_count -= usize::from(std::mem::take(gone));
            }
        }
    }

    /// Takes pages of a space for given back, and appends the numbers of those that were there.
    pub fn discard(&mut self, space: Space, pages: Range<u64>, numbers: &mut Vec<PageId>) {
        self.most = self.footprint();
        self.gone.resize(self.locations.len(), false);
        let first = numbers.len();
        let leaves = pages.start / LEAF_PAGES..pages.end.div_ceil(LEAF_PAGES);
        if leaves.end - leaves.start > self.leaves.len() as u64 {
            let own = |at: &Location| at.space == space && pages.contains(&at.page.0);
            let all = (0..).zip(&self.locations).filter(|(_, at)| own(at));
            numbers.extend(all.map(|(number, _)| PageId(number)));
        } else {
            for page in leaves.map(|leaf| Page(leaf * LEAF_PAGES)) {
                let Some(&leaf) = self.leaves.get(&leaf_key(Location::new(space, page))) else {
                    continue;
                };
                let own = &self.numbers[leaf as usize..][..LEAF_PAGES as usize];
                let own = (page.0..).zip(own);
                let there = own.filter(|(page, number)| pages.contains(page) && **number != NONE);
                numbers.extend(there.map(|(_, number)| PageId(*number)));
            }
        }
        let mut kept = first;
        for at in first..numbers.len() {
            let page = numbers[at];
            if !std::mem::replace(&mut self.gone[page.index()], true) {
                numbers[kept] = page;
                kept += 1;
            }
        }
        numbers.truncate(kept);
        self.gone_count += kept - first;
    }

    /// Returns the most pages that were touched and not given back at once.
    pub fn footprint(&self) -> usize {
        self.most.max(self.locations.len() - self.gone_count)
    }

    /// Gives the next number to the page at a place.
    #[cold]
    fn number(&mut self, place: usize, at: Location) -> Result<()> {
        self.numbers[place] = u32::try_from(self.locations.len())
            .ok()
            .filter(|number| *number != NONE)
            .ok_or_else(too_many)?;
        self.locations.push(at);
        Ok(())
    }

    /// Returns the number of a page, if it has one.
    pub fn find(&self, at: Location) -> Option<PageId> {
        // A prediction may lie beyond all addresses.
        if (at.page.0 / LEAF_PAGES) >> LEAF_BITS != 0 {
            return None;
        }
        let leaf = *self.leaves.get(&leaf_key(at))?;
        let number = self.numbers[leaf as usize + (at.page.0 % LEAF_PAGES) as usize];
        (number != NONE).then_some(PageId(number))
    }

    /// Returns the page of a number from [`PageTable::intern`].
    pub fn location(&self, page: PageId) -> Location {
        self.locations[page.index()]
    }

    /// Returns the page of each number.
    pub fn locations(&self) -> &[Location] {
        &self.locations
    }

    /// Returns the number of pages that have a number.
    pub fn len(&self) -> usize {
        self.locations.len()
    }

    /// Whether no page has a number.
    pub fn is_empty(&self) -> bool {
        self.locations.is_empty()
    }

    /// Returns the place of a page's number, and makes its leaf where there is none.
    #[inline]
    fn place(&mut self, at: Location) -> Result<usize> {
        let key = leaf_key(at);
        if let Some(&leaf) = self.first.get(key as usize)
            && leaf != NONE
        {
            return Ok(leaf as usize + (at.page.0 % LEAF_PAGES) as usize);
        }
        let slot = (key ^ (key >> LEAF_BITS)) as usize % RECENT;
        let (known, mut leaf) = self.recent[slot];
        if known != key {
            leaf = self.find_leaf(key)?;
            self.recent[slot] = (key, leaf);
        }
        Ok(leaf as usize + (at.page.0 % LEAF_PAGES) as usize)
    }

    #[cold]
    fn find_leaf(&mut self, key: LeafKey) -> Result<u32> {
        if let Some(&leaf) = self.leaves.get(&key) {
            return Ok(leaf);
        }
        let begin = self.numbers.len();
        let leaf = u32::try_from(begin).map_err(|_| too_many())?;
        self.numbers.resize(begin + LEAF_PAGES as usize, NONE);
        self.leaves.insert(key, leaf);
        if key < FIRST as LeafKey {
            let key = key as usize;
            if key >= self.first.len() {
                self.first.resize((key + 1).next_power_of_two(), NONE);
            }
            self.first[key] = leaf;
        }
        Ok(leaf)
    }
}

fn too_many() -> Error {
    Error::failure("the traces touch more pages than can be simulated; use ‘limit’")
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The slow twin is a set of the pages that are there.
        #[test]
        fn pages_that_are_given_back_come_back(
            steps in prop::collection::vec((0u32..2, any::<bool>(), 0u64..600, 0u64..300), 0..40),
            everything in 0usize..50,
        ) {
            let (mut table, mut there) = (PageTable::new(), HashSet::new());
            let mut most = 0;
            for (step, (space, touches, page, count)) in steps.into_iter().enumerate() {
                let space = Space(space);
                let mut numbers = Vec::new();
                if touches {
                    let pages: Vec<Page> = (page..page + count).step_by(3).map(Page).collect();
                    table.intern(space, &pages, &mut numbers).unwrap();
                    table.touch(numbers.into_iter());
                    there.extend(pages.iter().map(|page| (space.0, page.0)));
                    most = most.max(there.len());
                } else {
                    let range = if step == everything { 0..1 << 36 } else { page..page + count };
                    table.discard(space, range.clone(), &mut numbers);
                    let mut given_back: Vec<_> = numbers.iter().map(|number| {
                        let at = table.location(*number);
                        (at.space.0, at.page.0)
                    }).collect();
                    given_back.sort_unstable();
                    let own = |at: &&(u32, u64)| at.0 == space.0 && range.contains(&at.1);
                    let mut slow: Vec<_> = there.iter().filter(own).copied().collect();
                    slow.sort_unstable();
                    prop_assert_eq!(given_back, slow);
                    there.retain(|at| !own(&at));
                }
                prop_assert_eq!(table.footprint(), most);
            }
        }

        /// Compares with a plain map, for pages that share leaves and places among the recent ones.
        #[test]
        fn numbers_are_dense_and_stay(
            runs in prop::collection::vec((0u32..3, prop::collection::vec(0u64..1 << 24, 0..150)), 0..9),
        ) {
            let mut table = PageTable::new();
            let mut plain = HashMap::new();
            for (space, pages) in runs {
                let pages: Vec<_> = pages.iter().map(|page| Page(page * 77)).collect();
                let expected: Vec<_> = pages
                    .iter()
                    .map(|&page| {
                        let next = plain.len() as u32;
                        PageId(*plain.entry(Location::new(Space(space), page)).or_insert(next))
                    })
                    .collect();
                let mut numbers = Vec::new();
                table.intern(Space(space), &pages, &mut numbers).unwrap();
                prop_assert_eq!(&numbers, &expected);
                for (&page, &number) in pages.iter().zip(&numbers) {
                    let at = Location::new(Space(space), page);
                    prop_assert_eq!(table.find(at), Some(number));
                    prop_assert_eq!(table.location(number), at);
                }
                prop_assert_eq!(table.find(Location::new(Space(7), Page(1))), None);
                prop_assert_eq!(table.find(Location::new(Space(0), Page((1 << 52) + 77))), None);
            }
            prop_assert_eq!(table.len(), plain.len());
        }
    }
}
