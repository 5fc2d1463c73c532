//! Which place of the slow memory a page has.

use std::collections::VecDeque;

use terrace_policy::replacement::PageId;

/// Free places that wear levelling leaves between two uses of one, so that a page comes to a place
/// that holds something else.
const REST: usize = 64;

/// No place.
const NONE: u32 = u32::MAX;

/// The places of pages.
pub(crate) enum Places {
    /// Each page goes back to its own.
    Pinned,
    /// Each write goes to the place that was free longest.
    Moving {
        /// By page.
        of: Vec<u32>,
        free: VecDeque<u32>,
        /// Places in use or free.
        made: u32,
    },
}

impl Places {
    pub fn new(pinned: bool) -> Self {
        match pinned {
            true => Self::Pinned,
            false => Self::Moving {
                of: Vec::new(),
                free: (0..REST as u32).collect(),
                made: REST as u32,
            },
        }
    }

    /// Returns the place of a page that was written.
    pub fn of(&self, page: PageId) -> u32 {
        match self {
            Self::Pinned => page.0,
            Self::Moving { of, .. } => of[page.index()],
        }
    }

    /// Chooses the place where a page is to be written. Until [`Places::settle`] the page keeps the
    /// one that it has.
    pub fn choose(&mut self, page: PageId) -> u32 {
        let Self::Moving { of, free, made } = self else {
            return page.0;
        };
        if of.len() <= page.index() {
            of.resize(page.index() + 1, NONE);
        }
        // A place that is chosen in vain, because it cannot be written, is not used again.
        if free.len() < REST {
            free.push_back(*made);
            *made += 1;
        }
        free.pop_front().unwrap_or(NONE)
    }

    /// Gives a page the place where it was written.
    pub fn settle(&mut self, page: PageId, place: u32) {
        if let Self::Moving { of, free, .. } = self {
            let before = std::mem::replace(&mut of[page.index()], place);
            if before != NONE {
                free.push_back(before);
            }
        }
    }

    /// Forgets a page.
    pub fn forget(&mut self, page: PageId) {
        if let Self::Moving { of, free, .. } = self
            && let Some(place) = of.get_mut(page.index())
            && *place != NONE
        {
            free.push_back(std::mem::replace(place, NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_page_keeps_its_place() {
        let mut places = Places::new(true);
        assert_eq!(places.choose(PageId(5)), 5);
        places.settle(PageId(5), 5);
        assert_eq!(places.of(PageId(5)), 5);
    }

    #[test]
    fn a_moving_page_rests_its_places_and_shares_none() {
        let mut places = Places::new(false);
        let mut of = [None; 40];
        let mut last = Vec::new();
        for turn in 0..2000 {
            let at = turn * 7 % of.len();
            let page = PageId(at as u32);
            let place = places.choose(page);
            assert!(!of.contains(&Some(place)), "in use");
            assert!(
                !last.iter().rev().take(REST - 2).any(|&l| l == place),
                "rested"
            );
            places.settle(page, place);
            of[at] = Some(place);
            last.push(place);
            if turn % 5 == 0 {
                places.forget(page);
                of[at] = None;
            }
        }
    }
}
