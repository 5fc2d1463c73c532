//! The private levels of a core.

use terrace_policy::llc::{Geometry, Kind, Prefetcher};

use super::ahead::{Ahead, PrefetchCounts};
use super::dependence::Dependences;
use super::level::{Level, Victim};

/// Counts of a private level, warm-up included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCounts {
    /// Lines requested by the level above, without write-backs; in the first level, an access to
    /// two lines counts twice.
    pub accesses: u64,
    /// Requested lines that were not present.
    pub misses: u64,
    /// Dirty lines written to the level below.
    pub writebacks: u64,
}

impl std::ops::Add for LevelCounts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            accesses: self.accesses + other.accesses,
            misses: self.misses + other.misses,
            writebacks: self.writebacks + other.writebacks,
        }
    }
}

/// First and second level of a core; either may be absent.
#[derive(Clone, Debug)]
pub struct Private {
    first: Option<Level>,
    second: Option<Level>,
    counts: [LevelCounts; 2],
    /// What the second level reads ahead; `None` where it reads nothing.
    ahead: Option<Box<Ahead>>,
    /// Whether the next level is exclusive: it takes in all lines that leave these.
    gives_up: bool,
    /// The loads for which addresses wait; nothing where a trace does not say.
    pub dependences: Dependences,
}

impl Private {
    /// Makes empty levels of these shapes.
    pub fn new(first: Option<Geometry>, second: Option<Geometry>) -> Self {
        Self {
            first: first.map(Level::new),
            second: second.map(Level::new),
            counts: [LevelCounts::default(); 2],
            ahead: None,
            gives_up: false,
            dependences: Dependences::default(),
        }
    }

    /// Has the second level read ahead, where there are both levels.
    #[must_use]
    pub fn reading_ahead(mut self, prefetcher: Prefetcher) -> Self {
        self.ahead = Some(Box::new(Ahead::new(prefetcher)));
        self
    }

    /// Has the next level be exclusive. It is told of clean lines that leave, too, and the second
    /// level includes the first, so that a line leaves both at once.
    #[must_use]
    pub fn before_exclusive(mut self) -> Self {
        self.gives_up = true;
        self
    }

    /// Whether there is a level.
    pub fn is_there(&self) -> bool {
        self.first.is_some() || self.second.is_some()
    }

    /// Whether the level that the core accesses holds a line.
    #[inline]
    pub fn holds(&self, line: u64) -> bool {
        let top = self.first.as_ref().or(self.second.as_ref());
        top.is_some_and(|level| level.holds(line))
    }

    /// Touches lines, each with whether it is written, as long as the level that the core accesses
    /// finds them without a search; returns how many that are. [`Private::touch`] touches any line.
    #[inline]
    pub fn touch_known(&mut self, lines: impl Iterator<Item = (u64, bool)>) -> usize {
        let top = self.first.as_mut().or(self.second.as_mut());
        top.map_or(0, |level| level.touch_known(lines))
    }

    /// Returns the misses of the first level.
    pub fn first_misses(&self) -> u64 {
        self.counts[0].misses
    }

    /// Counts touches.
    pub fn touched(&mut self, lines: u64) {
        let top = usize::from(self.first.is_none());
        self.counts[top].accesses += lines;
    }

    /// Returns the counts of both levels; none for an absent one.
    pub fn counts(&self) -> [Option<LevelCounts>; 2] {
        [
            self.first.as_ref().map(|_| self.counts[0]),
            self.second.as_ref().map(|_| self.counts[1]),
        ]
    }

    /// Returns the counts of the lines that are read ahead; none where nothing is.
    pub fn prefetch_counts(&self) -> Option<PrefetchCounts> {
        self.ahead.as_ref().map(|ahead| ahead.counts())
    }

    /// Takes whether the last touch was the first use of a line that was read ahead; `None` if it
    /// asked the second level for nothing, or that reads nothing ahead. In the other case
    /// [`Private::read_ahead`] is next.
    #[inline]
    pub fn take_asked(&mut self) -> Option<bool> {
        self.ahead.as_mut()?.take_asked()
    }

    /// Reads ahead into the second level, after the instruction at `ip` has asked it for a line,
    /// and calls `below` with each request to the next level.
    pub fn read_ahead(&mut self, line: u64, ip: u64, below: &mut impl FnMut(Kind, u64)) {
        let Some(ahead) = &mut self.ahead else {
            return;
        };
        for next in ahead.after(line, ip) {
            self.read_one_ahead(next, below);
        }
    }

