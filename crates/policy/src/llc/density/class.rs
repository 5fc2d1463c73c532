//! Class of a line, by its last touch and without the instruction.

use crate::llc::Request;

/// Number of ages; the highest stands for all above.
pub const AGES: usize = 64;

/// Kind of the last touch of a line: whether it read or wrote, and how long after the touch before.
/// The lines of one class are assumed to have the same future.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class(u8);

impl Class {
    /// Number of classes.
    pub const COUNT: usize = 2 * Self::INTERVALS;

    /// New lines, and five classes of ages.
    const INTERVALS: usize = 6;

    /// Class of a line that was not in the cache.
    #[inline]
    pub fn new(request: &Request) -> Self {
        Self::of(0, request.kind.writes())
    }

    /// Class of a line that was in the cache at this age.
    #[inline]
    pub fn hit(age: usize, writes: bool) -> Self {
        Self::of(1 + Self::octave(age), writes)
    }

    /// Ages below 4, 8, 16, 32 and above.
    #[inline]
    fn octave(age: usize) -> usize {
        debug_assert!(age < AGES);
        (age / 2).max(1).ilog2() as usize
    }

    #[inline]
    fn of(interval: usize, writes: bool) -> Self {
        Self((2 * interval + usize::from(writes)) as u8)
    }

    /// Returns the index of the class in a table.
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_distinct_and_counted() {
        let mut all: Vec<usize> = [0, 3, 4, 7, 8, 15, 16, 31, 32, AGES - 1]
            .into_iter()
            .flat_map(|age| [false, true].map(|writes| Class::hit(age, writes).index()))
            .collect();
        all.dedup();
        all.sort_unstable();
        all.dedup();
        let hit: Vec<usize> = (2..Class::COUNT).collect();
        assert_eq!(all, hit, "0 and 1 are the classes of new lines");
    }
}
