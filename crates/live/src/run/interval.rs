//! Figures of intervals, told while a program runs.

use std::time::Duration;

use terrace_policy::prefetch::LifeStory;

use crate::group::counters::SwapCounters;
use crate::run::status::Status;
use crate::watch::waits;

/// The shortest interval: a program is looked at each 50 ms.
pub const SHORTEST: Duration = Duration::from_millis(100);

/// What happened in an interval, and the state at its end.
#[derive(Clone, Copy, Debug)]
pub struct Interval {
    /// Length of the interval.
    pub time: Duration,
    /// State at its end.
    pub status: Status,
    /// Major faults in it.
    pub major_faults: u64,
    /// Reads and writes of the tier in it.
    pub tier: SwapCounters,
    /// Predictions in it, by what became of them; `None` if nothing is steered.
    pub story: Option<LifeStory>,
    /// Waits at faults in it; `None` if nothing measures them.
    pub waits: Option<waits::Recent>,
}

/// Divides the time of a run into intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Intervals {
    every: Option<Duration>,
    /// State at the end of the last interval.
    last: Option<Status>,
}

impl Intervals {
    /// Makes intervals of this length; none without one.
    pub fn of(every: Option<Duration>) -> Self {
        Self { every, last: None }
    }

    /// Ends the present interval if it has lasted long enough.
    pub fn look(
        &mut self,
        status: &Status,
        waits: impl FnOnce() -> Option<waits::Recent>,
    ) -> Option<Interval> {
        let every = self.every?;
        let since = self.last.map_or(Duration::ZERO, |last| last.elapsed);
        // From multiple to multiple: a look that comes late makes the next interval no later.
        let has_ended = status.elapsed.as_nanos() / every.as_nanos().max(1)
            > since.as_nanos() / every.as_nanos().max(1);
        has_ended.then(|| self.interval(status, waits()))
    }

    /// Ends the present interval, however long it has lasted.
    pub fn end(
        &mut self,
        status: &Status,
        waits: impl FnOnce() -> Option<waits::Recent>,
    ) -> Option<Interval> {
        self.every.map(|_| self.interval(status, waits()))
    }

    fn interval(&mut self, status: &Status, waits: Option<waits::Recent>) -> Interval {
        let last = self.last.replace(*status);
        let last = last.as_ref();
        let since = |of: fn(&Status) -> u64| of(status).saturating_sub(last.map_or(0, of));
        let before = last.map_or(Duration::ZERO, |last| last.elapsed);
        let progress = status.progress.map(|progress| {
            let earlier = last.and_then(|last| last.progress).unwrap_or_default();
            progress.since(&earlier).story
        });
        Interval {
            time: status.elapsed.saturating_sub(before),
            status: *status,
            major_faults: since(|status| status.usage.major_faults),
            tier: status
                .tier
                .since(last.map(|last| last.tier).unwrap_or_default()),
            story: progress,
            waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::budget::Usage;

    fn status(millis: u64, major_faults: u64) -> Status {
        Status {
            elapsed: Duration::from_millis(millis),
            usage: Usage {
                major_faults,
                ..Usage::default()
            },
            limit: None,
            progress: None,
            tier: SwapCounters::default(),
            others: terrace_base::Bytes(0),
        }
    }

    #[test]
    fn intervals_end_at_multiples_and_at_the_end() {
        let mut intervals = Intervals::of(Some(Duration::from_millis(100)));
        let looks = [(40, 1), (103, 3), (150, 4), (199, 5), (260, 9), (301, 9)];
        let told = looks.map(|(millis, faults)| {
            let told = intervals.look(&status(millis, faults), || None)?;
            Some((told.time.as_millis(), told.major_faults))
        });
        assert_eq!(
            told,
            [
                None,
                Some((103, 3)),
                None,
                None,
                Some((157, 6)),
                Some((41, 0))
            ]
        );
        let end = intervals.end(&status(333, 12), || None).unwrap();
        assert_eq!((end.time.as_millis(), end.major_faults), (32, 3));
        let mut none = Intervals::of(None);
        assert!(
            none.look(&status(1000, 1), || panic!("nobody asked"))
                .is_none()
        );
        assert!(none.end(&status(1000, 1), || None).is_none());
    }
}
