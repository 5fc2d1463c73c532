//! Times for updates whose file has none, such as RIPE RIS's Parquet: only their order is known.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use terrace_base::Nanos;

use crate::update::Update;

/// A model of times, over a day or another span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// One update after another, all at the same distance.
    #[default]
    Even,
    /// Bursts begin at random times. A burst has 100 updates in the mean, of a geometric distribution, which
    /// arrive at 1000 a second: a session that is reset or a link that fails announces many routes at once.
    Bursty,
}

/// Updates of a burst in the mean.
const BURST: f64 = 100.0;
/// Time between two updates of a burst.
const GAP: Nanos = Nanos(1_000_000);

impl Model {
    /// Names of the models.
    pub const NAMES: [(&'static str, Self); 2] = [("even", Self::Even), ("bursty", Self::Bursty)];

    /// Returns the times of so many updates over a span, in order, from 0 on. `seed` decides random ones.
    fn times(self, updates: usize, span: Nanos, seed: u64) -> Vec<Nanos> {
        match self {
            Self::Even => {
                let at = |index: usize| u128::from(span.0) * index as u128 / updates as u128;
                (0..updates).map(|index| Nanos(at(index) as u64)).collect()
            }
            Self::Bursty => bursts(updates, span, seed),
        }
    }
}

fn bursts(updates: usize, span: Nanos, seed: u64) -> Vec<Nanos> {
    let mut random = SplitMix64::seed_from_u64(seed);
    let mut uniform = || (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut times = Vec::with_capacity(updates);
    while times.len() < updates {
        let begin = Nanos((uniform() * span.0 as f64) as u64);
        let size = 1 + (uniform().ln() / (1.0 - 1.0 / BURST).ln()).min(1e6) as usize;
        let size = size.min(updates - times.len());
        times.extend((0..size as u64).map(|index| begin + GAP * index));
    }
    times.sort_unstable();
    times
}

/// Returns the updates with their times, and whether a model made them: the file's, if it has any.
pub fn timed(updates: &[Update], model: Model, span: Nanos, seed: u64) -> (bool, Vec<Nanos>) {
    let known: Option<Vec<Nanos>> = updates.iter().map(|update| update.at).collect();
    match known {
        Some(times) => (false, times),
        None => (true, model.times(updates.len(), span, seed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Nanos = Nanos(3_600_000_000_000);

    #[test]
    fn even_times_have_the_same_distance() {
        let times = Model::Even.times(4, Nanos(100), 1);
        assert_eq!(times, [0, 25, 50, 75].map(Nanos));
    }

    #[test]
    fn bursts_are_dense_and_spread_over_the_span() {
        let times = Model::Bursty.times(36_000, HOUR, 1);
        assert_eq!(times.len(), 36_000);
        assert!(times.is_sorted());
        let mut seconds = std::collections::HashMap::new();
        for at in &times {
            *seconds.entry(at.0 / 1_000_000_000).or_insert(0u32) += 1;
        }
        assert!(
            (300..420).contains(&seconds.len()),
            "10 % of seconds: {}",
            seconds.len()
        );
        let late = times.iter().filter(|at| at.0 > HOUR.0 / 2).count();
        assert!((14_000..22_000).contains(&late), "{late}");
    }
}
