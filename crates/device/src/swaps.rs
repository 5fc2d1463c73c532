//! Randomised wear levelling: a line that is written changes places with any other, now and then.
//!
//! Seznec, "A phase change memory as a secure main memory", IEEE Computer Architecture Letters
//! 9(1), 2010: a table says where everything lies, and once in some writes, what is being written
//! and something that is drawn at random change places, at the cost of two writes. The paper moves
//! regions; here it is single lines. What is written often is moved often, so it works within a
//! short run, where [start-gap](crate::start_gap) has to visit the whole memory first.
//!
//! Each write is followed by a swap with the same chance. A swap after every 200th write would move
//! 8 lines of a page of 64 that is written over and over, because 8 divides both.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Mean writes between two swaps, each of two writes, for 1 % more writes, as with start-gap.
pub const PSI: u32 = 200;

/// The mapping of lines to as many places.
#[derive(Clone, Debug)]
pub struct Swaps {
    /// The place of each line.
    places: Vec<u32>,
    random: SplitMix64,
    /// Mean writes between two swaps.
    psi: u32,
    /// Writes until the next swap.
    left: u32,
    /// Writes of lines.
    writes: u64,
}

impl Swaps {
    /// Places `lines` lines in order. A write is followed by a swap with the chance of one in
    /// `psi`; 0 counts as 1. `seed` decides the swaps.
    pub fn new(lines: u32, psi: u32, seed: u64) -> Self {
        let mut swaps = Self {
            places: (0..lines).collect(),
            random: SplitMix64::seed_from_u64(seed),
            psi: psi.max(1),
            left: 0,
            writes: 0,
        };
        swaps.left = swaps.distance();
        swaps
    }

    /// Counts a write of `line`, which is below the number of lines. Returns its place, and whether
    /// it is to be [swapped](Swaps::swap).
    pub fn write(&mut self, line: u64) -> (u64, bool) {
        self.writes += 1;
        self.left -= 1;
        let is_due = self.left == 0;
        if is_due {
            self.left = self.distance();
        }
        (self.place(line), is_due)
    }

    /// Returns the swaps that follow the writes until now, on average.
    pub fn swaps(&self) -> f64 {
        self.writes as f64 / f64::from(self.psi)
    }

    /// Forgets the writes until now; lines stay where they are.
    pub fn renew(&mut self) {
        self.writes = 0;
    }

    /// Draws the number of writes until the next swap, at least 1.
    fn distance(&mut self) -> u32 {
        // 53 bits of a draw, above 0 and up to 1.
        let drawn = ((self.random.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        let chance = 1.0 / f64::from(self.psi);
        // Writes without a swap are geometric; where each has one, this divides by infinity.
        let without = drawn.ln() / (-chance).ln_1p();
        (without as u32).saturating_add(1)
    }

    /// Returns the place of `line`, which is below the number of lines.
    pub fn place(&self, line: u64) -> u64 {
        self.places[line as usize].into()
    }

    /// Lets `line` and another that is drawn change places, and returns that; `None` if it is drawn
    /// itself.
    pub fn swap(&mut self, line: u64) -> Option<u64> {
        // The high half of a product: of 2^64 draws, a line more or less is no matter.
        let lines = self.places.len() as u128;
        let other = ((u128::from(self.random.next_u64()) * lines) >> 64) as u64;
        self.places.swap(line as usize, other as usize);
        (other != line).then_some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hot_line_has_been_everywhere() {
        let mut map = Swaps::new(10, 200, 1);
        let mut held = [0; 10];
        for _ in 0..1000 {
            held[map.place(3) as usize] += 1;
            map.swap(3);
            let mut places: Vec<u64> = (0..10).map(|line| map.place(line)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..10).collect::<Vec<_>>(), "a bijection");
        }
        assert!(
            held.iter().all(|times| (50..150).contains(times)),
            "{held:?}"
        );
    }

    /// A geometric distribution has the mean psi, the variance psi * (psi - 1), and exceeds psi in
    /// (1 - 1 / psi)^psi of all draws.
    #[test]
    fn distances_are_those_of_swaps_with_the_same_chance_at_each_write() {
        let draws = |psi| -> Vec<f64> {
            let mut map = Swaps::new(1, psi, 1);
            (0..100_000).map(|_| map.distance().into()).collect()
        };
        assert_eq!(
            (draws(1), draws(0)),
            (vec![1.0; 100_000], vec![1.0; 100_000])
        );
        let drawn = draws(200);
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let variance = drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 1e5;
        let longer = drawn.iter().filter(|one| **one > 200.0).count() as f64 / 1e5;
        // Five standard deviations of each.
        assert!(
            (mean - 200.0).abs() < 5.0 * 200.0 / 1e5_f64.sqrt(),
            "{mean}"
        );
        assert!(
            (variance / (200.0 * 199.0) - 1.0).abs() < 5.0 * (8.0 / 1e5_f64).sqrt(),
            "{variance}"
        );
        assert!((longer - 0.995_f64.powi(200)).abs() < 0.0077, "{longer}");
        assert!(drawn.iter().all(|one| *one >= 1.0));
    }

    #[test]
    fn a_line_that_draws_itself_stays() {
        assert_eq!(Swaps::new(1, 1, 7).swap(0), None);
    }
}
