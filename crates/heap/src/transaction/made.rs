//! The objects that a transaction has made, to which nothing points yet.

use std::collections::BTreeMap;

use crate::lane::changes::New;

use super::pieces::Pieces;

/// New objects, in the order in which they were made. Most are never looked up again, so only what
/// is looked for is put into order.
#[derive(Default)]
pub(super) struct Made {
    /// `None` for an object that the transaction has freed.
    all: Vec<Option<New>>,
    /// The index of each of the first `ordered` objects, by its offset.
    places: BTreeMap<u64, usize>,
    ordered: usize,
    /// The pieces in which the objects lie, or lay.
    pieces: Pieces,
}

impl Made {
    /// Adds an object.
    #[inline]
    pub fn add(&mut self, new: New) {
        self.pieces.add(new.offset, new.len);
        self.all.push(Some(new));
    }

    /// Returns whether an offset may be in an object that was made, or near one.
    #[inline]
    pub fn may_hold(&self, offset: u64) -> bool {
        self.pieces.may_hold(offset, 1)
    }

    /// Returns the object in which these bytes lie.
    #[inline(never)]
    pub fn around(&mut self, offset: u64, len: u64) -> Option<&mut New> {
        self.order();
        let (_, &place) = self.places.range(..=offset).next_back()?;
        let new = self.all[place].as_mut();
        new.filter(|new| offset + len <= new.offset + new.len)
    }

    /// Returns the object at an offset.
    pub fn at(&mut self, offset: u64) -> Option<&New> {
        self.order();
        self.all[*self.places.get(&offset)?].as_ref()
    }

    /// Removes the object at an offset, and returns it.
    pub fn remove(&mut self, offset: u64) -> Option<New> {
        self.order();
        self.all[self.places.remove(&offset)?].take()
    }

    /// Returns all objects.
    pub fn iter(&self) -> impl Iterator<Item = &New> {
        self.all.iter().flatten()
    }

    /// Returns how many objects were made, with those that were freed.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns whether no object was made.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Forgets all objects; keeps the memory.
    pub fn clear(&mut self) {
        self.all.clear();
        if self.ordered > 0 {
            self.places.clear();
            self.ordered = 0;
        }
        self.pieces.clear();
    }

    fn order(&mut self) {
        for (place, new) in self.all.iter().enumerate().skip(self.ordered) {
            self.places.extend(new.map(|new| (new.offset, place)));
        }
        self.ordered = self.all.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::changes::Check;

    #[test]
    fn objects_are_found_by_their_bytes_until_they_are_removed() {
        let mut made = Made::default();
        let new = |offset| New {
            offset,
            len: 32,
            check: Check::ToBeMade,
            place: 0,
        };
        for offset in [640, 64, 128] {
            made.add(new(offset));
        }
        assert_eq!(made.around(72, 24).map(|new| new.offset), Some(64));
        assert!(made.around(72, 32).is_none() && made.around(56, 8).is_none());
        made.add(new(96));
        assert_eq!(made.at(96).map(|new| new.offset), Some(96));
        assert!(made.remove(64).is_some() && made.remove(64).is_none() && made.at(64).is_none());
        assert!(made.around(72, 8).is_none());
        // The room of an object that was freed is taken again.
        made.add(new(64));
        assert_eq!(made.around(64, 8).map(|new| new.offset), Some(64));
        let all: Vec<u64> = made.iter().map(|new| new.offset).collect();
        assert_eq!(all, [640, 128, 96, 64]);
    }
}
