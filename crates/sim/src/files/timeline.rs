//! Counts in the course of a simulation.

use terrace_base::Nanos;

use super::count::Counts;

/// Points that are kept at most; beyond them every second goes.
const MOST: usize = 256;

/// Counts from the beginning to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Point {
    /// Counts.
    pub counts: Counts,
    /// Virtual time.
    pub time: Nanos,
}

/// Points at equal distances in requests, some hundred, however many requests there are.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    /// Requests between two points.
    every: u64,
    points: Vec<Point>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            every: 1,
            points: Vec::new(),
        }
    }
}

impl Timeline {
    /// Notes the counts after a request.
    pub(super) fn note(&mut self, counts: Counts, time: Nanos) {
        if !counts.requests.is_multiple_of(self.every) {
            return;
        }
        self.points.push(Point { counts, time });
        if self.points.len() == MOST {
            self.every *= 2;
            let every = self.every;
            let stays = |point: &Point| point.counts.requests.is_multiple_of(every);
            self.points.retain(stays);
        }
    }

    /// Returns all points, with the end.
    pub(super) fn points(mut self, counts: Counts, time: Nanos) -> Vec<Point> {
        let end = Point { counts, time };
        if self.points.last() != Some(&end) {
            self.points.push(end);
        }
        self.points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_few_and_equally_far_apart() {
        for requests in [1, 255, 256, 1000, 100_003] {
            let mut timeline = Timeline::default();
            let counts = |requests| Counts {
                requests,
                ..Counts::default()
            };
            (1..=requests).for_each(|at| timeline.note(counts(at), Nanos(at)));
            let points = timeline.points(counts(requests), Nanos(requests));
            assert!(points.len() <= MOST && points.len() as u64 >= requests.min(100));
            let at: Vec<u64> = points.iter().map(|point| point.counts.requests).collect();
            let step = at[0];
            let apart = at.windows(2).take(at.len().saturating_sub(2));
            assert!(apart.into_iter().all(|pair| pair[1] - pair[0] == step));
            assert_eq!(at.last(), Some(&requests));
        }
    }
}
