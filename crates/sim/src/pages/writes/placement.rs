//! The place of the slow memory to which a page is written.

use std::collections::VecDeque;

use terrace_policy::replacement::PageId;

use super::contents::Shared;

/// Places beyond those for all pages, from which a translation layer chooses: one for so many
/// pages, as memory with 1.6 % of spare. Assumed; Awad 2016 does not say.
const PAGES_A_SPARE: u64 = 64;

/// The number of a place without a page, or of a page without a place.
const NONE: u32 = u32::MAX;

/// Where pages lie, for all schemes that write the same pages to the same places.
pub(super) struct Placement {
    /// Whether clean pages are not written.
    pub(super) inclusive: bool,
    way: Way,
    /// What was written to places, if some scheme looks at it and leaves pages as they are.
    pub(super) copies: Option<Vec<Option<Shared>>>,
}

/// How the place of a page is chosen.
enum Way {
    /// Each page has its own place (Awad 2016, 5.1.2: PIN).
    Pinned(Pinned),
    /// Each write of a page goes to the place that has been free for longest, where something else
    /// was (Awad 2016, 5.1.2: a translation layer finds a free page). The page's old place is then
    /// free.
    Free(Free),
}

struct Pinned {
    places: Places,
    /// Whether a place is that of a page.
    taken: Vec<bool>,
    /// Places of pages that were given back; some may be taken again.
    given_up: VecDeque<u32>,
}

struct Free {
    places: Places,
    /// The first place that was never used.
    new: u32,
    /// Places that were given up, in their order.
    given_up: VecDeque<u32>,
    /// Number of places.
    count: u32,
}

/// The place of each page.
#[derive(Default)]
struct Places(Vec<u32>);

impl Places {
    /// Gives a page a place, or [`NONE`]; returns its place before.
    fn set(&mut self, page: PageId, place: u32) -> u32 {
        if page.index() >= self.0.len() {
            self.0.resize(page.index() + 1, NONE);
        }
        std::mem::replace(&mut self.0[page.index()], place)
    }

    fn of(&self, page: PageId) -> Option<u32> {
        let place = self.0.get(page.index()).copied();
        place.filter(|place| *place != NONE)
    }
}

impl Placement {
    /// Returns the number of places for `pages` pages.
    pub(super) fn places(pinned: bool, pages: u64) -> u64 {
        match pinned {
            true => pages,
            false => pages + pages.div_ceil(PAGES_A_SPARE),
        }
    }

    /// Makes the places for `pages` pages.
    pub(super) fn new(inclusive: bool, pinned: bool, pages: u32) -> Self {
        let count = Self::places(pinned, pages.into()) as u32;
        let (places, given_up) = (Places::default(), VecDeque::new());
        let way = match pinned {
            true => Way::Pinned(Pinned {
                places,
                taken: vec![false; count as usize],
                given_up,
            }),
            false => Way::Free(Free {
                places,
                new: 0,
                given_up,
                count,
            }),
        };
        Self {
            inclusive,
            way,
            copies: None,
        }
    }

    /// Whether pages go back to their own places.
    pub(super) fn is_pinned(&self) -> bool {
        matches!(self.way, Way::Pinned(_))
    }

    /// Returns the place to which a page is written now. Where there are more pages than places,
    /// some share one.
    pub(super) fn place(&mut self, page: PageId) -> u32 {
        match &mut self.way {
            Way::Pinned(pinned) => pinned.place(page),
            Way::Free(free) => free.next(page),
        }
    }

    /// Frees the place of a page that was given back.
    pub(super) fn discard(&mut self, page: PageId) {
        let (places, given_up) = match &mut self.way {
            Way::Pinned(pinned) => (&mut pinned.places, &mut pinned.given_up),
            Way::Free(free) => (&mut free.places, &mut free.given_up),
        };
        let Some(place) = places.of(page) else {
            return;
        };
        places.set(page, NONE);
        given_up.push_back(place);
        if let Way::Pinned(pinned) = &mut self.way {
            pinned.taken[place as usize] = false;
        }
    }
}

impl Pinned {
    /// Returns the page's place. It gets the one of its number, if that is not taken, or else one
    /// that was given up.
    fn place(&mut self, page: PageId) -> u32 {
        if let Some(place) = self.places.of(page) {
            return place;
        }
        let own = page.0 % self.taken.len() as u32;
        let place = match self.taken[own as usize] {
            false => own,
            true => self.given_up().unwrap_or(own),
        };
        self.taken[place as usize] = true;
        self.places.set(page, place);
        place
    }

    /// Returns a place that was given up and is not taken again.
    fn given_up(&mut self) -> Option<u32> {
        let taken = &self.taken;
        std::iter::from_fn(|| self.given_up.pop_front()).find(|place| !taken[*place as usize])
    }
}

impl Free {
    fn next(&mut self, page: PageId) -> u32 {
        let place = match self.new < self.count {
            true => {
                self.new += 1;
                Some(self.new - 1)
            }
            false => self.given_up.pop_front(),
        };
        // There are more places than pages, so one is free, unless more pages are there than were
        // said.
        let place = place.or_else(|| self.places.of(page));
        let place = place.unwrap_or(page.0 % self.count);
        let before = self.places.set(page, place);
        if before != NONE && before != place {
            self.given_up.push_back(before);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_page_keeps_its_place_until_it_is_given_back() {
        let mut pinned = Placement::new(true, true, 3);
        let mut place = |page: u32| pinned.place(PageId(page));
        assert_eq!([place(0), place(2), place(0), place(1)], [0, 2, 0, 1]);
        pinned.discard(PageId(2));
        pinned.discard(PageId(2));
        // The page of number 3 would lie at 0, which is taken.
        assert_eq!([3, 0, 1].map(|page| pinned.place(PageId(page))), [2, 0, 1]);
        pinned.discard(PageId(0));
        pinned.discard(PageId(1));
        assert_eq!([6, 5, 6].map(|page| pinned.place(PageId(page))), [0, 1, 0]);
    }

    #[test]
    fn a_place_that_was_freed_is_used_again() {
        let mut free = Placement::new(true, false, 2);
        assert_eq!([0, 1, 0].map(|page| free.place(PageId(page))), [0, 1, 2]);
        free.discard(PageId(1));
        // Place 0 was given up first.
        assert_eq!([5, 6].map(|page| free.place(PageId(page))), [0, 1]);
        // More pages than there are places: nothing is free.
        assert_eq!([7, 7].map(|page| free.place(PageId(page))), [7 % 3, 7 % 3]);
    }
}
