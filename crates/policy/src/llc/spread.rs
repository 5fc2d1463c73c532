//! Evenly spread sets of a cache, from which a policy learns for all sets.

/// Evenly spread sampled sets.
///
/// The sets are divided into groups of equal length, one for each sampled set. Of group g the set g
/// mod length is sampled: a program that goes through memory in strides of a power of two would
/// miss sets at equal distances.
#[derive(Clone, Debug)]
pub struct Spread {
    /// Sample number of each set, or [`NONE`].
    samples: Vec<u32>,
    count: usize,
}

/// No sample.
const NONE: u32 = u32::MAX;

impl Spread {
    /// Samples `count` of `sets` sets, or all if there are no more.
    pub fn new(sets: usize, count: usize) -> Self {
        let count = count.min(sets);
        let group = sets / count;
        let mut samples = vec![NONE; sets];
        for sample in 0..count {
            samples[sample * group + sample % group] = sample as u32;
        }
        Self { samples, count }
    }

    /// Returns the sample number of a set, if it is sampled.
    #[inline]
    pub fn index(&self, set: usize) -> Option<usize> {
        let sample = self.samples[set];
        (sample != NONE).then_some(sample as usize)
    }

    /// Number of sampled sets.
    pub fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(sets: usize, count: usize) -> Vec<usize> {
        let spread = Spread::new(sets, count);
        (0..sets)
            .filter(|set| spread.index(*set).is_some())
            .collect()
    }

    #[test]
    fn one_of_each_group() {
        assert_eq!(spread(16, 4), [0, 5, 10, 15]);
        assert_eq!(
            spread(12, 5),
            [0, 3, 4, 7, 8],
            "the last two are in no group"
        );
        assert_eq!(spread(3, 64), [0, 1, 2]);
    }

    #[test]
    fn as_many_as_asked_for() {
        for (sets, count) in [(1, 1), (2048, 64), (96, 64), (2048, 32), (7, 7), (100, 3)] {
            let set = Spread::new(sets, count);
            assert_eq!(spread(sets, count).len(), count);
            let indices: Vec<usize> = (0..sets).filter_map(|at| set.index(at)).collect();
            assert_eq!(indices, (0..set.count()).collect::<Vec<usize>>());
        }
    }
}