    fn read_one_ahead(&mut self, line: u64, below: &mut impl FnMut(Kind, u64)) {
        let (Some(ahead), Some(second)) = (&mut self.ahead, &mut self.second) else {
            return;
        };
        if second.holds(line) {
            return;
        }
        ahead.issue(line);
        if let Some(victim) = second.touch(line, false) {
            below(Kind::Prefetch, line);
            self.leave_second(victim, below);
        }
    }

    /// Touches a line, and calls `below` with each request to the next level.
    #[inline]
    pub fn touch(&mut self, line: u64, write: bool, below: &mut impl FnMut(Kind, u64)) {
        let Some(first) = &mut self.first else {
            return self.touch_second(line, write, below);
        };
        let Some(victim) = first.touch(line, write) else {
            return;
        };
        self.counts[0].misses += 1;
        let demand = if write { Kind::Store } else { Kind::Load };
        if self.gives_up {
            return self.exchange(line, demand, victim, below);
        }
        self.read_second(line, demand, below);
        if let Some(victim) = victim.dirty() {
            self.counts[0].writebacks += 1;
            self.write_second(victim, below);
        }
    }

    /// Reads a line that the first level misses, before a level that is exclusive. The second level
    /// has the victim of the first, and is told first if it is dirty, before it may evict it.
    /// Never inlined, so that [`Private::touch`] is as short for other levels as without it.
    #[inline(never)]
    fn exchange(
        &mut self,
        line: u64,
        demand: Kind,
        victim: Victim,
        below: &mut impl FnMut(Kind, u64),
    ) {
        let dirty = victim.dirty();
        self.counts[0].writebacks += u64::from(dirty.is_some());
        if self.second.is_none() {
            below(demand, line);
            return give_up(victim, dirty.is_some(), below);
        }
        if let Some(victim) = dirty {
            self.write_second(victim, below);
        }
        self.read_second(line, demand, below);
    }

    /// Removes all lines, and calls `below` with each dirty one: those of the first level pass
    /// through the second.
    pub fn empty(&mut self, below: &mut impl FnMut(Kind, u64)) {
        let first = self.first.as_mut().map(Level::empty).unwrap_or_default();
        for line in first {
            self.counts[0].writebacks += 1;
            self.write_second(line, below);
        }
        let second = self.second.as_mut().map(Level::empty).unwrap_or_default();
        second
            .into_iter()
            .for_each(|line| self.write_back(Some(line), below));
    }

    /// Whether a level holds a line.
    pub fn has(&self, line: u64) -> bool {
        let mut levels = [&self.first, &self.second].into_iter().flatten();
        levels.any(|level| level.holds(line))
    }

    /// Flushes a line: makes it clean, or removes it with `invalidates`. Returns whether it was
    /// dirty in a level.
    pub fn flush(&mut self, line: u64, invalidates: bool) -> bool {
        if let Some(ahead) = self.ahead.as_mut().filter(|_| invalidates) {
            ahead.lose(line);
        }
        let levels = [&mut self.first, &mut self.second];
        let flushed = levels.map(|level| {
            let level = level.as_mut();
            level.is_some_and(|level| level.flush(line, invalidates))
        });
        flushed.contains(&true)
    }

    /// Touches a line where there is no first level, and perhaps no second.
    fn touch_second(&mut self, line: u64, write: bool, below: &mut impl FnMut(Kind, u64)) {
        let Some(second) = &mut self.second else {
            // No private level keeps the written line.
            return below(if write { Kind::WriteBack } else { Kind::Load }, line);
        };
        if let Some(victim) = second.touch(line, write) {
            self.counts[1].misses += 1;
            below(if write { Kind::Store } else { Kind::Load }, line);
            self.leave_second(victim, below);
        }
    }

    /// Reads a line that the first level misses.
    fn read_second(&mut self, line: u64, demand: Kind, below: &mut impl FnMut(Kind, u64)) {
        let Some(second) = &mut self.second else {
            return below(demand, line);
        };
        self.counts[1].accesses += 1;
        let victim = second.touch(line, false);
        if let Some(ahead) = &mut self.ahead {
            ahead.ask(line);
        }
        if let Some(victim) = victim {
            self.counts[1].misses += 1;
            below(demand, line);
            self.leave_second(victim, below);
        }
    }

    /// Writes a dirty victim of the first level.
    fn write_second(&mut self, line: u64, below: &mut impl FnMut(Kind, u64)) {
        let Some(second) = &mut self.second else {
            return below(Kind::WriteBack, line);
        };
        let victim = second.touch(line, true);
        if let Some(ahead) = &mut self.ahead {
            ahead.lose(line);
        }
        if let Some(victim) = victim {
            self.leave_second(victim, below);
        }
    }

