//! Reuse of the lines of each class, and the value of keeping them.

use super::class::{AGES, Class};

/// One, in the unit of fractions.
const ONE: u64 = 256;

/// Weight of a touch in a count: fine enough to subtract an eighth.
const TOUCH: u64 = 16;

/// Bits of a count: an epoch of 2048 touches adds 2^15 to all counts together, which accumulate to
/// 2^18.
const COUNT_BITS: u64 = 19;

/// Bits of a value.
const VALUE_BITS: u64 = u32::BITS as u64;

/// Bits of a probability.
const CHANCE_BITS: u64 = 9;

/// Binary places of a value.
const PLACES: u32 = 16;

/// Ends of the touches of a class: the next touch by age, or none while they were remembered.
#[derive(Clone, Copy)]
struct Ends {
    reads: [u64; AGES],
    writes: [u64; AGES],
    never: u64,
}

/// Decaying counts of the ends of touches, and the values computed from them.
pub struct Reuse {
    ends: [Ends; Class::COUNT],
    /// Probability that a line of a class is written again, times [`ONE`].
    rewritten: [u64; Class::COUNT],
    /// Results of [`Self::value`] for each class and age, clean and dirty.
    values: Vec<[u32; 2]>,
    /// Number of misses that a write-back counts for, times [`ONE`].
    writeback: u64,
    /// Touches in an epoch, and those left in this one.
    epoch: u64,
    left: u64,
}

impl Reuse {
    /// Starts without counts: all values are equal.
    pub fn new(epoch: u64, writeback: f64) -> Self {
        let none = Ends {
            reads: [0; AGES],
            writes: [0; AGES],
            never: 0,
        };
        Self {
            ends: [none; Class::COUNT],
            rewritten: [0; Class::COUNT],
            values: vec![[0; 2]; Class::COUNT * AGES],
            writeback: (writeback * ONE as f64).round() as u64,
            epoch,
            left: epoch,
        }
    }

    /// Counts the next touch of a line of this class and age.
    pub fn touched(&mut self, class: Class, age: usize, writes: bool) {
        let ends = &mut self.ends[class.index()];
        let counts = match writes {
            true => &mut ends.writes,
            false => &mut ends.reads,
        };
        counts[age] += TOUCH;
    }

    /// Counts a line of this class that was not touched while it was remembered.
    pub fn ended(&mut self, class: Class) {
        self.ends[class.index()].never += TOUCH;
    }

    /// Counts a touch of a sampled set, and computes the values anew at the end of an epoch.
    pub fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.epoch;
            self.learn();
        }
    }

    /// Returns the value of keeping a line: the misses saved in a unit of time, as a number for
    /// comparison only.
    #[inline]
    pub fn value(&self, class: Class, age: usize, dirty: bool) -> u32 {
        self.values[class.index() * AGES + age][usize::from(dirty)]
    }

    #[cold]
    fn learn(&mut self) {
        self.rewritten = std::array::from_fn(|class| self.ends[class].rewritten(&self.rewritten));
        let values = self.values.chunks_exact_mut(AGES);
        for (ends, values) in self.ends.iter().zip(values) {
            let clean = ends.values(|_| ONE, 0);
            let read = |age| {
                let then = Class::hit(age, false).index();
                ONE + self.writeback * self.rewritten[then] / ONE
            };
            let dirty = ends.values(read, self.writeback);
            for (value, both) in values.iter_mut().zip(clean.into_iter().zip(dirty)) {
                *value = both.into();
            }
        }
        self.ends.iter_mut().for_each(Ends::decay);
    }

    /// Counts, values and probabilities.
    pub fn storage_bits(&self) -> u64 {
        let counts = 2 * AGES as u64 * COUNT_BITS + COUNT_BITS;
        let values = 2 * AGES as u64 * VALUE_BITS;
        Class::COUNT as u64 * (counts + values + CHANCE_BITS)
    }
}

impl Ends {
    fn all(&self) -> u64 {
        self.reads.iter().chain(&self.writes).sum::<u64>() + self.never
    }

    /// Returns the probability that a line is written again: in the next touch, or later if that
    /// one reads.
    fn rewritten(&self, of: &[u64; Class::COUNT]) -> u64 {
        let later = |(age, reads)| reads * of[Class::hit(age, false).index()];
        let later: u64 = self.reads.into_iter().enumerate().map(later).sum();
        (self.writes.iter().sum::<u64>() * ONE + later) / self.all().max(1)
    }

