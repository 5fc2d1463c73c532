//! The place of the slow memory to which a page is written.

use std::collections::VecDeque;

use terrace_policy::replacement::PageId;

use super::contents::Shared;

/// Places beyond those for all pages, from which a translation layer chooses: one for so many pages, as
/// memory with 1.6 % of spare. Assumed; Awad 2016 does not say.
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
    Pinned,
    /// Each write of a page goes to the place that has been free for longest, where something else was
    /// (Awad 2016, 5.1.2: a translation layer finds a free page). The page's old place is then free.
    Free(Free),
}

struct Free {
    /// The place of each page.
    places: Vec<u32>,
    /// The first place that was never used.
    new: u32,
    /// Places that were given up, in their order.
    given_up: VecDeque<u32>,
    /// Number of places.
    count: u32,
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
        let way = match pinned {
            true => Way::Pinned,
            false => Way::Free(Free {
                places: vec![NONE; pages as usize],
                new: 0,
                given_up: VecDeque::new(),
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
        matches!(self.way, Way::Pinned)
    }

    /// Returns the place to which a page is written now.
    pub(super) fn place(&mut self, page: PageId) -> u32 {
        match &mut self.way {
            Way::Pinned => page.0,
            Way::Free(free) => free.next(page),
        }
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
        let held = &mut self.places[page.index()];
        // There are more places than pages, so one is free.
        let place = place.unwrap_or(*held);
        let before = std::mem::replace(held, place);
        if before != NONE {
            self.given_up.push_back(before);
        }
        place
    }
}
