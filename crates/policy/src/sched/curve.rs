//! The misses of a task after its turn has begun: Fedorov 2016, figure 3.3, learnt while the task
//! runs.

use std::time::Duration;

use super::Progress;

/// Passes over a bin that its counts remember: older ones count less and less.
const MEMORY: f64 = 8.0;

/// A task's misses per time, by the time since its turn began.
///
/// Time is divided into bins, each about half as long again as the one before it: the curve is
/// steep at first. Each bin holds the misses and the time of recent turns that came so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    bins: Vec<Bin>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Bin {
    /// Time in the turn at which the bin ends, in seconds.
    end: f64,
    misses: f64,
    /// Time of recent turns in this bin, in seconds.
    time: f64,
}

/// A part of a curve, from a bin's beginning to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Time in the turn at which it ends.
    pub end: Duration,
    /// Misses per second; `None` where no turn was so long.
    pub rate: Option<f64>,
}

impl Curve {
    /// Makes an unknown curve whose first bin ends at `first`, and the last one at `most`.
    pub fn new(first: Duration, most: Duration) -> Self {
        let (first, most) = (first.as_secs_f64().max(1e-6), most.as_secs_f64());
        // 1, 1.5, 2, 3, 4, 6, 8, ...
        let octaves = (0..64).map(|power| 2_f64.powi(power) * first);
        let ends = octaves.flat_map(|octave| [octave, 1.5 * octave]);
        let ends = ends.take_while(|end| *end < most).chain([most]);
        let bin = |end| Bin {
            end,
            misses: 0.0,
            time: 0.0,
        };
        Self {
            bins: ends.map(bin).collect(),
        }
    }

    /// Learns what a task did between two moments of a turn.
    pub fn note(&mut self, from: Progress, to: Progress) {
        let (Some(before), Some(after)) = (from.misses, to.misses) else {
            return;
        };
        let (begin, end) = (from.time.as_secs_f64(), to.time.as_secs_f64());
        let misses = after.saturating_sub(before) as f64;
        let mut bin_begin = 0.0;
        for bin in &mut self.bins {
            let time = end.min(bin.end) - begin.max(bin_begin);
            if time > 0.0 {
                let keep = (1.0 - time / (bin.end - bin_begin) / MEMORY).max(0.0);
                bin.misses = bin.misses * keep + misses * time / (end - begin);
                bin.time = bin.time * keep + time;
            }
            bin_begin = bin.end;
        }
    }

    /// Returns the curve, bin by bin.
    pub fn stretches(&self) -> impl Iterator<Item = Stretch> {
        self.bins.iter().map(|bin| Stretch {
            end: Duration::from_secs_f64(bin.end),
            rate: (bin.time > 0.0).then(|| bin.misses / bin.time),
        })
    }

    /// Returns the first end of a bin after `time`, if there is one.
    pub fn next_end(&self, time: Duration) -> Option<Duration> {
        let mut ends = self.stretches().map(|stretch| stretch.end);
        ends.find(|end| *end > time)
    }

    /// Returns the ends of bins and the misses that a turn has until there, as far as the curve is
    /// known; from the last known bin on at its rate.
    pub fn totals(&self) -> impl Iterator<Item = (Duration, f64)> {
        let (mut begin, mut total, mut rate) = (0.0, 0.0, 0.0);
        self.stretches().map(move |stretch| {
            rate = stretch.rate.unwrap_or(rate);
            let end = stretch.end.as_secs_f64();
            total += rate * (end - begin);
            begin = end;
            (stretch.end, total)
        })
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.bins.iter().any(|bin| bin.time > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32, misses: u64) -> Progress {
        Progress {
            time: ms * MS,
            misses: Some(misses),
        }
    }

    fn rates(curve: &Curve) -> Vec<Option<i64>> {
        let rates = curve.stretches().map(|stretch| stretch.rate);
        rates
            .map(|rate| rate.map(|rate| rate.round() as i64))
            .collect()
    }

    #[test]
    fn bins_grow() {
        let ends: Vec<u128> = Curve::new(2 * MS, 20 * MS)
            .stretches()
            .map(|stretch| stretch.end.as_millis())
            .collect();
        assert_eq!(ends, [2, 3, 4, 6, 8, 12, 16, 20]);
        assert_eq!(Curve::new(50 * MS, 20 * MS).stretches().count(), 1);
    }

    /// 400 misses in 4 ms are spread over bins that end at 1, 1.5, 2, 3 and 4 ms.
    #[test]
    fn misses_are_spread_over_the_time_of_a_report() {
        let mut curve = Curve::new(MS, 6 * MS);
        curve.note(at(0, 0), at(4, 400));
        curve.note(at(4, 400), at(5, 420));
        let fast = Some(100_000);
        assert_eq!(rates(&curve), [fast, fast, fast, fast, fast, Some(20_000)]);
        let totals: Vec<i64> = curve.totals().map(|(_, total)| total as i64).collect();
        assert_eq!(totals, [100, 150, 200, 300, 400, 440]);
    }

    #[test]
    fn old_turns_are_forgotten() {
        let mut curve = Curve::new(MS, 2 * MS);
        for _ in 0..100 {
            curve.note(at(0, 0), at(1, 1000));
        }
        for _ in 0..40 {
            curve.note(at(0, 0), at(1, 10));
        }
        let rate = curve.stretches().next().unwrap().rate.unwrap();
        assert!((10_000.0..20_000.0).contains(&rate), "{rate}");
    }

    #[test]
    fn nothing_is_learnt_of_time_and_misses_that_go_back_or_are_not_counted() {
        let mut curve = Curve::new(MS, 4 * MS);
        curve.note(at(3, 5), at(1, 9));
        curve.note(at(1, 5), at(1, 9));
        curve.note(Progress::default(), at(1, 9));
        assert!(!curve.is_known());
        curve.note(at(0, 9), at(1, 5));
        assert_eq!(curve.stretches().next().unwrap().rate, Some(0.0));
    }
}