    /// Returns for each age the highest density of any horizon: the saving of the next touch, if it
    /// comes before the horizon, divided by the time until the touch or the horizon.
    fn values(&self, read: impl Fn(usize) -> u64, write: u64) -> [u32; AGES] {
        let saved = |age| read(age) * self.reads[age] + write * self.writes[age];
        // Later horizons add time and no gain.
        let Some(last) = (0..AGES).rev().find(|&age| saved(age) > 0) else {
            return [0; AGES];
        };
        let mut waiting = [self.never; AGES + 1];
        for age in (0..AGES).rev() {
            waiting[age] = waiting[age + 1] + self.reads[age] + self.writes[age];
        }
        std::array::from_fn(|age| {
            // In eighths: half of this age has passed, and with it half of its touches.
            let mut gain = 4 * saved(age);
            let mut time = waiting[age] + 3 * waiting[age + 1];
            let mut best = (gain, time.max(1));
            for horizon in age + 1..=last {
                gain += 8 * saved(horizon);
                time += 4 * (waiting[horizon] + waiting[horizon + 1]);
                if gain * best.1 > best.0 * time {
                    best = (gain, time);
                }
            }
            ((best.0 << PLACES) / best.1) as u32
        })
    }

    fn decay(&mut self) {
        let counts = self.reads.iter_mut().chain(&mut self.writes);
        for count in counts.chain([&mut self.never]) {
            *count -= count.div_ceil(8);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::llc::Kind;
    use crate::llc::testing::request;

    fn new(writes: bool) -> Class {
        let kind = if writes { Kind::WriteBack } else { Kind::Load };
        Class::new(&request(0, kind))
    }

    /// Misses saved in a unit of time.
    fn value(reuse: &Reuse, class: Class, age: usize, dirty: bool) -> f64 {
        f64::from(reuse.value(class, age, dirty)) / (ONE << PLACES) as f64
    }

    /// Half of the new lines are read again at age 10, the others never. To keep two of them until
    /// then takes 10 units each, and the one that is read stays for half of its last: less the half
    /// unit in which they became as old as they are.
    #[test]
    fn what_is_saved_by_the_time_that_it_takes() {
        let mut reuse = Reuse::new(2, 1.5);
        for _ in 0..8 {
            reuse.touched(new(false), 10, false);
            reuse.count();
            reuse.ended(new(false));
            reuse.count();
        }
        let expected = |waited: f64| 1.0 / (2.0 * (10.0 - waited) + 1.5);
        for (age, expected) in [(0, expected(0.5)), (7, expected(7.5)), (11, 0.0)] {
            let found = value(&reuse, new(false), age, false);
            assert!((found - expected).abs() < 1e-4, "{age}: {found} {expected}");
        }
        assert_eq!(value(&reuse, new(true), 0, false), 0.0, "another class");
    }

    /// New lines that are written are read at age 4, and then written at age 20: what is read saves
    /// a miss, and the chance that no write-back is needed besides. Clean lines save but the miss.
    #[test]
    fn a_dirty_line_is_worth_the_write_back_that_comes_after_the_read() {
        let mut reuse = Reuse::new(2, 1.5);
        for _ in 0..32 {
            reuse.touched(new(true), 4, false);
            reuse.count();
            reuse.touched(Class::hit(4, false), 20, true);
            reuse.count();
        }
        let of = |class, dirty| value(&reuse, class, 0, dirty);
        let (clean, dirty) = (of(new(true), false), of(new(true), true));
        assert!((clean - 1.0 / 4.0).abs() < 1e-4, "{clean}");
        assert!((dirty - 2.5 / 4.0).abs() < 1e-4, "{dirty}");
        let read = Class::hit(4, false);
        assert_eq!(
            of(read, false),
            0.0,
            "nothing is saved where a clean line is written"
        );
        assert!((of(read, true) - 1.5 / 20.0).abs() < 1e-4);
    }

    #[test]
    fn counts_fade_to_nothing() {
        let mut reuse = Reuse::new(1, 1.5);
        reuse.touched(new(false), 3, false);
        for _ in 0..40 {
            reuse.count();
        }
        assert_eq!(value(&reuse, new(false), 0, false), 0.0);
    }

    proptest! {
        /// However lines are touched, nothing overflows with the longest epoch and the highest
        /// weight, and a line is worth no less where it is dirty.
        #[test]
        fn values_stay_in_range(
            touches in prop::collection::vec((0..6usize, any::<bool>(), 0..AGES, any::<bool>()), 1..60),
        ) {
            let mut reuse = Reuse::new(1, 4.0);
            for (interval, wrote, age, writes) in touches {
                let class = if interval == 0 { new(wrote) } else { Class::hit(1 << interval, wrote) };
                for _ in 0..1 << 13 {
                    reuse.touched(class, age, writes);
                }
                reuse.count();
                for age in 0..AGES {
                    prop_assert!(reuse.value(class, age, true) >= reuse.value(class, age, false));
                }
            }
        }
    }
}
