//! How prefetching went in the course of a simulation.

use terrace_base::Nanos;

use super::Counts;

/// What there was at a moment, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Touches of pages.
    pub accesses: u64,
    /// Virtual time.
    pub time_ns: Nanos,
    /// Pages fetched ahead.
    pub issued: u64,
    /// Those of them that were touched after they had arrived.
    pub used: u64,
    /// Those touched before.
    pub late: u64,
    /// Those evicted untouched.
    pub wasted: u64,
}

impl Point {
    pub(super) fn of(counts: &Counts, now: Nanos) -> Self {
        Self {
            accesses: counts.accesses,
            time_ns: now,
            issued: counts.prefetches,
            used: counts.prefetches_used,
            late: counts.prefetches_late,
            wasted: counts.prefetches_wasted,
        }
    }
}

/// Notes a [`Point`] after every so many prefetches.
#[derive(Default)]
pub(super) struct Timeline {
    /// None: nothing is noted.
    every: Option<u64>,
    points: Vec<Point>,
}

impl Timeline {
    pub(super) fn new(every: Option<u64>) -> Self {
        Self {
            every: every.filter(|every| *every > 0),
            points: Vec::new(),
        }
    }

    /// A page was fetched ahead.
    pub(super) fn fetched(&mut self, counts: &Counts, now: Nanos) {
        if self
            .every
            .is_some_and(|every| counts.prefetches.is_multiple_of(every))
        {
            self.points.push(Point::of(counts, now));
        }
    }

    /// All points, and what there was at the end.
    pub(super) fn points(&self, end: Point) -> Vec<Point> {
        match self.every {
            Some(_) => self.points.iter().copied().chain([end]).collect(),
            None => Vec::new(),
        }
    }
}
