//! A token bucket: bytes that may be written, which come in evenly.

use std::time::Duration;

const DAY: i128 = 86_400_000_000_000;

/// The bucket. In any span of time no more is taken than comes in, and what the bucket holds;
/// beyond that only what a driver takes without asking.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Bytes that come in a day.
    a_day: i128,
    /// What the bucket holds when it is full, in bytes by [`DAY`], so that all sums are exact.
    full: i128,
    /// What was in it at `at`.
    held: i128,
    at: i128,
}

impl Bucket {
    /// Makes a full bucket, which holds what comes in so much time.
    pub(super) fn new(bytes_a_day: u64, burst: Duration) -> Self {
        let a_day = i128::from(bytes_a_day);
        let full = a_day * nanos(burst);
        Self {
            a_day,
            full,
            held: full,
            at: 0,
        }
    }

    /// Returns into how many of so many parts of a full bucket all fits that is missing at a time;
    /// one more than all of them if bytes are owed.
    pub(super) fn missing(&self, parts: u8, time: Duration) -> u8 {
        let missing = (self.full - self.held(time)) * i128::from(parts);
        let fits = (missing + self.full - 1) / self.full;
        fits.min(i128::from(parts) + 1) as u8
    }

    /// Whether it holds so many bytes at a time.
    pub(super) fn holds(&self, bytes: u64, time: Duration) -> bool {
        self.held(time) >= i128::from(bytes) * DAY
    }

    /// Takes bytes, also if it holds fewer: it owes them then.
    pub(super) fn take(&mut self, bytes: u64, time: Duration) {
        self.held = self.held(time) - i128::from(bytes) * DAY;
        self.at = self.at.max(nanos(time));
    }

    fn held(&self, time: Duration) -> i128 {
        let passed = (nanos(time) - self.at).max(0);
        (self.held + passed * self.a_day).min(self.full)
    }
}

/// Nanoseconds, some centuries at most, so that products of them fit.
fn nanos(time: Duration) -> i128 {
    time.as_nanos().min(u128::from(u64::MAX)) as i128
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_comes_in_can_be_taken() {
        // 86,400 bytes a day are one a second; it holds a minute's.
        let second = Duration::from_secs;
        let mut bucket = Bucket::new(86_400, second(60));
        assert!(bucket.holds(60, second(0)) && !bucket.holds(61, second(1000)));
        bucket.take(60, second(1000));
        assert!(!bucket.holds(1, second(1000)) && bucket.holds(30, second(1030)));
        assert_eq!(bucket.missing(4, second(1030)), 2);
        assert_eq!(bucket.missing(4, second(1029)), 3);
        assert_eq!(bucket.missing(4, second(1060)), 0);
        bucket.take(90, second(1060));
        assert!(!bucket.holds(1, second(1090)), "it owes 30");
        assert_eq!(bucket.missing(4, second(1060)), 5);
        assert!(bucket.holds(1, second(1091)));
        assert!(!bucket.holds(1, second(7)), "time does not go back");
    }

    proptest! {
        #[test]
        fn no_span_has_more(asks in prop::collection::vec((0..100_u64, 1..50_u64), 1..200)) {
            let mut bucket = Bucket::new(86_400, Duration::from_secs(60));
            let mut now = 0;
            let mut taken: Vec<(u64, u64)> = Vec::new();
            for (wait, bytes) in asks {
                now += wait;
                let time = Duration::from_secs(now);
                if bucket.holds(bytes, time) {
                    bucket.take(bytes, time);
                    taken.push((now, bytes));
                }
            }
            for first in 0..taken.len() {
                let mut sum = 0;
                for (at, bytes) in &taken[first..] {
                    sum += bytes;
                    prop_assert!(sum <= at - taken[first].0 + 60);
                }
            }
        }
    }
}
