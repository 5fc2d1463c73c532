//! One private level of a core: set-associative, LRU, write-back.

use std::cmp::Reverse;
use std::ops::Range;

use terrace_policy::llc::Geometry;

/// An empty way: all bits but the dirty bit.
const EMPTY: u64 = u64::MAX - 1;

/// The victim of an insertion: none, or a line and whether it is dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Victim(u64);

impl Victim {
    /// Returns the line; a number that no line has, if there is none.
    #[inline]
    pub fn line(self) -> u64 {
        self.0 >> 1
    }

    /// Returns the line, if there is one.
    pub fn any(self) -> Option<u64> {
        (self.0 != EMPTY).then_some(self.0 >> 1)
    }

    /// Returns the line, if it must be written to the level below.
    #[inline]
    pub fn dirty(self) -> Option<u64> {
        (self.0 & 1 != 0).then_some(self.0 >> 1)
    }
}

/// A way of a set.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The line's number doubled, plus 1 where the line is dirty.
    key: u64,
    /// When it was used last, by the count of touches; 0 where it is empty.
    used: u64,
}

impl Way {
    const EMPTY: Self = Self {
        key: EMPTY,
        used: 0,
    };

    #[inline]
    fn has(&self, line: u64) -> bool {
        self.key >> 1 == line
    }
}

/// A level.
#[derive(Clone, Debug)]
pub struct Level {
    geometry: Geometry,
    /// The number of sets less one, if it is a power of two; otherwise 0.
    mask: u64,
    /// The ways of one set after those of another.
    ways: Vec<Way>,
    touches: u64,
    /// The way in which a line was last, by the lower bits of the line: most touches find theirs
    /// without a search. Another line may be there now.
    places: Vec<u32>,
}

/// Places for each line of a level, so that lines of one set seldom share one.
const PLACES: usize = 4;

impl Level {
    /// Makes an empty level.
    pub fn new(geometry: Geometry) -> Self {
        let sets = geometry.sets as u64;
        Self {
            geometry,
            mask: if sets.is_power_of_two() { sets - 1 } else { 0 },
            ways: vec![Way::EMPTY; geometry.lines()],
            touches: 0,
            places: vec![0; PLACES * geometry.lines().next_power_of_two()],
        }
    }

    /// Returns a line's set in `ways`.
    #[inline]
    fn set(&self, line: u64) -> Range<usize> {
        let set = match self.mask {
            0 => (line % self.geometry.sets as u64) as usize,
            mask => (line & mask) as usize,
        };
        let first = set * self.geometry.ways;
        first..first + self.geometry.ways
    }

    /// Returns the way of a line.
    #[inline]
    fn way(&self, line: u64) -> Option<usize> {
        let set = self.set(line);
        let way = self.ways[set.clone()].iter().position(|way| way.has(line));
        way.map(|way| set.start + way)
    }

