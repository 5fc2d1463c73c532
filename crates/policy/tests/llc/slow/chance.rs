//! Draws from a seed, written once more.

/// SplitMix64 from the reference implementation's text: a counter in steps of the golden gamma,
/// its value mixed.
pub struct Chance {
    pub seed: u64,
    pub draws: u64,
}

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self { seed, draws: 0 }
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.draws += 1;
        let mut z = self
            .seed
            .wrapping_add(self.draws.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ z >> 31) % bound as u64) as usize
    }
}

/// Sets drawn one by one: each from those that are left, whose first takes the place of the drawn.
pub fn drawn_sets(sets: usize, count: usize, seed: u64) -> Vec<usize> {
    let mut chance = Chance::new(seed);
    let mut left: Vec<usize> = (0..sets).collect();
    let mut drawn = Vec::new();
    for _ in 0..count {
        let at = chance.below(left.len());
        left.swap(0, at);
        drawn.push(left.remove(0));
    }
    drawn
}
