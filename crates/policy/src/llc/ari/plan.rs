//! The static policies sampled in each phase, and conclusions about those that are not.

use super::partitioning::Partitioning;
use super::settings::{AriSettings, Insertions};
use crate::llc::nhm::Insertion;

/// Counts of a policy in a phase or an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Misses.
    pub misses: f64,
    /// Evictions of dirty lines.
    pub writebacks: f64,
}

impl Counts {
    /// Returns the average of both, in which the other has this weight.
    pub fn mixed(self, other: Self, weight: f64) -> Self {
        Self {
            misses: (1.0 - weight) * self.misses + weight * other.misses,
            writebacks: (1.0 - weight) * self.writebacks + weight * other.writebacks,
        }
    }
}

/// The static policies to choose from, and those sampled in each phase of an epoch.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Candidates, LRU first: groups of one insertion, from all ways in the high-hit partition down
    /// to none; in the `p + 1` scheme one group and the flipped policy.
    pub candidates: Vec<Partitioning>,
    /// Partitions in a group.
    group: usize,
    /// Requests of each phase, and the candidate of each sample.
    phases: Vec<(u64, Vec<usize>)>,
}

impl Plan {
    /// Makes the plan of these settings.
    pub fn new(settings: &AriSettings) -> Self {
        let (group, epoch) = (settings.partitions, settings.epoch);
        let candidates = candidates(settings);
        let phases = match settings.half {
            false => vec![(epoch, (0..candidates.len()).collect())],
            true => {
                let groups = (0..candidates.len()).step_by(group);
                let even = (0..group).step_by(2);
                // Of an odd number of partitions the even ones are one more, so LRU fills the gap.
                let odd = (0..group % 2).chain((1..group).step_by(2));
                let first = groups
                    .clone()
                    .flat_map(|of| even.clone().map(move |at| of + at));
                let second = groups.flat_map(|of| odd.clone().map(move |at| of + at));
                vec![
                    (epoch / 2, first.collect()),
                    (epoch - epoch / 2, second.collect()),
                ]
            }
        };
        Self {
            candidates,
            group,
            phases,
        }
    }

    /// Number of phases in an epoch.
    pub fn phases(&self) -> usize {
        self.phases.len()
    }

    /// Requests in a phase.
    pub fn length(&self, phase: usize) -> u64 {
        self.phases[phase].0
    }

    /// Returns the partitioning of each sample in a phase.
    pub fn followed(&self, phase: usize) -> impl Iterator<Item = Partitioning> {
        self.phases[phase].1.iter().map(|&of| self.candidates[of])
    }

    /// Adds the counts of the samples in a phase to those of every candidate: a candidate that no
    /// sample followed gets the mean of its neighbours (Fedorov 2016, 2.5.4, item 5).
    pub fn spread(&self, phase: usize, counted: &[Counts], epoch: &mut [Counts]) {
        let followed = &self.phases[phase].1;
        let of = |candidate| {
            let sample = followed.iter().position(|&of| of == candidate);
            sample.map(|sample| counted[sample])
        };
        for (candidate, sum) in epoch.iter_mut().enumerate() {
            let counts = of(candidate).unwrap_or_else(|| {
                let in_group = candidate % self.group;
                let before = (in_group > 0).then(|| of(candidate - 1)).flatten();
                let after = (in_group + 1 < self.group)
                    .then(|| of(candidate + 1))
                    .flatten();
                middle(before, after)
            });
            sum.misses += counts.misses;
            sum.writebacks += counts.writebacks;
        }
    }
}

fn middle(before: Option<Counts>, after: Option<Counts>) -> Counts {
    match (before, after) {
        (Some(before), Some(after)) => before.mixed(after, 0.5),
        (before, after) => before.or(after).unwrap_or_default(),
    }
}

