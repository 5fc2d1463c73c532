//! A one-word approximate set of numbers.

/// A Bloom filter of 64 bits and one hash: a number that it does not contain was not added.
#[derive(Clone, Copy, Default)]
pub(super) struct Sketch(u64);

impl Sketch {
    pub(super) fn add(&mut self, number: u64) {
        self.0 |= Self::bit(number);
    }

    pub(super) fn may_have(self, number: u64) -> bool {
        self.0 & Self::bit(number) != 0
    }

    /// Takes the highest bits of the product with 2^64 over the golden ratio, which differ for
    /// neighbouring numbers.
    fn bit(number: u64) -> u64 {
        1 << (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 58)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_may_be_there_and_most_else_is_not() {
        let mut sketch = Sketch::default();
        (0..8).for_each(|number| sketch.add(number * 4096));
        assert!((0..8).all(|number| sketch.may_have(number * 4096)));
        let wrong = (0..6400).filter(|number| sketch.may_have(number * 3 + 1));
        assert!(wrong.count() < 1000);
    }
}
