//! Decision on the static policy of the next epoch: the one with the least traffic.

use super::plan::Counts;
use super::settings::AriSettings;

/// Averages of each candidate over past epochs.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Decaying averages of the counts of an epoch.
    averages: Vec<Counts>,
    settings: AriSettings,
}

impl Decision {
    /// Starts with about `candidates` candidates without a past.
    pub fn new(candidates: usize, settings: &AriSettings) -> Self {
        Self {
            averages: vec![Counts::default(); candidates],
            settings: *settings,
        }
    }

    /// Adds an epoch's counts to the averages (Fedorov 2016, 2.3).
    pub fn learn(&mut self, epoch: &[Counts]) {
        for (average, counts) in self.averages.iter_mut().zip(epoch) {
            *average = average.mixed(*counts, self.settings.recent);
        }
    }

    /// Returns the best of the first `among` candidates: the lowest weighted sum of misses and
    /// write-backs among those whose misses do not exceed those of candidate 0, LRU, by too much.
    /// Among equals it is `current`, or else the first: nothing changes if all are alike, or no
    /// sampled set had a request.
    pub fn best(&self, among: usize, current: Option<usize>) -> usize {
        let most = match self.settings.slack {
            f64::INFINITY => f64::INFINITY,
            slack => self.averages[0].misses * (1.0 + slack),
        };
        let preferred = current.into_iter().chain(0..among);
        let allowed = preferred.filter(|&at| at < among && self.averages[at].misses <= most);
        let least = allowed.min_by(|&one, &other| self.sum(one).total_cmp(&self.sum(other)));
        least.unwrap_or_default()
    }

    /// Gives a candidate the averages of another.
    pub fn inherit(&mut self, heir: usize, from: usize) {
        self.averages[heir] = self.averages[from];
    }

    fn sum(&self, candidate: usize) -> f64 {
        let Counts { misses, writebacks } = self.averages[candidate];
        self.settings.miss_weight * misses + self.settings.writeback_weight * writebacks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Geometry;
    use crate::params::Params;

    fn decision(text: &str, epochs: &[[(u32, u32); 3]]) -> Decision {
        let geometry = Geometry { sets: 4, ways: 16 };
        let settings = AriSettings::take(&mut Params::parse(text).unwrap(), geometry).unwrap();
        let mut decision = Decision::new(3, &settings);
        for epoch in epochs {
            decision.learn(&epoch.map(|(misses, writebacks)| Counts {
                misses: misses.into(),
                writebacks: writebacks.into(),
            }));
        }
        decision
    }

    #[test]
    fn the_lowest_sum_wins_unless_it_misses_too_often() {
        // By sums 140, 136 and 120; but 107 misses are more than 100 and a sixteenth.
        let epoch = [(100, 40), (106, 30), (107, 13)];
        assert_eq!(decision("", &[epoch]).best(3, Some(0)), 1);
        assert_eq!(decision("slack=0.07", &[epoch]).best(3, Some(0)), 2);
        assert_eq!(decision("slack=inf", &[epoch]).best(3, Some(0)), 2);
        assert_eq!(decision("wwb=0", &[epoch]).best(3, Some(1)), 0);
        assert_eq!(decision("", &[epoch]).best(1, Some(2)), 0);
    }

    #[test]
    fn a_lead_takes_epochs_to_be_made_up() {
        let (first, then) = (
            [(100, 40), (100, 24), (0, 99)],
            [(100, 40), (100, 41), (0, 199)],
        );
        let after = |epochs: usize| {
            let history: Vec<_> = [first].into_iter().chain(vec![then; epochs]).collect();
            decision("", &history).best(2, Some(1))
        };
        // By how much the second leads: (15/16)^n of what it led by, and less by the rest.
        assert_eq!([after(0), after(10), after(11)], [1, 1, 0]);
        let forgets = decision("recent=1", &[first, then]);
        assert_eq!(forgets.best(2, Some(1)), 0);
    }

    #[test]
    fn among_equals_nothing_changes() {
        let same = [(7, 2), (7, 2), (2, 7)];
        for current in 0..3 {
            assert_eq!(decision("", &[same]).best(3, Some(current)), current);
            assert_eq!(decision("", &[[(0, 0); 3]]).best(3, Some(current)), current);
        }
        assert_eq!(decision("", &[same]).best(3, None), 0);
    }
}
