//! On which side each page lies, and how much room there is on the fast one.

use super::{Plan, Side};
use crate::replacement::PageId;

/// The sides of all pages.
pub(super) struct Sides {
    sides: Vec<Option<Side>>,
    /// Pages on the fast side, and how many may be there.
    fast: usize,
    capacity: usize,
}

impl Sides {
    /// Makes an empty machine with room for this number of pages on the fast side.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            sides: Vec::new(),
            fast: 0,
            capacity,
        }
    }

    /// Returns the side of a page; `None` if it is unknown.
    #[inline]
    pub(super) fn of(&self, page: PageId) -> Option<Side> {
        self.sides.get(page.index()).copied().flatten()
    }

    /// Whether a page can come to the fast side.
    pub(super) fn has_room(&self) -> bool {
        self.fast < self.capacity
    }

    /// Places a new page on the fast side if there is room. A known page stays where it is.
    pub(super) fn came(&mut self, page: PageId) -> Side {
        self.came_to(page, Side::Fast)
    }

    /// Places a new page on this side, if there is room. A known page stays where it is.
    pub(super) fn came_to(&mut self, page: PageId, side: Side) -> Side {
        if let Some(side) = self.of(page) {
            return side;
        }
        let side = match self.has_room() {
            true => side,
            false => Side::Slow,
        };
        self.put(page, Some(side));
        side
    }

    /// Forgets a page.
    pub(super) fn gone(&mut self, page: PageId) {
        self.put(page, None);
    }

    /// Notes that a page lies elsewhere; no effect on an unknown page.
    pub(super) fn lies(&mut self, page: PageId, side: Side) {
        if self.of(page).is_some() {
            self.put(page, Some(side));
        }
    }

    /// Moves a known page to the other side, and asks the driver to do so.
    pub(super) fn go(&mut self, page: PageId, to: Side, plan: &mut Plan) {
        debug_assert!(self.of(page).is_some_and(|side| side != to));
        self.put(page, Some(to));
        plan.go(page, to);
    }

    /// Returns the pages on a side, in the order of their numbers.
    pub(super) fn pages(&self, side: Side) -> Vec<PageId> {
        let sides = self.sides.iter().enumerate();
        sides
            .filter(|(_, own)| **own == Some(side))
            .map(|(page, _)| PageId(page as u32))
            .collect()
    }

    /// Returns one more than the largest number of a page so far.
    pub(super) fn end(&self) -> usize {
        self.sides.len()
    }

    fn put(&mut self, page: PageId, side: Option<Side>) {
        if page.index() >= self.sides.len() {
            self.sides.resize(page.index() + 1, None);
        }
        let before = std::mem::replace(&mut self.sides[page.index()], side);
        self.fast += usize::from(side == Some(Side::Fast));
        self.fast -= usize::from(before == Some(Side::Fast));
    }
}
