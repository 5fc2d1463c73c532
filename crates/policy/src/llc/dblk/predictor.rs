//! Prediction whether an instruction leaves the lines that it touches dead.

use crate::llc::signature::mix;

/// Skewed tables of saturating counters: a signature has a different place in each table, so that
/// two signatures that share one counter do not share the others.
pub struct Predictor {
    tables: Vec<[u8; TABLES]>,
    threshold: u8,
}

/// Number of tables.
const TABLES: usize = 3;
/// Counters of a table, as a power of two.
const INDEX_BITS: u32 = 12;
/// Bits of a counter.
const COUNTER_BITS: u32 = 2;
/// Highest value of a counter.
const MOST: u8 = (1 << COUNTER_BITS) - 1;

impl Predictor {
    /// Highest sum of the counters of a signature.
    pub const MOST: u8 = MOST * TABLES as u8;

    /// Makes a predictor without experience: all counters are 0.
    pub fn new(threshold: u8) -> Self {
        Self {
            tables: vec![[0; TABLES]; 1 << INDEX_BITS],
            threshold,
        }
    }

    /// Returns the index of a signature's counter in each table.
    #[inline]
    fn places(signature: u16) -> [usize; TABLES] {
        let hash = mix(u64::from(signature)) as usize;
        [hash, hash >> 20, hash >> 40].map(|part| part % (1 << INDEX_BITS))
    }

    /// Whether a line that this signature touched last is dead.
    #[inline]
    pub fn dead(&self, signature: u16) -> bool {
        let [a, b, c] = Self::places(signature);
        let sum = self.tables[a][0] + self.tables[b][1] + self.tables[c][2];
        sum >= self.threshold
    }

    /// Learns whether a line that this signature touched last was dead.
    pub fn learn(&mut self, signature: u16, dead: bool) {
        for (table, place) in Self::places(signature).into_iter().enumerate() {
            let counter = &mut self.tables[place][table];
            *counter = match dead {
                true => MOST.min(*counter + 1),
                false => counter.saturating_sub(1),
            };
        }
    }

    /// Bits of all counters.
    pub fn storage_bits(&self) -> u64 {
        (self.tables.len() * TABLES) as u64 * u64::from(COUNTER_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threshold of 8 needs all three counters, two of them at 3 and one at 2.
    #[test]
    fn it_takes_three_dead_lines_and_one_live_one() {
        let mut predictor = Predictor::new(8);
        for dead in [false, false, true] {
            predictor.learn(7, true);
            assert_eq!(predictor.dead(7), dead);
        }
        predictor.learn(7, true);
        predictor.learn(7, false);
        assert!(!predictor.dead(7), "three times 2 is 6");
        assert!(!predictor.dead(8));
    }

    #[test]
    fn storage_is_the_paper_s_three_kilobytes() {
        assert_eq!(Predictor::new(8).storage_bits(), 3 * 8192);
    }
}
