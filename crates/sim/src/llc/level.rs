//! One private level of a core: set-associative, LRU, write-back.

use terrace_policy::llc::Geometry;

/// An empty way: all bits but the dirty bit.
const EMPTY: u64 = u64::MAX - 1;

/// The victim of an insertion: none, or a line and whether it is dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim(u64);

impl Victim {
    /// Returns the line, if it must be written to the level below.
    #[inline]
    pub fn dirty(self) -> Option<u64> {
        (self.0 & 1 != 0).then_some(self.0 >> 1)
    }
}

/// A level: the ways of each set, the most recently used first. A way is the line's number doubled,
/// plus 1 where the line is dirty.
#[derive(Clone, Debug)]
pub struct Level {
    geometry: Geometry,
    /// The number of sets less one, if it is a power of two; otherwise 0.
    mask: u64,
    ways: Vec<u64>,
}

impl Level {
    /// Makes an empty level.
    pub fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets as u64;
        Self {
            geometry,
            mask: if sets.is_power_of_two() { sets - 1 } else { 0 },
            ways: vec![EMPTY; geometry.lines()],
        }
    }

    /// Returns the index of a line's set in `ways`, which is its most recently used way.
    #[inline]
    pub fn first_of(&self, line: u64) -> usize {
        let set = match self.mask {
            0 => (line % self.geometry.sets as u64) as usize,
            mask => (line & mask) as usize,
        };
        set * self.geometry.ways
    }

    /// Whether a line is present.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        let first = self.first_of(line);
        let set = &self.ways[first..first + self.geometry.ways];
        set.iter().any(|way| way >> 1 == line)
    }

    /// Makes the most recently used way of a set dirty, if `write`.
    #[inline]
    pub fn again(&mut self, first: usize, write: bool) {
        self.ways[first] |= u64::from(write);
    }

    /// Flushes a line: makes it clean, or removes it with `invalidates`. Returns whether it was dirty.
    pub fn flush(&mut self, line: u64, invalidates: bool) -> bool {
        let first = self.first_of(line);
        let set = &mut self.ways[first..first + self.geometry.ways];
        let Some(way) = set.iter().position(|way| way >> 1 == line) else {
            return false;
        };
        let dirty = set[way] & 1 != 0;
        set[way] &= !1;
        if invalidates {
            // The free way is the next to be used.
            set[way..].rotate_left(1);
            set[self.geometry.ways - 1] = EMPTY;
        }
        dirty
    }

    /// Removes all lines, and returns the dirty ones.
    pub fn empty(&mut self) -> Vec<u64> {
        let ways = std::mem::replace(&mut self.ways, vec![EMPTY; self.geometry.lines()]);
        let victims = ways.into_iter().map(Victim);
        victims.filter_map(Victim::dirty).collect()
    }

    /// Makes a line the most recently used of its set, dirty if `write`. Returns none if the line was
    /// present, and otherwise its victim.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool) -> Option<Victim> {
        let first = self.first_of(line);
        let set = &mut self.ways[first..first + self.geometry.ways];
        let (key, write) = (line << 1, u64::from(write));
        if set[0] & !1 == key {
            set[0] |= write;
            return None;
        }
        // The ways before it move back by one; if it is not present, all do and the last is evicted.
        let mut moved = std::mem::replace(&mut set[0], key | write);
        for way in &mut set[1..] {
            std::mem::swap(way, &mut moved);
            if moved & !1 == key {
                set[0] |= moved & 1;
                return None;
            }
        }
        Some(Victim(moved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recent_goes_and_keeps_its_dirty_bit_until_then() {
        let mut level = Level::new(Geometry { sets: 3, ways: 2 });
        assert_eq!(level.touch(0, true).and_then(Victim::dirty), None);
        assert!(level.touch(3, false).is_some());
        assert_eq!(level.touch(0, false), None, "a hit; reads clean nothing");
        assert_eq!(level.touch(6, false).unwrap().dirty(), None, "3 goes");
        assert_eq!(level.touch(9, false).unwrap().dirty(), Some(0));
        assert!(level.touch(1, false).is_some(), "another set");
        let first = level.first_of(1);
        level.again(first, true);
        assert!(level.touch(4, false).is_some());
        assert_eq!(level.touch(7, false).unwrap().dirty(), Some(1));
    }

    #[test]
    fn a_flushed_line_is_clean_or_leaves_its_way_to_the_next() {
        let mut level = Level::new(Geometry { sets: 1, ways: 3 });
        for line in [1, 2, 3] {
            level.touch(line, true);
        }
        assert!(level.flush(2, false) && !level.flush(2, false));
        assert!(level.flush(3, true) && !level.flush(3, true));
        assert_eq!(level.touch(4, false).unwrap().dirty(), None, "the free way");
        assert_eq!(level.touch(2, false), None, "it has stayed");
        assert_eq!(level.touch(5, false).unwrap().dirty(), Some(1));
    }
}
