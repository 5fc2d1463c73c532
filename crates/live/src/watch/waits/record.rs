//! The waits so far: their distribution over the run, over time, and since they were last asked
//! for.

use std::time::Duration;

use hdrhistogram::Histogram;
use terrace_base::{Error, Result};

use super::faults::Fault;
use super::{Figures, Measured, Moment, Recent};
use crate::watch::faults::Loss;

/// Moments of a timeline at most, and the length of the first.
const MOMENTS: usize = 64;
const MOMENT: Duration = Duration::from_millis(100);
/// The least and the longest wait that are told apart, in nanoseconds, and the digits of a
/// quantile.
const BOUNDS: (u64, u64) = (128, 3_600_000_000_000);
const DIGITS: u8 = 2;

/// Some waits.
#[derive(Clone)]
struct Distribution {
    histogram: Histogram<u32>,
    major: u64,
    total: Duration,
    worst: Duration,
}

impl Distribution {
    fn new() -> Result<Self> {
        let histogram = Histogram::new_with_bounds(BOUNDS.0, BOUNDS.1, DIGITS)
            .map_err(|error| Error::failure(format!("cannot count waits: {error}")))?;
        Ok(Self {
            histogram,
            major: 0,
            total: Duration::ZERO,
            worst: Duration::ZERO,
        })
    }

    fn add(&mut self, wait: Fault) {
        let nanos = u64::try_from(wait.took.as_nanos()).unwrap_or(u64::MAX);
        self.histogram.saturating_record(nanos.max(1));
        self.major += u64::from(wait.is_major);
        self.total += wait.took;
        self.worst = self.worst.max(wait.took);
    }

    fn join(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.histogram.add(&other.histogram);
        self.major += other.major;
        self.total += other.total;
        self.worst = self.worst.max(other.worst);
    }

    fn clear(&mut self) {
        self.histogram.reset();
        (self.major, self.total, self.worst) = (0, Duration::ZERO, Duration::ZERO);
    }

    fn figures(&self) -> Figures {
        let quantile = |share| {
            let nanos = self.histogram.value_at_quantile(share);
            Duration::from_nanos(nanos).min(self.worst)
        };
        Figures {
            count: self.histogram.len(),
            major: self.major,
            total: self.total,
            median: quantile(0.5),
            p99: quantile(0.99),
            worst: self.worst,
        }
    }
}

/// A part of the timeline.
#[derive(Clone)]
struct Part {
    waits: Distribution,
    has_lost: bool,
}

/// The waits so far, each by the time at which its fault began.
pub(super) struct Record {
    /// The start, by [`crate::system::clock::now`].
    began: Duration,
    /// When the present phase began: faults before it are left out.
    since: Duration,
    all: Distribution,
    /// Faults of the phase, those that did not wait included.
    faults: u64,
    /// Events of the phase that were lost.
    lost: u64,
    recent: Distribution,
    recently_lost: u64,
    /// One after the other since the phase began, each of this length.
    timeline: Vec<Part>,
    length: Duration,
    empty: Distribution,
}

impl Record {
    /// Begins at this time.
    pub fn new(began: Duration) -> Result<Self> {
        let empty = Distribution::new()?;
        Ok(Self {
            began,
            since: began,
            all: empty.clone(),
            faults: 0,
            lost: 0,
            recent: empty.clone(),
            recently_lost: 0,
            timeline: Vec::new(),
            length: MOMENT,
            empty,
        })
    }

    /// Leaves out the faults before this time, whether they are known already or not.
    ///
    /// Those of this time and after it must not be known yet.
    pub fn begin_phase(&mut self, now: Duration) {
        self.since = now;
        self.all.clear();
        (self.faults, self.lost) = (0, 0);
        self.timeline.clear();
        self.length = MOMENT;
    }

    /// Adds a fault that has ended.
    pub fn add(&mut self, fault: Fault) {
        let is_of_phase = fault.began >= self.since;
        self.faults += u64::from(is_of_phase);
        if !fault.has_waited() {
            return;
        }
        self.recent.add(fault);
        if is_of_phase {
            self.all.add(fault);
            let index = self.index(fault.began);
            self.timeline[index].waits.add(fault);
        }
    }

    /// Notes that events are missing.
    pub fn lose(&mut self, loss: Loss) {
        self.recently_lost += loss.events;
        if loss.to < self.since {
            return;
        }
        self.lost += loss.events;
        let last = self.index(loss.to);
        let first = self.index(loss.from.max(self.since));
        for part in &mut self.timeline[first..=last] {
            part.has_lost = true;
        }
    }

    /// Returns the index of the part of the timeline that this time is in, and makes those up to
    /// it. It is not before the phase.
    fn index(&mut self, time: Duration) -> usize {
        let elapsed = time.saturating_sub(self.since);
        let index = |length: Duration| (elapsed.as_nanos() / length.as_nanos()) as usize;
        while index(self.length) >= MOMENTS {
            self.lengthen();
        }
        let index = index(self.length);
        if self.timeline.len() <= index {
            let empty = Part {
                waits: self.empty.clone(),
                has_lost: false,
            };
            self.timeline.resize(index + 1, empty);
        }
        index
    }

    /// Makes one part of every two.
    fn lengthen(&mut self) {
        self.length *= 2;
        let joined = self.timeline.chunks(2).map(|pair| {
            let mut first = pair[0].clone();
            for second in &pair[1..] {
                first.waits.join(&second.waits);
                first.has_lost |= second.has_lost;
            }
            first
        });
        self.timeline = joined.collect();
    }

    /// Returns what is known of the waits since this was last called.
    pub fn take_recent(&mut self) -> Recent {
        let waits = self.recent.figures();
        self.recent.clear();
        Recent {
            waits,
            lost: std::mem::take(&mut self.recently_lost),
        }
    }

