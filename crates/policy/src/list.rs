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
    #[inline]
    pub(crate) fn expect(&self, number: u32) {
        prefetch(&self.0, number as usize);
    }

    /// Makes room for a number.
    #[inline]
    fn cover(&mut self, number: u32) {
        let index = number as usize;
        if index >= self.0.len() {
            self.0.resize((index + 1).next_power_of_two(), (NONE, NONE));
        }
    }

    /// Returns the neighbour of `number` towards the front of its list.
    #[inline]
    pub(crate) fn before(&self, number: u32) -> Option<u32> {
        some(self.0[number as usize].0)
    }
}

fn some(number: u32) -> Option<u32> {
    (number != NONE).then_some(number)
}

impl List {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn back(&self) -> Option<u32> {
        some(self.back)
    }

    #[inline]
    pub(crate) fn push_front(&mut self, links: &mut Links, number: u32) {
        links.cover(number);
        links.0[number as usize] = (NONE, self.front);
        *self.previous(links, self.front) = number;
        self.front = number;
        self.len += 1;
    }

    pub(crate) fn push_back(&mut self, links: &mut Links, number: u32) {
        links.cover(number);
        links.0[number as usize] = (self.back, NONE);
        *self.next(links, self.back) = number;
        self.back = number;
        self.len += 1;
    }

    /// Returns where the list says which number comes after this one, or first if it is none.
    #[inline]
    fn next<'a>(&'a mut self, links: &'a mut Links, number: u32) -> &'a mut u32 {
        match number {
            NONE => &mut self.front,
            number => &mut links.0[number as usize].1,
        }
    }

    /// Returns where the list says which number comes before this one, or last if it is none.
    #[inline]
    fn previous<'a>(&'a mut self, links: &'a mut Links, number: u32) -> &'a mut u32 {
        match number {
            NONE => &mut self.back,
            number => &mut links.0[number as usize].0,
        }
    }

    /// Removes a number that is in this list.
    #[inline]
    pub(crate) fn remove(&mut self, links: &mut Links, number: u32) {
        let (before, after) = links.0[number as usize];
        *self.next(links, before) = after;
        *self.previous(links, after) = before;
        self.len -= 1;
    }

    /// Puts number `to`, which is in no list, in the place of `from` in this list.
    pub(crate) fn rename(&mut self, links: &mut Links, from: u32, to: u32) {
        let (before, after) = links.0[from as usize];
        links.0[to as usize] = (before, after);
        *self.next(links, before) = to;
        *self.previous(links, after) = to;
    }

    #[inline]
    pub(crate) fn move_to_front(&mut self, links: &mut Links, number: u32) {
        if self.front != number {
            self.remove(links, number);
            self.push_front(links, number);
        }
    }
}