    /// Has a line leave the second level.
    #[inline]
    fn leave_second(&mut self, victim: Victim, below: &mut impl FnMut(Kind, u64)) {
        if let Some(ahead) = &mut self.ahead {
            ahead.lose(victim.line());
        }
        match self.gives_up {
            false => self.write_back(victim.dirty(), below),
            true => self.leave_both(victim, below),
        }
    }

    /// Has a line that leaves the second level leave the first as well.
    #[inline(never)]
    fn leave_both(&mut self, victim: Victim, below: &mut impl FnMut(Kind, u64)) {
        let first = self.first.as_mut();
        let first = first.is_some_and(|first| first.flush(victim.line(), true));
        let dirty = first || victim.dirty().is_some();
        self.counts[0].writebacks += u64::from(first);
        self.counts[1].writebacks += u64::from(dirty);
        give_up(victim, dirty, below);
    }

    fn write_back(&mut self, victim: Option<u64>, below: &mut impl FnMut(Kind, u64)) {
        if let Some(line) = victim {
            self.counts[1].writebacks += 1;
            below(Kind::WriteBack, line);
        }
    }
}

/// Gives a line that leaves to a level that is exclusive.
fn give_up(victim: Victim, dirty: bool, below: &mut impl FnMut(Kind, u64)) {
    if let Some(line) = victim.any() {
        let kind = match dirty {
            true => Kind::WriteBack,
            false => Kind::CleanVictim,
        };
        below(kind, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the requests of levels with one set of one line.
    fn asked(private: &mut Private, touches: &[(u64, bool)]) -> Vec<(Kind, u64)> {
        let mut asked = Vec::new();
        for &(line, write) in touches {
            private.touch(line, write, &mut |kind, line| asked.push((kind, line)));
        }
        asked
    }

    const ONE: Option<Geometry> = Some(Geometry { sets: 1, ways: 1 });

    #[test]
    fn a_dirty_line_goes_down_a_level_at_a_time() {
        let mut private = Private::new(ONE, ONE);
        assert_eq!(asked(&mut private, &[(1, true)]), [(Kind::Store, 1)]);
        assert_eq!(
            asked(&mut private, &[(2, false)]),
            [(Kind::Load, 2)],
            "1 is dirty in the second level now, and 2 clean there was dropped"
        );
        assert_eq!(
            asked(&mut private, &[(3, false)]),
            [(Kind::Load, 3), (Kind::WriteBack, 1)],
        );
        let [first, second] = private.counts().map(Option::unwrap);
        assert_eq!((first.misses, first.writebacks), (3, 1));
        assert_eq!(
            (second.accesses, second.misses, second.writebacks),
            (3, 3, 1)
        );
    }

    #[test]
    fn before_an_exclusive_level_a_line_leaves_all_levels_at_once() {
        const TWO: Option<Geometry> = Some(Geometry { sets: 1, ways: 2 });
        let mut private = Private::new(TWO, TWO).before_exclusive();
        let touches = [(1, true), (2, false), (1, false), (3, false), (1, false)];
        let below = [
            (Kind::Store, 1),
            (Kind::Load, 2),
            (Kind::Load, 3),
            (Kind::WriteBack, 1),
            (Kind::Load, 1),
            (Kind::CleanVictim, 2),
        ];
        assert_eq!(asked(&mut private, &touches), below, "1 was in the first");
        for (first, second) in [(ONE, None), (None, ONE), (ONE, ONE)] {
            let mut private = Private::new(first, second).before_exclusive();
            let below = [
                (Kind::Store, 1),
                (Kind::Load, 2),
                (Kind::WriteBack, 1),
                (Kind::Load, 3),
                (Kind::CleanVictim, 2),
            ];
            let touches = [(1, true), (2, false), (3, false)];
            assert_eq!(asked(&mut private, &touches), below);
        }
    }

    #[test]
    fn a_level_can_be_missing() {
        let touches = [(1, true), (2, false)];
        for (mut private, below) in [
            (
                Private::new(ONE, None),
                vec![(Kind::Store, 1), (Kind::Load, 2), (Kind::WriteBack, 1)],
            ),
            (
                Private::new(None, ONE),
                vec![(Kind::Store, 1), (Kind::Load, 2), (Kind::WriteBack, 1)],
            ),
            (
                Private::new(None, None),
                vec![(Kind::WriteBack, 1), (Kind::Load, 2)],
            ),
        ] {
            assert_eq!(asked(&mut private, &touches), below);
        }
    }
}
