//! The private caches of a core: only their misses and write-backs are recorded.
//!
//! A first level of 32 KiB and a second of 256 KiB, both of 8 ways and 64-byte lines, least
//! recently used, write-back, write-allocate, neither inclusive nor exclusive: a line that misses
//! enters both, a dirty line that leaves the first enters the second. The sizes are typical of a
//! core at the time of the papers (ARI: Fedorov 2016, ch. 2). Lines that are dirty when the program
//! ends are not written back.

/// The binary logarithm of the bytes of a line.
pub const LINE_SHIFT: u32 = 6;
const WAYS: usize = 8;
const FIRST_SETS: usize = (32 << 10) / (WAYS << LINE_SHIFT);
const SECOND_SETS: usize = (256 << 10) / (WAYS << LINE_SHIFT);

/// Marks an empty way: a line number has fewer bits.
const EMPTY: u64 = u64::MAX;

/// Both levels of one core.
#[derive(Clone, Debug)]
pub struct Caches {
    first: Cache,
    second: Cache,
}

impl Default for Caches {
    fn default() -> Self {
        Self {
            first: Cache::new(FIRST_SETS),
            second: Cache::new(SECOND_SETS),
        }
    }
}

impl Caches {
    /// Touches a line. Calls `below` with each request to the next level: the line and whether it
    /// is written; a read precedes the write-back of its victim.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool, mut below: impl FnMut(u64, bool)) {
        if self.first.hit(line, write) {
            return;
        }
        if !self.second.hit(line, false) {
            below(line, false);
            if let Some(victim) = self.second.fill(line, false) {
                below(victim, true);
            }
        }
        let Some(victim) = self.first.fill(line, write) else {
            return;
        };
        if !self.second.hit(victim, true)
            && let Some(victim) = self.second.fill(victim, true)
        {
            below(victim, true);
        }
    }
}

/// One level: the ways of each set, the most recently used first. A way is the line's number
/// doubled, plus 1 where the line is dirty.
#[derive(Clone, Debug)]
struct Cache {
    sets: Vec<[u64; WAYS]>,
}

impl Cache {
    fn new(sets: usize) -> Self {
        Self {
            sets: vec![[EMPTY; WAYS]; sets],
        }
    }

    fn set(&mut self, line: u64) -> &mut [u64; WAYS] {
        let index = line as usize & (self.sets.len() - 1);
        &mut self.sets[index]
    }

    /// Returns whether the line is present, and makes it the most recently used, dirty if `write`.
    #[inline(always)]
    fn hit(&mut self, line: u64, write: bool) -> bool {
        let set = self.set(line);
        let Some(way) = set.iter().position(|&way| way >> 1 == line) else {
            return false;
        };
        let used = set[way] | u64::from(write);
        set.copy_within(..way, 1);
        set[0] = used;
        true
    }

    /// Inserts a line that is not present, and returns its victim if that is dirty.
    fn fill(&mut self, line: u64, write: bool) -> Option<u64> {
        let set = self.set(line);
        let victim = set[WAYS - 1];
        set.copy_within(..WAYS - 1, 1);
        set[0] = line << 1 | u64::from(write);
        (victim != EMPTY && victim & 1 == 1).then_some(victim >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A cache as a list of all lines that it ever held: line, dirty, time of last use.
    struct Slow {
        sets: u64,
        lines: Vec<(u64, bool, usize)>,
    }

    impl Slow {
        /// Uses a line, and returns whether it was present.
        fn hit(&mut self, line: u64, write: bool, now: usize) -> bool {
            let found = self.lines.iter_mut().find(|(there, ..)| *there == line);
            found.is_some_and(|(_, dirty, used)| {
                *dirty |= write;
                *used = now;
                true
            })
        }

        /// Inserts a line, and returns its victim if dirty.
        fn fill(&mut self, line: u64, write: bool, now: usize) -> Option<u64> {
            let same_set = |other: u64| other % self.sets == line % self.sets;
            let in_set = self.lines.iter().filter(|(l, ..)| same_set(*l)).count();
            let oldest = self
                .lines
                .iter()
                .enumerate()
                .filter(|(_, (other, ..))| same_set(*other))
                .min_by_key(|(_, (.., used))| *used)
                .map(|(index, _)| index)
                .filter(|_| in_set == WAYS);
            let victim = oldest.map(|index| self.lines.remove(index));
            self.lines.push((line, write, now));
            victim.filter(|(_, dirty, _)| *dirty).map(|(line, ..)| line)
        }
    }

    fn slow(touches: &[(u64, bool)]) -> Vec<(u64, bool)> {
        let lines = Vec::new;
        let mut first = Slow {
            sets: 64,
            lines: lines(),
        };
        let mut second = Slow {
            sets: 512,
            lines: lines(),
        };
        let mut below = Vec::new();
        for (now, &(line, write)) in touches.iter().enumerate() {
            if first.hit(line, write, 2 * now) {
                continue;
            }
            if !second.hit(line, false, 2 * now) {
                below.push((line, false));
                let victim = second.fill(line, false, 2 * now);
                below.extend(victim.map(|line| (line, true)));
            }
            if let Some(victim) = first.fill(line, write, 2 * now)
                && !second.hit(victim, true, 2 * now + 1)
            {
                let victim = second.fill(victim, true, 2 * now + 1);
                below.extend(victim.map(|line| (line, true)));
            }
        }
        below
    }

    fn fast(touches: &[(u64, bool)]) -> Vec<(u64, bool)> {
        let mut caches = Caches::default();
        let mut below = Vec::new();
        for &(line, write) in touches {
            caches.touch(line, write, |line, write| below.push((line, write)));
        }
        below
    }

    #[test]
    fn what_is_hot_is_seen_once() {
        let touches: Vec<_> = (0..1000).map(|_| (7, true)).collect();
        assert_eq!(fast(&touches), [(7, false)]);
    }

    #[test]
    fn a_dirty_line_comes_back_when_it_leaves_the_second_level() {
        // One set of both levels: the first line has left both when the 17th is touched, for
        // it enters the second anew, dirty, when it leaves the first.
        let touches: Vec<_> = (0..40).map(|k| (k * 512, k == 0)).collect();
        let written: Vec<_> = fast(&touches).into_iter().filter(|t| t.1).collect();
        assert_eq!(written, [(0, true)]);
    }

    proptest! {
        #[test]
        fn both_levels_are_lru(
            touches in prop::collection::vec(
                ((0..3_u64, 0..5_u64, 0..14_u64), any::<bool>()),
                0..1500,
            ),
        ) {
            // Few sets, with more lines than either level has ways.
            let line = |(a, b, c): (u64, u64, u64)| a + b * 64 + c * 512;
            let touches: Vec<_> = touches.into_iter().map(|(l, write)| (line(l), write)).collect();
            prop_assert_eq!(fast(&touches), slow(&touches));
        }
    }
}
