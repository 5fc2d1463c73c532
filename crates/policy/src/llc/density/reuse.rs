//! When lines of a class are touched again, and what a place in the cache is worth to them.

use super::class::Class;

/// Ages that are told apart; the highest stands for all above.
pub const AGES: usize = 64;

/// One, of what is counted in fractions.
const ONE: u64 = 256;

/// What a touch adds to a count: fine enough that an eighth can be taken off.
const TOUCH: u64 = 16;

/// Bits of a count: an epoch adds 2^14 in all at its default, of which 2^17 pile up.
const COUNT_BITS: u64 = 18;

/// Bits of a value.
const VALUE_BITS: u64 = 16;

/// How the touches of a class ended: by age in the next touch, or not while they were remembered.
#[derive(Clone, Copy)]
struct Ends {
    reads: [u64; AGES],
    writes: [u64; AGES],
    never: u64,
}

/// Decaying counts of how touches ended, and the values that follow from them.
pub struct Reuse {
    ends: [Ends; Class::COUNT],
    /// The chance that a line of a class is written again, times [`ONE`].
    rewritten: [u64; Class::COUNT],
    /// Of each class and age, clean and dirty.
    values: Vec<[u32; 2]>,
    /// Misses that a write-back counts for, times [`ONE`].
    writeback: u64,
    /// Touches in an epoch, and how many are left of this one.
    epoch: u64,
    left: u64,
}

impl Reuse {
    /// Of which nothing is known: all values are equal.
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

    /// A line of this class and age was touched.
    pub fn touched(&mut self, class: Class, age: usize, writes: bool) {
        let ends = &mut self.ends[class.index()];
        let counts = match writes {
            true => &mut ends.writes,
            false => &mut ends.reads,
        };
        counts[age] += TOUCH;
    }

    /// A line of this class was not touched while it was remembered.
    pub fn ended(&mut self, class: Class) {
        self.ends[class.index()].never += TOUCH;
    }

    /// A touch has been counted: at the end of an epoch values are learnt anew.
    pub fn count(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.left = self.epoch;
            self.learn();
        }
    }

    /// What it is worth that a line stays: what it saves in a unit of time.
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

    /// Counts and values.
    pub fn storage_bits(&self) -> u64 {
        let counts = 2 * AGES as u64 * COUNT_BITS + COUNT_BITS;
        Class::COUNT as u64 * (counts + 2 * AGES as u64 * VALUE_BITS)
    }
}

impl Ends {
    fn all(&self) -> u64 {
        self.reads.iter().chain(&self.writes).sum::<u64>() + self.never
    }

    /// The chance that a line is written again: in the next touch, or after it if that reads.
    fn rewritten(&self, of: &[u64; Class::COUNT]) -> u64 {
        let later = |(age, reads)| reads * of[Class::hit(age, false).index()];
        let later: u64 = self.reads.into_iter().enumerate().map(later).sum();
        (self.writes.iter().sum::<u64>() * ONE + later) / self.all().max(1)
    }

    /// For each age the highest density that any horizon gives: what the next touch saves, if it
    /// comes until then, by the time that the line lies there until the touch or the horizon.
    fn values(&self, read: impl Fn(usize) -> u64, write: u64) -> [u32; AGES] {
        let mut waiting = [self.never; AGES + 1];
        for age in (0..AGES).rev() {
            waiting[age] = waiting[age + 1] + self.reads[age] + self.writes[age];
        }
        let saved = |age| read(age) * self.reads[age] + write * self.writes[age];
        std::array::from_fn(|age| {
            // In eighths. Half of this age has passed, and with it half of the touches in it.
            let mut gain = 4 * saved(age);
            let mut time = waiting[age] + 3 * waiting[age + 1];
            let mut best = (gain, time.max(1));
            for horizon in age + 1..AGES {
                gain += 8 * saved(horizon);
                time += 4 * (waiting[horizon] + waiting[horizon + 1]);
                if gain * best.1 > best.0 * time {
                    best = (gain, time);
                }
            }
            ((best.0 << 16) / best.1) as u32
        })
    }

    fn decay(&mut self) {
        let counts = self.reads.iter_mut().chain(&mut self.writes);
        for count in counts.chain([&mut self.never]) {
            *count -= count.div_ceil(8);
        }
    }
}
