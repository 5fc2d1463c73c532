//! The busiest day: the most bytes that are written within any day.

use std::collections::VecDeque;

use terrace_base::{Bytes, Nanos};

const MINUTE: u64 = 60_000_000_000;
const MINUTES_A_DAY: u64 = 24 * 60;

/// Bytes written by the minute, of the last day, and the most that a day had. Days begin with a
/// minute.
#[derive(Clone, Debug, Default)]
pub(super) struct Days {
    /// Minutes of the last day in which something was written.
    minutes: VecDeque<(u64, u64)>,
    written: u64,
    most: u64,
}

impl Days {
    /// Notes bytes; time does not go back.
    pub(super) fn note(&mut self, now: Nanos, bytes: u64) {
        let minute = now.0 / MINUTE;
        while let Some((first, old)) = self.minutes.front().copied()
            && minute - first >= MINUTES_A_DAY
        {
            self.written -= old;
            self.minutes.pop_front();
        }
        match self.minutes.back_mut() {
            Some((last, sum)) if *last == minute => *sum += bytes,
            _ => self.minutes.push_back((minute, bytes)),
        }
        self.written += bytes;
        self.most = self.most.max(self.written);
    }

    /// Returns the most bytes of a day.
    pub(super) fn busiest(&self) -> Bytes {
        Bytes(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All days, one by one, are the twin.
        #[test]
        fn the_busiest_of_all_days(writes in prop::collection::vec((0..600_u64, 1..9_u64), 1..60)) {
            let mut days = Days::default();
            let mut now = 0;
            let mut all = Vec::new();
            for (wait, bytes) in writes {
                now += wait;
                days.note(Nanos(now * MINUTE), bytes);
                all.push((now, bytes));
            }
            let day = |first: u64| {
                let within = all.iter().filter(move |(at, _)| (first..first + 1440).contains(at));
                within.map(|(_, bytes)| bytes).sum::<u64>()
            };
            let busiest = all.iter().map(|(at, _)| day(*at)).max().unwrap();
            prop_assert_eq!(days.busiest(), Bytes(busiest));
        }
    }
}
