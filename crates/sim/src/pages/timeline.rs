//! Progress of prefetching in the course of a simulation.

use terrace_base::Nanos;
use terrace_policy::prefetch::LifeStory;

use super::count::Counts;

/// Counts from the start to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Touches of pages.
    pub accesses: u64,
    /// Virtual time.
    pub time_ns: Nanos,
    /// Fates of pages fetched ahead. Predictions that were not fetched are not counted.
    pub story: LifeStory,
}

impl Point {
    pub(super) fn of(counts: &Counts, story: &LifeStory, now: Nanos) -> Self {
        Self {
            accesses: counts.accesses,
            time_ns: now,
            story: *story,
        }
    }
}

/// Recorder of a [`Point`] after every fixed number of prefetches.
#[derive(Default)]
pub(super) struct Timeline {
    /// Prefetches between two points; `None` if no points are recorded.
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

    /// Counts a page fetched ahead.
    pub(super) fn fetched(&mut self, counts: &Counts, story: &LifeStory, now: Nanos) {
        let ends = |every| story.issued.is_multiple_of(every);
        if self.every.is_some_and(ends) {
            self.points.push(Point::of(counts, story, now));
        }
    }

    /// Returns all points, the last one at the end.
    pub(super) fn points(&self, end: Point) -> Vec<Point> {
        match self.every {
            Some(_) => self.points.iter().copied().chain([end]).collect(),
            None => Vec::new(),
        }
    }
}
