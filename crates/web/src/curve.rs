//! How much a target stood still at each level of DRAM that it held, as it was measured.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::point::Point;

/// Levels of a curve, at most.
pub const LEVELS: u64 = 12;
/// The least difference between two levels, in bytes.
const LEAST: u64 = 1 << 20;

/// A level of DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Mean of the bytes in DRAM.
    pub dram: f64,
    /// Share of the time at this level that the target stood still.
    pub stalled: f64,
    /// Time at this level, in seconds.
    pub watched_s: f64,
    /// Looks within that time.
    pub looks: u64,
}

/// Sums of a level.
#[derive(Clone, Copy, Default)]
struct Sums {
    /// Byte-seconds.
    dram: f64,
    stalled_s: f64,
    watched_s: f64,
    looks: u64,
}

/// Returns the levels of a target, the smallest first. Each has the same width, a power of two of
/// bytes. Points over which nothing was looked at belong to none.
pub fn levels<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Vec<Level> {
    let points = points.filter(|point| point.watched_s > 0.0);
    let held = || points.clone().map(|point| point.held);
    let (Some(least), Some(most)) = (held().min(), held().max()) else {
        return Vec::new();
    };
    let width = width(least, most);
    let mut levels = BTreeMap::<u64, Sums>::new();
    for point in points {
        let sums = levels.entry(point.held / width).or_default();
        sums.dram += point.held as f64 * point.watched_s;
        sums.stalled_s += point.stalled_s;
        sums.watched_s += point.watched_s;
        sums.looks += point.looks;
    }
    levels.into_values().map(Level::from).collect()
}

/// Returns the width of levels from the least to the most: neighbours of levels may be cut at both
/// ends.
fn width(least: u64, most: u64) -> u64 {
    let width = (most - least).div_ceil(LEVELS - 1);
    width.max(LEAST).next_power_of_two()
}

impl From<Sums> for Level {
    fn from(sums: Sums) -> Self {
        Self {
            dram: sums.dram / sums.watched_s,
            stalled: (sums.stalled_s / sums.watched_s).clamp(0.0, 1.0),
            watched_s: sums.watched_s,
            looks: sums.looks,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn point(held: u64, stalled_s: f64, watched_s: f64) -> Point {
        Point {
            held,
            stalled_s,
            watched_s,
            looks: watched_s as u64 * 2,
            ..Point::default()
        }
    }

    #[test]
    fn each_level_has_the_mean_of_its_time() {
        let points = [
            point(100 * MIB, 1.0, 10.0),
            point(101 * MIB, 0.0, 30.0),
            point(400 * MIB, 0.0, 10.0),
            point(7, 9.0, 0.0),
        ];
        let found = levels(points.iter());
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].stalled, found[0].looks), (1.0 / 40.0, 80));
        assert_eq!(found[0].dram, 100.75 * MIB as f64);
        assert_eq!((found[1].stalled, found[1].watched_s), (0.0, 10.0));
        assert_eq!(levels([].iter()), []);
        assert_eq!(levels([point(5, 1.0, 0.0)].iter()), []);
    }

    /// The slow twin: each level by itself, by its bounds.
    fn by_bounds(points: &[Point]) -> Vec<(u64, f64, f64, u64)> {
        let points: Vec<_> = points.iter().filter(|it| it.watched_s > 0.0).collect();
        let most = points.iter().map(|it| it.held).max().unwrap_or(0);
        let least = points.iter().map(|it| it.held).min().unwrap_or(0);
        let mut width = MIB;
        while width * 11 < most - least {
            width *= 2;
        }
        let mut levels = Vec::new();
        let mut from = least / width * width;
        while from <= most {
            let inside = points
                .iter()
                .filter(|it| it.held >= from && it.held - from < width);
            let inside: Vec<_> = inside.collect();
            if !inside.is_empty() {
                levels.push((
                    from,
                    inside.iter().map(|it| it.stalled_s).sum(),
                    inside.iter().map(|it| it.watched_s).sum(),
                    inside.iter().map(|it| it.looks).sum(),
                ));
            }
            from += width;
        }
        levels
    }

    proptest! {
        #[test]
        fn levels_are_those_of_the_twin(
            points in prop::collection::vec((0..1u64 << 36, 0..1000u32, 0..3u32), 0..360),
            shift in 0..36u32,
        ) {
            let points: Vec<_> = points
                .into_iter()
                .map(|(held, lost, time)| point(held >> shift, f64::from(lost) / 100.0, f64::from(time) * 5.0))
                .collect();
            let (found, wanted) = (levels(points.iter()), by_bounds(&points));
            prop_assert_eq!(found.len(), wanted.len());
            prop_assert!(found.len() as u64 <= LEVELS);
            for (level, (from, stalled_s, watched_s, looks)) in found.iter().zip(wanted) {
                prop_assert!(level.dram >= from as f64);
                prop_assert_eq!((level.watched_s, level.looks), (watched_s, looks));
                prop_assert!((level.stalled - (stalled_s / watched_s).min(1.0)).abs() < 1e-9);
            }
            prop_assert!(found.windows(2).all(|pair| pair[0].dram < pair[1].dram));
        }
    }
}
