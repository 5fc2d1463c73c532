//! The order in which the lines of a set leave the cache that ARI partitions.
//!
//! The chapter has LRU, and says that ARI «may be used to control non-stack-based cache management
//! policies, provided that the sample sets employ LRU» (2.2.2), not how. A partitioning needs to
//! know of a policy which lines would be the last to leave: the first n of these are the high-hit
//! partition. Under RRIP that is the order of predicted intervals, and of alike ones the last way
//! first. What follows from it is ours:
//!
//! - The victim is the first clean line among the others that would leave, or the first of all.
//!   All intervals grow until the victim's is the longest, and none beyond that: if they grew only
//!   until some line's is, a dirty line that is kept would end the ageing of its set.
//! - A new line comes in as in SRRIP. If it goes low, behind n others, it has the interval of the
//!   line in that place, if that is longer.

use super::super::{Geometry, Place, Recency};
use super::settings::Order;

/// Lines of a cache in their order.
pub enum Lines {
    /// By their last use.
    Recency(Recency),
    /// By their predicted interval.
    Intervals(Intervals),
}

/// The longest predicted interval: of 2 bits, as in the paper of RRIP.
const LONGEST: u8 = 3;

/// Predicted re-reference intervals (Jaleel et al., ISCA 2010).
pub struct Intervals {
    ways: usize,
    /// Of the line in each place.
    intervals: Vec<u8>,
}

impl Lines {
    /// Makes the order of an empty cache.
    pub fn new(geometry: Geometry, order: Order) -> Self {
        match order {
            Order::Lru => Self::Recency(Recency::new(geometry)),
            Order::Rrip => Self::Intervals(Intervals {
                ways: geometry.ways,
                intervals: vec![LONGEST; geometry.lines()],
            }),
        }
    }

    /// Puts a line that was used last, where it leaves last.
    #[inline]
    pub fn promote(&mut self, place: Place) {
        match self {
            Self::Recency(recency) => recency.promote(place),
            Self::Intervals(lines) => lines.set(place.set)[place.way] = 0,
        }
    }

    /// Puts a free place behind all lines of its set.
    pub fn retire(&mut self, place: Place) {
        match self {
            Self::Recency(recency) => recency.retire(place),
            Self::Intervals(lines) => lines.set(place.set)[place.way] = LONGEST,
        }
    }

    /// Puts a new line behind so many others of its set.
    #[inline]
    pub fn put(&mut self, place: Place, behind: usize) {
        match self {
            Self::Recency(recency) => recency.put(place, behind),
            Self::Intervals(lines) => lines.put(place, behind),
        }
    }

    /// Returns the way whose line leaves next, if `high` lines are in the high-hit partition. Bit w
    /// of `dirty` is set if way w is dirty.
    #[inline]
    pub fn victim(&mut self, set: usize, high: usize, dirty: u64) -> usize {
        match self {
            Self::Recency(recency) => recency.victim(set, high, dirty),
            Self::Intervals(lines) => lines.victim(set, high, dirty),
        }
    }

    /// Number of lines of the set used more recently; `None` where that is not known.
    #[inline]
    pub fn position(&self, place: Place) -> Option<usize> {
        match self {
            Self::Recency(recency) => Some(recency.position(place)),
            Self::Intervals(_) => None,
        }
    }
}

impl Intervals {
    fn set(&mut self, set: usize) -> &mut [u8] {
        &mut self.intervals[set * self.ways..][..self.ways]
    }

    fn put(&mut self, place: Place, behind: usize) {
        let set = self.set(place.set);
        let at_most = |interval: u8| {
            let others = set.iter().enumerate().filter(|(way, _)| *way != place.way);
            others.filter(|(_, other)| **other <= interval).count()
        };
        let long = LONGEST - 1;
        let low = behind > 0 && at_most(long) <= behind;
        set[place.way] = if low { LONGEST } else { long };
    }

    fn victim(&mut self, set: usize, high: usize, dirty: u64) -> usize {
        let low = self.ways - high;
        let set = self.set(set);
        let intervals = &*set;
        let leaving = || {
            let alike = move |interval: u8| {
                let ways = intervals.iter().enumerate();
                ways.filter(move |(_, other)| **other == interval)
            };
            (0..=LONGEST).rev().flat_map(alike).map(|(way, _)| way)
        };
        let clean = leaving().take(low).find(|way| dirty >> way & 1 == 0);
        let victim = clean.or_else(|| leaving().next()).unwrap_or(0);
        let growth = LONGEST - set[victim];
        set.iter_mut()
            .for_each(|interval| *interval = LONGEST.min(*interval + growth));
        victim
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(intervals: [u8; 4]) -> Intervals {
        Intervals {
            ways: 4,
            intervals: intervals.to_vec(),
        }
    }

    /// Of intervals 1, 3, 2 and 0 the lines leave from the second way on, then the third.
    #[test]
    fn the_clean_leave_first_among_the_low() {
        for (high, dirty, victim, after) in [
            (0, 0b0000, 1, [1, 3, 2, 0]),
            (0, 0b0010, 2, [2, 3, 3, 1]),
            (0, 0b0110, 0, [3, 3, 3, 2]),
            (2, 0b0110, 1, [1, 3, 2, 0]),
            (4, 0b0010, 1, [1, 3, 2, 0]),
        ] {
            let mut lines = lines([1, 3, 2, 0]);
            assert_eq!(lines.victim(0, high, dirty), victim, "{high} {dirty:b}");
            assert_eq!(lines.intervals, after, "{high} {dirty:b}");
        }
    }

    #[test]
    fn a_new_line_goes_behind_the_high() {
        for (intervals, behind, new) in [
            ([0, 0, 3, 0], 0, 2),
            ([0, 0, 3, 0], 1, 2),
            ([0, 0, 3, 0], 2, 3),
            ([0, 0, 3, 0], 3, 3),
            ([3, 0, 3, 0], 1, 3),
            ([0, 2, 3, 1], 4, 3),
        ] {
            let mut lines = lines(intervals);
            lines.put(Place { set: 0, way: 1 }, behind);
            assert_eq!(lines.intervals[1], new, "{intervals:?} {behind}");
        }
    }
}
