//! How flushes follow one another (Fedorov 2016, 4.4.1).

use terrace_base::Nanos;

use crate::length::Length;
use crate::router::Flushed;

const SECOND: Nanos = Nanos(1_000_000_000);

/// Spacing of the flushes of a trace.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spacing {
    /// Mean time between one flush and the next, of any length; `None` if there are not two.
    pub mean: Option<Nanos>,
    /// Times between one flush and the next of the same length, in order of size.
    pub of_a_length: Vec<Nanos>,
    /// By their number, cases of so many flushes of one length within a second. A case begins with
    /// a flush and takes in all of its length within a second from it; the next begins with the
    /// first one behind.
    pub cases: Vec<u64>,
}

impl Spacing {
    /// Returns the spacing of flushes, which are in the order of time.
    pub fn of(flushed: &[Flushed]) -> Self {
        let mut by_length: Vec<Vec<Nanos>> = vec![Vec::new(); Length::COUNT];
        for flush in flushed {
            by_length[flush.length.index()].push(flush.at);
        }
        let gaps = by_length
            .iter()
            .flat_map(|times| times.windows(2).map(|pair| pair[1] - pair[0]));
        let mut of_a_length: Vec<Nanos> = gaps.collect();
        of_a_length.sort_unstable();
        let mean = match flushed {
            [first, .., last] => Some(Nanos((last.at - first.at).0 / (flushed.len() as u64 - 1))),
            _ => None,
        };
        Self {
            mean,
            of_a_length,
            cases: cases(&by_length),
        }
    }

    /// Returns the cases of at least so many flushes of one length within a second.
    pub fn at_least(&self, flushes: usize) -> u64 {
        self.cases.iter().skip(flushes).sum()
    }
}

fn cases(by_length: &[Vec<Nanos>]) -> Vec<u64> {
    let mut cases = Vec::new();
    for mut times in by_length.iter().map(Vec::as_slice) {
        while let [first, ..] = times {
            let end = *first + SECOND;
            let within = times.iter().take_while(|at| **at < end).count();
            cases.resize(cases.len().max(within + 1), 0);
            cases[within] += 1;
            times = &times[within..];
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::Family;

    #[test]
    fn a_case_takes_in_a_second() {
        let flush = |tenths: u64, bits| Flushed {
            at: Nanos(tenths * 100_000_000),
            length: Length {
                family: Family::V4,
                bits,
            },
            entries: 1,
        };
        let flushed = [
            (0, 24),
            (1, 22),
            (9, 24),
            (10, 24),
            (11, 24),
            (19, 24),
            (40, 24),
        ];
        let spacing = Spacing::of(&flushed.map(|(at, bits)| flush(at, bits)));
        assert_eq!(spacing.cases, [0, 2, 1, 1]);
        assert_eq!(
            (
                spacing.at_least(2),
                spacing.at_least(3),
                spacing.at_least(7)
            ),
            (2, 1, 0)
        );
        assert_eq!(spacing.mean, Some(Nanos(666_666_666)));
        assert_eq!(
            spacing.of_a_length[..2],
            [100_000_000, 100_000_000].map(Nanos)
        );
        assert_eq!(Spacing::of(&[]), Spacing::default());
    }
}
