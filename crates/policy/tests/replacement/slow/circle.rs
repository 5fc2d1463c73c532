//! A circle of pages and a hand.

use terrace_policy::replacement::PageId;

#[derive(Clone, Copy)]
pub struct Frame {
    pub page: PageId,
    /// Not only prefetched.
    touched: bool,
    pub referenced: bool,
    pub counter: i32,
}

#[derive(Default)]
pub struct Circle {
    /// After the last comes the first.
    pub frames: Vec<Frame>,
    /// The place that the hand points to.
    hand: usize,
}

impl Circle {
    pub fn pages(&self) -> Vec<PageId> {
        self.frames.iter().map(|frame| frame.page).collect()
    }

    /// Sets the reference bit of a page that was touched before.
    pub fn touch(&mut self, page: PageId) {
        for frame in self.frames.iter_mut().filter(|frame| frame.page == page) {
            frame.referenced = frame.touched;
            frame.touched = true;
        }
    }

    /// Returns the frame that the hand points to.
    pub fn at_hand(&mut self) -> &mut Frame {
        &mut self.frames[self.hand]
    }

    pub fn advance(&mut self) {
        self.hand = (self.hand + 1) % self.frames.len();
    }

    /// Puts a page right behind the hand, which goes on to point to what it pointed to.
    pub fn insert(&mut self, page: PageId, touched: bool) {
        let frame = Frame {
            page,
            touched,
            referenced: false,
            counter: 0,
        };
        self.frames.insert(self.hand, frame);
        self.advance();
    }

    pub fn remove(&mut self, page: PageId) {
        if let Some(place) = self.pages().iter().position(|other| *other == page) {
            self.frames.remove(place);
            if place < self.hand {
                self.hand -= 1;
            }
            if self.hand == self.frames.len() {
                self.hand = 0;
            }
        }
    }
}
