//! Doubly linked lists of numbers in arrays. A number is in at most one list of a [`Links`].

use crate::cache::prefetch;

/// No number.
const NONE: u32 = u32::MAX;

/// The links of all numbers, shared by several lists: the neighbours before and after each,
/// [`NONE`] at the ends.
#[derive(Debug, Default)]
pub(crate) struct Links(Vec<(u32, u32)>);

/// A list; numbers come in at its front by convention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    front: u32,
    back: u32,
    len: usize,
}

impl Default for List {
    fn default() -> Self {
        Self {
            front: NONE,
            back: NONE,
            len: 0,
        }
    }
}

impl Links {
    /// Prefetches the links of a number into the processor's cache.
    pub(crate) fn expect(&self, number: u32) {
        prefetch(&self.0, number as usize);
    }

    /// Returns the neighbour of `number` towards the front of its list.
    pub(crate) fn before(&self, number: u32) -> Option<u32> {
        some(self.0[number as usize].0)
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl List {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn back(&self) -> Option<u32> {
        some(self.back)
    }

    #[inline]
    pub(crate) fn push_front(&mut self, links: &mut Links, number: u32) {
        let index = number as usize;
        if index >= links.0.len() {
            links
                .0
                .resize((index + 1).next_power_of_two(), (NONE, NONE));
        }
        links.0[index] = (NONE, self.front);
        match self.front {
            NONE => self.back = number,
            front => links.0[front as usize].0 = number,
        }
        self.front = number;
        self.len += 1;
    }

    /// Removes a number that is in this list.
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links, number: u32) {
        let (before, after) = links.0[number as usize];
        match before {
            NONE => self.front = after,
            before => links.0[before as usize].1 = after,
        }
        match after {
            NONE => self.back = before,
            after => links.0[after as usize].0 = before,
        }
        self.len -= 1;
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, links: &mut Links, number: u32) {
        if self.front != number {
            self.remove(links, number);
            self.push_front(links, number);
        }
    }
}
