//! Prediction of what becomes of the lines that an instruction touches: that they are dead
//! (`dblk`), or get no more writes (`last_write`).

use super::signature::mix;

/// Skewed tables of saturating counters: a signature has a different place in each table, so that
/// two signatures that share one counter do not share the others.
pub struct Skewed {
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

impl Skewed {
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

    /// Whether what is predicted comes true of a line that this signature touched last.
    #[inline]
    pub fn predicts(&self, signature: u16) -> bool {
        let [a, b, c] = Self::places(signature);
        let sum = self.tables[a][0] + self.tables[b][1] + self.tables[c][2];
        sum >= self.threshold
    }

    /// Learns whether it came true of a line that this signature touched last.
    pub fn learn(&mut self, signature: u16, came_true: bool) {
        for (table, place) in Self::places(signature).into_iter().enumerate() {
            let counter = &mut self.tables[place][table];
            *counter = match came_true {
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
    fn it_takes_three_that_come_true_and_one_that_does_not() {
        let mut skewed = Skewed::new(8);
        for predicted in [false, false, true] {
            skewed.learn(7, true);
            assert_eq!(skewed.predicts(7), predicted);
        }
        skewed.learn(7, true);
        skewed.learn(7, false);
        assert!(!skewed.predicts(7), "three times 2 is 6");
        assert!(!skewed.predicts(8));
    }

    #[test]
    fn storage_is_the_paper_s_three_kilobytes() {
        assert_eq!(Skewed::new(8).storage_bits(), 3 * 8192);
    }
}
