//! What was seen of each target within the last hour.

use std::collections::{BTreeMap, VecDeque};

use terrace_daemon::protocol::{Counts, Status, Target};

use crate::curve::{Level, levels};
use crate::point::Point;

/// Milliseconds between two points.
const EVERY: u64 = 10_000;
/// Points of a target: an hour.
const POINTS: usize = 360;

/// The last hour of all targets that there are.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: BTreeMap<String, VecDeque<Point>>,
    /// Counts of each target at its last point.
    counts: BTreeMap<String, Counts>,
    last: Option<u64>,
}

impl History {
    /// Adds a point of each target, if it is time for one, and forgets targets that are gone.
    pub fn add(&mut self, status: &Status) {
        let now = status.time_ms;
        // A clock that was set back begins anew.
        let waits = self
            .last
            .is_some_and(|last| (last..last + EVERY).contains(&now));
        if waits {
            return;
        }
        self.last = Some(now);
        let there = |name: &String| status.targets.iter().any(|it| it.name == *name);
        self.points.retain(|name, _| there(name));
        self.counts.retain(|name, _| there(name));
        for target in &status.targets {
            self.add_target(target, now);
        }
    }

    fn add_target(&mut self, target: &Target, time_ms: u64) {
        let name = || target.name.clone();
        let before = self.counts.insert(name(), target.counts);
        let since = before.map(|before| since(&before, &target.counts));
        let since = since.unwrap_or_default();
        let resident = target.instances.iter().map(|it| it.resident).sum();
        let points = self.points.entry(name()).or_default();
        let held = match points.back() {
            Some(last) => last.resident.midpoint(resident),
            None => resident,
        };
        if points.len() == POINTS {
            points.pop_front();
        }
        points.push_back(Point {
            time_ms,
            resident,
            swapped: target.instances.iter().map(|it| it.swapped).sum(),
            held,
            stalled_s: since.stalled_s,
            watched_s: since.watched_s,
            looks: since.looks,
        });
    }

    /// Returns the points of each target, the oldest first.
    pub fn points(&self) -> &BTreeMap<String, VecDeque<Point>> {
        &self.points
    }

    /// Returns the levels of DRAM of each target, with how much it stood still at each.
    pub fn curves(&self) -> BTreeMap<&str, Vec<Level>> {
        let all = self.points.iter();
        all.map(|(name, points)| (name.as_str(), levels(points.iter())))
            .collect()
    }
}

/// Returns what was counted between two moments. A daemon that was started again counts from zero.
fn since(before: &Counts, now: &Counts) -> Counts {
    let sums = |counts: &Counts| [counts.stalled_s, counts.watched_s, counts.looks as f64];
    let is_anew = sums(now)
        .iter()
        .zip(sums(before))
        .any(|(now, before)| *now < before);
    if is_anew {
        return *now;
    }
    Counts {
        stalled_s: now.stalled_s - before.stalled_s,
        watched_s: now.watched_s - before.watched_s,
        looks: now.looks - before.looks,
        ..Counts::default()
    }
}

#[cfg(test)]
mod tests {
    use terrace_daemon::protocol::Instance;

    use super::*;

    fn status(time_ms: u64, names: &[&str], stalled_s: f64) -> Status {
        let target = |name: &&str| Target {
            name: (*name).to_owned(),
            counts: Counts {
                stalled_s,
                watched_s: time_ms as f64 / 1000.0,
                looks: time_ms / 500,
                ..Counts::default()
            },
            instances: [5, 6]
                .map(|resident| Instance {
                    resident,
                    ..Instance::default()
                })
                .into(),
            ..Target::default()
        };
        Status {
            time_ms,
            targets: names.iter().map(target).collect(),
            ..Status::default()
        }
    }

    #[test]
    fn an_hour_is_kept_with_a_point_each_ten_seconds() {
        let mut history = History::default();
        for second in 0..5000 {
            history.add(&status(second * 1000, &["a"], second as f64 / 50.0));
        }
        let points = &history.points()["a"];
        assert_eq!(points.len(), 360);
        assert_eq!(points[0].time_ms, 4_990_000 - 3_590_000);
        assert_eq!(points[7].resident, 11);
        assert_eq!((points[7].looks, points[7].watched_s), (20, 10.0));
        assert!((points[7].stalled_s - 0.2).abs() < 1e-9);
        let level = history.curves()["a"][0];
        assert_eq!((level.looks, level.dram), (7200, 11.0));
        assert!((level.stalled - 0.02).abs() < 1e-9);
    }

    #[test]
    fn targets_that_are_gone_are_forgotten() {
        let mut history = History::default();
        history.add(&status(0, &["a", "b"], 0.0));
        history.add(&status(10_000, &["b"], 0.0));
        assert_eq!(history.points().keys().collect::<Vec<_>>(), ["b"]);
        // The clock was set back.
        history.add(&status(5_000, &["c"], 0.0));
        assert_eq!(history.points().keys().collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn a_daemon_that_began_anew_counts_from_zero() {
        let counts = |stalled_s, watched_s, looks| Counts {
            stalled_s,
            watched_s,
            looks,
            ..Counts::default()
        };
        let before = counts(50.0, 1000.0, 2000);
        let anew = counts(1.0, 10.0, 20);
        assert_eq!(since(&before, &anew), anew);
        // One that looks seldom, and ran for longer.
        let seldom = counts(51.0, 1010.0, 1999);
        assert_eq!(since(&before, &seldom), seldom);
        assert_eq!(since(&before, &before), Counts::default());
        assert_eq!(since(&before, &counts(51.0, 1010.0, 2020)), anew);
    }

    #[test]
    fn dram_between_two_points_is_their_mean() {
        let mut history = History::default();
        let mut status = status(0, &["a"], 0.0);
        history.add(&status);
        assert_eq!(history.points()["a"][0].watched_s, 0.0);
        status.time_ms = 10_000;
        status.targets[0].instances[0].resident = 25;
        history.add(&status);
        let last = history.points()["a"][1];
        assert_eq!((last.resident, last.held), (31, 21));
    }
}
