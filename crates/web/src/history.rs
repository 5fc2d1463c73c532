//! What was seen of each target within the last hour.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use terrace_daemon::protocol::{Status, Target};

/// Milliseconds between two points.
const EVERY: u64 = 10_000;
/// Points of a target: an hour.
const POINTS: usize = 360;

/// What a target was like at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Milliseconds since 1970.
    pub time_ms: u64,
    /// Bytes in DRAM.
    pub resident: u64,
    /// Bytes in the tier.
    pub swapped: u64,
    /// Share of the time since the point before that it stood still for memory.
    pub stalled: f64,
}

/// The last hour of all targets that there are.
#[derive(Clone, Debug, Default)]
pub struct History {
    points: BTreeMap<String, VecDeque<Point>>,
    /// Sums of each target at its last point: time that it stood still, and that it was watched.
    sums: BTreeMap<String, (f64, f64)>,
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
        self.sums.retain(|name, _| there(name));
        for target in &status.targets {
            self.add_target(target, now);
        }
    }

    fn add_target(&mut self, target: &Target, time_ms: u64) {
        let sums = (target.counts.stalled_s, target.counts.watched_s);
        let before = self.sums.insert(target.name.clone(), sums);
        let points = self.points.entry(target.name.clone()).or_default();
        if points.len() == POINTS {
            points.pop_front();
        }
        points.push_back(Point {
            time_ms,
            resident: target.instances.iter().map(|it| it.resident).sum(),
            swapped: target.instances.iter().map(|it| it.swapped).sum(),
            stalled: before.map_or(0.0, |before| share(before, sums)),
        });
    }

    /// Returns the points of each target, the oldest first.
    pub fn points(&self) -> &BTreeMap<String, VecDeque<Point>> {
        &self.points
    }
}

/// The share of the time between two sums that was lost. A daemon that was started again counts
/// from zero.
fn share((lost, watched): (f64, f64), (lost_now, watched_now): (f64, f64)) -> f64 {
    let (lost, watched) = match watched_now < watched {
        true => (lost_now, watched_now),
        false => (lost_now - lost, watched_now - watched),
    };
    match watched > 0.0 {
        true => (lost / watched).clamp(0.0, 1.0),
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use terrace_daemon::protocol::{Counts, Instance};

    use super::*;

    fn status(time_ms: u64, names: &[&str], stalled_s: f64) -> Status {
        let target = |name: &&str| Target {
            name: (*name).to_owned(),
            counts: Counts {
                stalled_s,
                watched_s: time_ms as f64 / 1000.0,
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
        assert!((points[7].stalled - 0.02).abs() < 1e-9);
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
        assert_eq!(share((50.0, 1000.0), (1.0, 10.0)), 0.1);
        assert_eq!(share((50.0, 1000.0), (50.0, 1000.0)), 0.0);
    }
}