    /// Returns what is known of the phase, in which the program had `of` faults by the kernel's
    /// count.
    pub fn measured(&self, of: u64) -> Measured {
        Measured {
            all: self.all.figures(),
            faults: self.faults,
            of,
            lost: self.lost,
            timeline: self.moments(),
        }
    }

    /// Returns the moments with waits, and those in which some may be missing.
    fn moments(&self) -> Vec<Moment> {
        let before = self.since.saturating_sub(self.began);
        let all = self.timeline.iter().zip(0..);
        let moments = all.map(|(part, index)| Moment {
            from: before + self.length * index,
            to: before + self.length * (index + 1),
            waits: part.waits.figures(),
            is_whole: !part.has_lost,
        });
        let moments = moments.filter(|moment| moment.waits.count > 0 || !moment.is_whole);
        moments.collect()
    }
}

#[cfg(test)]
mod tests {
    use terrace_policy::Space;

    use super::*;

    const US: Duration = Duration::from_micros(1);
    const MS: Duration = Duration::from_millis(1);

    fn wait(millis: u32, micros: u32, is_major: bool) -> Fault {
        Fault {
            space: Space(1),
            began: MS * millis,
            took: US * micros,
            is_major,
        }
    }

    #[test]
    fn quantiles_are_those_of_the_waits() {
        let mut record = Record::new(Duration::ZERO).unwrap();
        for micros in 1..=1000 {
            record.add(wait(1, micros, micros % 2 == 0));
        }
        let measured = record.measured(1000);
        let all = measured.all;
        // Of the minor ones those of 20 us and longer.
        assert_eq!((all.count, all.major, all.worst), (990, 500, US * 1000));
        assert_eq!((measured.faults, measured.missing()), (1000, 0));
        let near = |found: Duration, micros: f64| {
            (found.as_secs_f64() / (micros * 1e-6) - 1.0).abs() < 0.02
        };
        assert!(near(all.median, 505.0), "{:?}", all.median);
        assert!(near(all.p99, 990.0), "{:?}", all.p99);
        assert_eq!(all.total, US * (500_500 - 100));
        let none = Record::new(US).unwrap().measured(0);
        assert_eq!(none, Measured::default());
    }

    #[test]
    fn a_long_run_has_few_moments_and_loses_no_wait() {
        let mut record = Record::new(MS * 500).unwrap();
        for second in 1..=3600 {
            record.add(wait(500 + 1000 * second, 60, true));
        }
        let moments = record.moments();
        assert!(moments.len() <= MOMENTS, "{}", moments.len());
        assert_eq!(moments.iter().map(|it| it.waits.count).sum::<u64>(), 3600);
        assert!(moments.windows(2).all(|pair| pair[0].to <= pair[1].from));
        assert_eq!(record.take_recent().waits.count, 3600);
        assert_eq!(record.take_recent(), Recent::default());
    }

    #[test]
    fn a_phase_has_the_waits_that_began_in_it() {
        let mut record = Record::new(MS * 100).unwrap();
        record.add(wait(150, 60, true));
        record.begin_phase(MS * 1000);
        // Known late, as on a busy machine: they began before.
        (200..300).for_each(|millis| record.add(wait(millis, 70, true)));
        record.add(wait(999, 9_000_000, true));
        record.add(wait(1000, 80, true));
        record.add(wait(1350, 90, false));
        record.add(wait(1360, 1, false));
        let measured = record.measured(3);
        let all = measured.all;
        assert_eq!((all.count, all.major, all.worst), (2, 1, US * 90));
        assert_eq!(measured.faults, 3);
        let times: Vec<_> = measured
            .timeline
            .iter()
            .map(|it| (it.from, it.to))
            .collect();
        assert_eq!(
            times,
            [(MS * 900, MS * 1000), (MS * 1200, MS * 1300)],
            "since the start"
        );
        let counted: u64 = measured.timeline.iter().map(|it| it.waits.count).sum();
        assert_eq!(counted, all.count);
        assert_eq!(record.take_recent().waits.count, 104, "phases leave it");
    }

    #[test]
    fn times_in_which_events_were_lost_are_not_whole() {
        let mut record = Record::new(Duration::ZERO).unwrap();
        let loss = |from: u32, to: u32, events| Loss {
            from: MS * from,
            to: MS * to,
            events,
        };
        (0..10).for_each(|tenth| record.add(wait(100 * tenth + 50, 60, true)));
        record.lose(loss(310, 420, 5));
        record.lose(loss(1210, 1215, 2));
        assert_eq!(record.take_recent().lost, 7);
        let measured = record.measured(40);
        assert_eq!((measured.lost, measured.missing()), (7, 30));
        let broken = |record: &Record| -> Vec<_> {
            let moments = record.moments().into_iter().filter(|it| !it.is_whole);
            moments.map(|it| (it.from / 100, it.waits.count)).collect()
        };
        assert_eq!(broken(&record), [(MS * 3, 1), (MS * 4, 1), (MS * 12, 0)]);
        record.lengthen();
        assert_eq!(broken(&record), [(MS * 2, 2), (MS * 4, 2), (MS * 12, 0)]);
        // A loss before a phase is none of it, one that reaches into it is.
        record.begin_phase(MS * 2000);
        record.lose(loss(1900, 1990, 3));
        assert_eq!((record.lost, broken(&record).len()), (0, 0));
        record.lose(loss(1900, 2010, 4));
        assert_eq!(record.lost, 4);
        assert_eq!(broken(&record), [(MS * 20, 0)]);
        assert_eq!(record.take_recent().lost, 7);
    }
}
