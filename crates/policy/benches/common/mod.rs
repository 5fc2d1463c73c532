//! Helpers of the benchmarks.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::Rng;

/// Draws a number in [0, 1).
pub fn unit(random: &mut SplitMix64) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Returns the entries that the command line names, or all if it names none.
pub fn wanted<E>(registry: &'static [E], name: fn(&E) -> &'static str) -> Vec<&'static E> {
    // Cargo passes `--bench` on.
    let names = std::env::args().skip(1);
    let names: Vec<String> = names.filter(|name| !name.starts_with('-')).collect();
    let is_wanted = |entry: &&E| names.is_empty() || names.iter().any(|n| n == name(entry));
    registry.iter().filter(is_wanted).collect()
}
