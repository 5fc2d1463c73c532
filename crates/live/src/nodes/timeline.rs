//! How much of a program lay on each node, over time: a bounded number of moments.

use std::time::Duration;

use serde::Serialize;
use terrace_base::Bytes;

/// Moments that are kept; every other one goes when they are this many, and the pause between two
/// is doubled.
const MOST: usize = 256;
/// The first pause between two.
const PAUSE: Duration = Duration::from_millis(50);

/// A moment of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moment {
    /// Time since the start.
    pub elapsed: Duration,
    /// Memory on the fast node.
    pub fast: Bytes,
    /// Memory on the slow node.
    pub slow: Bytes,
}

/// The moments of a run.
#[derive(Debug)]
pub(super) struct Timeline {
    moments: Vec<Moment>,
    pause: Duration,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            moments: Vec::new(),
            pause: PAUSE,
        }
    }
}

impl Timeline {
    /// Whether a moment is to be kept at this time.
    pub fn is_due(&self, elapsed: Duration) -> bool {
        let last = self.moments.last();
        last.is_none_or(|last| elapsed >= last.elapsed + self.pause)
    }

    /// Keeps a moment.
    pub fn keep(&mut self, moment: Moment) {
        if self.moments.len() == MOST {
            let mut index = 0;
            self.moments.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.pause *= 2;
        }
        self.moments.push(moment);
    }

    /// Returns the moments in their order.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_run_has_as_many_moments_as_a_short_one() {
        let mut timeline = Timeline::default();
        for step in 0..100_000_u64 {
            let elapsed = PAUSE * step as u32;
            if timeline.is_due(elapsed) {
                timeline.keep(Moment {
                    elapsed,
                    ..Moment::default()
                });
            }
        }
        let moments = timeline.moments();
        assert!((MOST / 2..=MOST).contains(&moments.len()));
        assert_eq!(moments[0].elapsed, Duration::ZERO);
        assert!(moments.is_sorted_by_key(|moment| moment.elapsed));
        assert!(moments.last().unwrap().elapsed > PAUSE * 95_000);
    }
}