fn candidates(settings: &AriSettings) -> Vec<Partitioning> {
    let group = |insertion: fn(usize) -> Insertion| {
        let (ways, steps) = (settings.geometry.ways, settings.partitions - 1);
        (0..=steps).map(move |step| Partitioning {
            high: (steps - step) * ways / steps,
            insertion: insertion(step),
        })
    };
    let mru = group(|_| Insertion::Mru);
    match settings.insertions {
        Insertions::Mru => mru.collect(),
        Insertions::Both => mru.chain(group(|_| Insertion::Low)).collect(),
        // LRU is always sampled, because the others are compared with it.
        Insertions::Low => group(|step| alternately(step != 0)).collect(),
        Insertions::Alternating => {
            let lru = Partitioning::lru(settings.geometry.ways);
            let group = group(|step| alternately(step % 2 == 1));
            group.chain([lru.flipped()]).collect()
        }
    }
}

fn alternately(low: bool) -> Insertion {
    match low {
        true => Insertion::Low,
        false => Insertion::Mru,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::llc::Geometry;
    use crate::params::Params;

    fn plan(ways: usize, text: &str) -> Plan {
        let geometry = Geometry { sets: 64, ways };
        Plan::new(&AriSettings::take(&mut Params::parse(text).unwrap(), geometry).unwrap())
    }

    fn names(followed: impl Iterator<Item = Partitioning>) -> Vec<String> {
        let name = |followed: Partitioning| format!("{}{:?}", followed.high, followed.insertion);
        followed.map(name).collect()
    }

    /// The lists of Fedorov 2016, 2.3 and 2.5.3, from their ends.
    #[test]
    fn static_policies_are_those_of_the_paper() {
        for (text, expected) in [
            ("p=3", "16Mru 8Mru 0Mru 16Low 8Low 0Low"),
            ("p=3,insert=mru", "16Mru 8Mru 0Mru"),
            ("p=3,insert=lh", "16Mru 8Low 0Low"),
            (
                "insert=p+1",
                "16Mru 14Low 12Mru 10Low 8Mru 6Low 4Mru 2Low 0Mru 16Low",
            ),
        ] {
            assert_eq!(names(plan(16, text).followed(0)).join(" "), expected);
        }
    }

    #[test]
    fn any_associativity_has_partitions_from_lru_to_none() {
        for (ways, text, highs) in [
            (1, "", &[1, 0][..]),
            (3, "p=4", &[3, 2, 1, 0]),
            (3, "p=3", &[3, 1, 0]),
            (12, "p=5", &[12, 9, 6, 3, 0]),
            (12, "", &[12, 10, 8, 6, 4, 2, 0]),
        ] {
            let plan = plan(ways, &format!("insert=mru,{text}"));
            let found: Vec<_> = plan.candidates.iter().map(|other| other.high).collect();
            assert_eq!(found, highs);
        }
    }

    /// Fedorov 2016, 2.5.4, item 5.
    #[test]
    fn half_an_epoch_tells_of_neighbours() {
        let plan = plan(16, "p=5,half=on,insert=mru,epoch=7");
        assert_eq!(names(plan.followed(0)), ["16Mru", "8Mru", "0Mru"]);
        assert_eq!(names(plan.followed(1)), ["16Mru", "12Mru", "4Mru"]);
        assert_eq!([plan.length(0), plan.length(1)], [3, 4]);
        let counts = |of: [u32; 3]| {
            of.map(|misses| Counts {
                misses: misses.into(),
                writebacks: 0.0,
            })
        };
        let mut epoch = [Counts::default(); 5];
        plan.spread(0, &counts([10, 20, 40]), &mut epoch);
        assert_eq!(epoch.map(|of| of.misses), [10.0, 15.0, 20.0, 30.0, 40.0]);
        plan.spread(1, &counts([100, 200, 600]), &mut epoch);
        let both = [110.0, 215.0, 420.0, 630.0, 640.0];
        assert_eq!(epoch.map(|of| of.misses), both);
    }
}
