//! Held pages in groups of about 64, in the order in which a program passes them. Each group is
//! known by its sample, the page that came before the others: it is let go, so that its return
//! shows that the program comes to the group again.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::page::{Location, Page, Space};

/// Pages of a group at most.
const MOST: usize = 256;
/// Groups most recently passed that may still be in use.
const IN_USE: usize = 8;
/// Pages of a bitmap.
const WORD: u64 = 64;

/// Pages that are held.
struct Group {
    pages: Vec<Page>,
    /// The page before them, in the same address space.
    sample: Location,
    /// The clock between the last two times that the program came to the group; `None` before.
    interval: Option<u64>,
}

/// A place in the order in which groups were passed: the clock, and a number that tells groups of
/// the same clock apart.
type Place = (u64, u64);

/// All held pages.
#[derive(Default)]
pub(super) struct Groups {
    groups: BTreeMap<Place, Group>,
    places: FxHashMap<Location, Place>,
    made: u64,
    /// The group of each address space that is being passed, which pages are added to.
    open: FxHashMap<Space, Group>,
    /// One bit for each held page.
    held: FxHashMap<(Space, u64), u64>,
    count: u64,
}

impl Groups {
    /// Number of held pages.
    pub(super) fn len(&self) -> u64 {
        self.count
    }

    /// Begins a group behind a sample, or goes on with the group that the sample has.
    pub(super) fn begin(&mut self, sample: Location, clock: u64) {
        let place = self.places.remove(&sample);
        let known = place.and_then(|place| self.groups.remove(&place));
        let group = known.unwrap_or_else(|| Group {
            pages: Vec::new(),
            sample,
            interval: None,
        });
        if let Some(passed) = self.open.insert(sample.space, group)
            && !passed.pages.is_empty()
        {
            self.place(passed, clock);
        }
    }

    /// Holds a page, if a group is open for it; returns whether it does.
    pub(super) fn hold(&mut self, at: Location) -> bool {
        let open = self.open.get_mut(&at.space);
        let Some(group) = open.filter(|open| open.pages.len() < MOST) else {
            return false;
        };
        let (word, bit) = bit(at);
        let word = self.held.entry(word).or_default();
        if *word & bit == 0 {
            *word |= bit;
            group.pages.push(at.page);
            self.count += 1;
        }
        true
    }

    fn place(&mut self, group: Group, clock: u64) {
        self.made += 1;
        let place = (clock, self.made);
        self.places.insert(group.sample, place);
        self.groups.insert(place, group);
    }

    /// Handles the return of a sample: the program comes to its group again. Returns the number of
    /// pages that the program is about to touch in DRAM.
    pub(super) fn come(&mut self, sample: Location, clock: u64) -> u64 {
        let Some(place) = self.places.remove(&sample) else {
            return 0;
        };
        let Some(mut group) = self.groups.remove(&place) else {
            return 0;
        };
        group.interval = Some(clock - place.0);
        let pages = group.pages.len() as u64;
        self.place(group, clock);
        pages
    }

    /// Handles the arrival of a page; returns whether it was held and has been evicted all the
    /// same.
    pub(super) fn lose(&mut self, at: Location) -> bool {
        let (word, bit) = bit(at);
        let Some(held) = self.held.get_mut(&word) else {
            return false;
        };
        let lost = *held & bit != 0;
        if lost {
            *held &= !bit;
            if *held == 0 {
                self.held.remove(&word);
            }
            self.count -= 1;
        }
        lost
    }

    /// Lets the group go that is needed last: one that the program has not come to for twice its
    /// time, and for twice `patience`, or else the one that was passed last and is no longer in
    /// use. Appends its pages to `leaving`; returns whether there was one.
    pub(super) fn let_go(
        &mut self,
        clock: u64,
        patience: u64,
        leaving: &mut Vec<Location>,
    ) -> bool {
        let oldest = self.groups.iter().next();
        let dead = oldest.filter(|((passed, _), group)| {
            let expected = group.interval.unwrap_or(patience).max(patience);
            clock - passed > 2 * expected
        });
        let in_use = IN_USE.min(self.groups.len() / 4);
        let last = || self.groups.iter().rev().nth(in_use);
        let Some(place) = dead.or_else(last).map(|(place, _)| *place) else {
            return false;
        };
        let Some(group) = self.groups.remove(&place) else {
            return false;
        };
        self.places.remove(&group.sample);
        let space = group.sample.space;
        let pages = group.pages.into_iter();
        let pages = pages.map(|page| Location::new(space, page));
        leaving.extend(pages.filter(|&at| self.lose(at)));
        true
    }

    pub(super) fn forget(&mut self, space: Space) {
        self.open.remove(&space);
        self.groups.retain(|_, group| group.sample.space != space);
        self.places.retain(|sample, _| sample.space != space);
        self.held.retain(|(of, _), _| *of != space);
        self.count = self
            .held
            .values()
            .map(|word| u64::from(word.count_ones()))
            .sum();
    }
}

/// Returns the bitmap of a page, and its bit there.
fn bit(at: Location) -> ((Space, u64), u64) {
    let Page(page) = at.page;
    ((at.space, page / WORD), 1 << (page % WORD))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(page: u64) -> Location {
        Location::new(Space(1), Page(page))
    }

    /// Groups of ten pages, each passed at the clock of its sample: 0, 100, ...
    fn groups(number: u64) -> Groups {
        let mut groups = Groups::default();
        for sample in (0..=number).map(|k| k * 100) {
            groups.begin(at(sample), sample);
            for page in 1..=10 {
                assert!(groups.hold(at(sample + page)));
            }
        }
        groups
    }

    fn gone(groups: &mut Groups, clock: u64, patience: u64) -> Vec<u64> {
        let mut leaving = Vec::new();
        groups.let_go(clock, patience, &mut leaving);
        leaving.iter().map(|at| at.page.0).collect()
    }

    #[test]
    fn the_group_passed_last_goes_first_and_leaves_those_in_use() {
        let mut groups = groups(8);
        assert_eq!(groups.len(), 90);
        // A quarter of 8 groups is in use, and so is the one that is being passed.
        assert_eq!(
            gone(&mut groups, 900, 1 << 20),
            (501..=510).collect::<Vec<_>>()
        );
        assert_eq!(groups.len(), 80);
    }

    #[test]
    fn a_group_that_is_overdue_goes_before() {
        let mut groups = groups(8);
        assert_eq!(gone(&mut groups, 1000, 400), (1..=10).collect::<Vec<_>>());
        // The next two were passed at 200 and 300.
        assert_eq!(groups.come(at(100), 1000), 10);
        assert_eq!(
            gone(&mut groups, 1101, 400),
            (201..=210).collect::<Vec<_>>()
        );
    }

    #[test]
    fn a_page_that_was_evicted_is_no_longer_held() {
        let mut groups = groups(8);
        assert!(groups.lose(at(501)));
        assert!(!groups.lose(at(501)));
        assert!(!groups.lose(at(500)), "a sample");
        assert_eq!(groups.len(), 89);
        assert_eq!(gone(&mut groups, 900, 1 << 20).len(), 9);
    }

    #[test]
    fn a_group_is_passed_again_and_grows() {
        let mut groups = groups(8);
        groups.begin(at(300), 2000);
        assert!(groups.hold(at(350)) && groups.hold(at(301)));
        assert_eq!(groups.len(), 91);
        groups.begin(at(5000), 2100);
        assert_eq!(groups.come(at(300), 3000), 11);
    }
}
