//! Times for updates whose file has none, such as RIPE RIS's Parquet: only their order is known.

use terrace_base::Nanos;

use crate::uniform::Uniform;
use crate::update::Update;

/// A model of times, over a day or another span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// One update after another, all at the same distance.
    #[default]
    Even,
    /// Bursts in seconds drawn at random. The size of a burst is log-normal, and its updates are
    /// spread over its second.
    ///
    /// What was fitted: the updates of each peer in each second that has any, in an MRT file of
    /// RIPE RIS of five minutes of 2016, over every other of its peers. On the peers that were left
    /// out counts a second have a dispersion of 77 in the median and the model's 28; the busiest
    /// second has 37 times the mean, and the model's 24: real updates are burstier still. Such
    /// files have whole seconds, so that nothing is known of what is within one.
    Bursty,
}

/// Mean and standard deviation of the natural logarithm of a burst's updates.
pub const BURST: (f64, f64) = (1.384, 1.25);
/// The most updates of a burst.
const MOST: f64 = 1e6;
const SECOND: Nanos = Nanos(1_000_000_000);

impl Model {
    /// Names of the models.
    pub const NAMES: [(&'static str, Self); 2] = [("even", Self::Even), ("bursty", Self::Bursty)];

    /// Returns the times of so many updates over a span, in order, from 0 on. `seed` decides random
    /// ones.
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
    let mut random = Uniform::new(seed);
    let mut times = Vec::with_capacity(updates);
    while times.len() < updates {
        let second = Nanos((random.draw() * span.0 as f64) as u64 / SECOND.0 * SECOND.0);
        let size = (BURST.0 + BURST.1 * normal(&mut random)).exp().round();
        let size = (size.clamp(1.0, MOST) as usize).min(updates - times.len());
        let gap = SECOND.0 / size as u64;
        times.extend((0..size as u64).map(|index| second + Nanos(gap * index)));
    }
    times.sort_unstable();
    times
}

/// Draws a number of the standard normal distribution (Box and Muller 1958).
fn normal(random: &mut Uniform) -> f64 {
    let radius = (-2.0 * (1.0 - random.draw()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.draw()).cos()
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
        assert!(times.is_sorted() && times.iter().all(|at| *at < HOUR));
        let mut seconds = std::collections::HashMap::new();
        for at in &times {
            *seconds.entry(at.0 / SECOND.0).or_insert(0u32) += 1;
        }
        // A burst has exp(1.384 + 1.25^2 / 2) = 8.7 updates in the mean: 4100 bursts in 3600
        // seconds.
        let busy = seconds.len();
        assert!((2300..2600).contains(&busy), "{busy} seconds have updates");
        let most = *seconds.values().max().unwrap();
        assert!((80..2000).contains(&most), "{most}");
        let late = times.iter().filter(|at| at.0 > HOUR.0 / 2).count();
        assert!((16_000..20_000).contains(&late), "{late}");
    }

    #[test]
    fn draws_are_of_the_standard_normal_distribution() {
        let mut random = Uniform::new(3);
        let drawn: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
        let mean = |of: &dyn Fn(f64) -> f64| drawn.iter().map(|x| of(*x)).sum::<f64>() / 20_000.0;
        assert!(mean(&|x| x).abs() < 0.03);
        assert!((mean(&|x| x * x) - 1.0).abs() < 0.04);
        assert!((mean(&|x| f64::from(x.abs() < 1.0)) - 0.683).abs() < 0.015);
    }
}