    /// Whether a line is present.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        self.way(line).is_some()
    }

    /// Touches lines, each with whether it is written, as long as they are where they were last;
    /// returns how many that are. [`Level::touch`] touches any line.
    #[inline]
    pub fn touch_known(&mut self, lines: impl Iterator<Item = (u64, bool)>) -> usize {
        let (ways, places) = (&mut self.ways[..], &self.places[..]);
        let begin = self.touches;
        let mut now = begin;
        for (line, write) in lines {
            let place = places[line as usize & (places.len() - 1)];
            let way = &mut ways[place as usize];
            if !way.has(line) {
                break;
            }
            now += 1;
            way.key |= u64::from(write);
            way.used = now;
        }
        self.touches = now;
        (now - begin) as usize
    }

    /// Flushes a line: makes it clean, or removes it with `invalidates`. Returns whether it was
    /// dirty.
    pub fn flush(&mut self, line: u64, invalidates: bool) -> bool {
        let Some(way) = self.way(line) else {
            return false;
        };
        let way = &mut self.ways[way];
        let dirty = way.key & 1 != 0;
        way.key &= !1;
        if invalidates {
            // The free way is the next to be used.
            *way = Way::EMPTY;
        }
        dirty
    }

    /// Removes all lines, and returns the dirty ones: set by set, the last used first.
    pub fn empty(&mut self) -> Vec<u64> {
        let mut ways = std::mem::replace(self, Self::new(self.geometry)).ways;
        let sets = ways.chunks_mut(self.geometry.ways);
        sets.for_each(|set| set.sort_by_key(|way| Reverse(way.used)));
        let victims = ways.into_iter().map(|way| Victim(way.key));
        victims.filter_map(Victim::dirty).collect()
    }

    /// Makes a line the most recently used of its set, dirty if `write`. Returns none if the line
    /// was present, and otherwise its victim.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool) -> Option<Victim> {
        if self.touch_known(std::iter::once((line, write))) == 1 {
            return None;
        }
        let (first, set) = (self.set(line).start, self.set(line));
        let set = &mut self.ways[set];
        let (mut at, mut oldest) = (0, u64::MAX);
        let mut is_there = false;
        for (index, way) in set.iter().enumerate() {
            if way.has(line) {
                (at, is_there) = (index, true);
                break;
            }
            if way.used < oldest {
                (at, oldest) = (index, way.used);
            }
        }
        self.touches += 1;
        let way = &mut set[at];
        let victim = (!is_there).then(|| Victim(std::mem::replace(&mut way.key, line << 1)));
        way.key |= u64::from(write);
        way.used = self.touches;
        let place = line as usize & (self.places.len() - 1);
        self.places[place] = (first + at) as u32;
        victim
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same as lists: of each set, lines and whether they are dirty, the last used first.
    struct Slow {
        geometry: Geometry,
        sets: Vec<Vec<(u64, bool)>>,
    }

    impl Slow {
        fn set(&mut self, line: u64) -> &mut Vec<(u64, bool)> {
            &mut self.sets[(line % self.geometry.sets as u64) as usize]
        }

        fn take(&mut self, line: u64) -> Option<(u64, bool)> {
            let set = self.set(line);
            let at = set.iter().position(|(other, _)| *other == line)?;
            Some(set.remove(at))
        }

        /// Returns whether the line misses, and which line must be written.
        fn touch(&mut self, line: u64, write: bool) -> (bool, Option<u64>) {
            let ways = self.geometry.ways;
            let was = self.take(line);
            let set = self.set(line);
            set.insert(0, (line, write || was.is_some_and(|(_, dirty)| dirty)));
            let victim = (set.len() > ways).then(|| set.pop()).flatten();
            let written = victim.filter(|(_, dirty)| *dirty);
            (was.is_none(), written.map(|(line, _)| line))
        }
    }

    proptest! {
        #[test]
        fn a_level_is_its_lists(
            sets in 1..5_usize,
            ways in 1..5_usize,
            steps in prop::collection::vec((0..8_u8, 0..40_u64, any::<bool>()), 1..300),
        ) {
            let geometry = Geometry { sets, ways };
            let mut level = Level::new(geometry);
            let mut slow = Slow { geometry, sets: vec![Vec::new(); sets] };
            for (step, line, write) in steps {
                let is_there = slow.set(line).iter().any(|(other, _)| *other == line);
                prop_assert_eq!(level.holds(line), is_there);
                match step {
                    0 => {
                        let was = slow.take(line);
                        prop_assert_eq!(level.flush(line, true), was.is_some_and(|was| was.1));
                    }
                    1 => {
                        let set = slow.set(line).iter_mut();
                        let dirty = set.filter(|(other, _)| *other == line).map(|way| &mut way.1);
                        let was = dirty.last().map(std::mem::take);
                        prop_assert_eq!(level.flush(line, false), was == Some(true));
                    }
                    2 if line == 0 => {
                        let all = slow.sets.iter_mut().flat_map(std::mem::take);
                        let dirty = all.filter(|way| way.1).map(|way| way.0);
                        prop_assert_eq!(level.empty(), dirty.collect::<Vec<_>>());
                    }
                    3 | 4 => {
                        // It may stop at a line that is there, and touches none that is not.
                        let lines = [(line, write), (line + 1, true), (line, false)];
                        let known = level.touch_known(lines.into_iter());
                        for (line, write) in &lines[..known] {
                            prop_assert!(!slow.touch(*line, *write).0);
                        }
                    }
                    _ => {
                        let victim = level.touch(line, write);
                        let found = (victim.is_some(), victim.and_then(Victim::dirty));
                        prop_assert_eq!(found, slow.touch(line, write));
                        let known = level.touch_known([(line, false); 3].into_iter());
                        prop_assert_eq!(known, 3, "where it was last");
                    }
                }
            }
        }
    }

    #[test]
    fn the_least_recent_goes_and_keeps_its_dirty_bit_until_then() {
        let mut level = Level::new(Geometry { sets: 3, ways: 2 });
        assert_eq!(level.touch(0, true).and_then(Victim::dirty), None);
        assert!(level.touch(3, false).is_some());
        assert_eq!(level.touch(0, false), None, "a hit; reads clean nothing");
        assert_eq!(level.touch(6, false).unwrap().dirty(), None, "3 goes");
        assert_eq!(level.touch(9, false).unwrap().dirty(), Some(0));
        assert!(level.touch(1, false).is_some(), "another set");
        let known = [(1, true), (1, false), (3, true), (1, true)];
        assert_eq!(level.touch_known(known.into_iter()), 2);
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
