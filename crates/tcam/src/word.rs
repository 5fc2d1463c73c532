//! A ternary word: a row of 256 cells on one match line, in sections (Fedorov 2016, 4.3.4).
//!
//! Of the 256 cells an IPv6 address takes 128 and an IPv4 address 32, the others being disabled;
//! the first spare cell holds the family, so that both can lie in one shadow block.

use std::net::IpAddr;

use crate::cell::{Cell, Threshold};
use crate::prefix::{Family, Prefix};

/// Cells of a word.
pub const CELLS: usize = 256;

/// Cells of a section of the match line: 32 sections were the fastest of the flash block.
pub const SECTION_CELLS: usize = 8;

/// The cell that holds the family: 0 is IPv4.
const FAMILY_CELL: usize = 128;

/// A bit for each cell; the first cell is the least significant bit of the first number.
type Plane = [u64; CELLS / 64];

/// The cells of a row, as the thresholds of their transistors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Cells whose `M1` has the low threshold.
    first_low: Plane,
    /// Cells whose `M2` has the low threshold.
    second_low: Plane,
}

/// A word that is looked for: gate voltages, and the cells that are enabled.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Cells in which a 1 is looked for: `R_H` on the gate of `M1`; a 0 is `R_H` on that of `M2`.
    ones: Plane,
    enabled: Plane,
}

impl Word {
    /// A row that was erased.
    pub const ERASED: Self = Self {
        first_low: [u64::MAX; CELLS / 64],
        second_low: [u64::MAX; CELLS / 64],
    };

    /// Makes the word of a prefix: its bits, then cells that match any.
    pub fn of(prefix: Prefix) -> Self {
        let mut word = Self {
            first_low: Plane::default(),
            second_low: Plane::default(),
        };
        for index in 0..usize::from(prefix.length()) {
            word.set(index, bit_of(prefix, index));
        }
        word.set(FAMILY_CELL, prefix.family() == Family::V6);
        word
    }

    fn set(&mut self, index: usize, bit: bool) {
        let cell = if bit { Cell::One } else { Cell::Zero };
        let (first, second) = cell.thresholds();
        put(&mut self.first_low, index, first == Threshold::Low);
        put(&mut self.second_low, index, second == Threshold::Low);
    }

    /// Returns a cell.
    pub fn cell(&self, index: usize) -> Cell {
        match (bit(&self.first_low, index), bit(&self.second_low, index)) {
            (false, true) => Cell::Zero,
            (true, false) => Cell::One,
            (false, false) => Cell::Any,
            (true, true) => Cell::Erased,
        }
    }

    /// Returns the first section whose cells pull the match line down; the sections behind it
    /// follow (figure 4.3). `None` if the word matches.
    pub fn mismatch(&self, key: &Key) -> Option<usize> {
        (0..CELLS / 64).find_map(|index| {
            let on_first = key.ones[index] | self.first_low[index];
            let on_second = !key.ones[index] | self.second_low[index];
            let conducting = on_first & on_second & key.enabled[index];
            (conducting != 0)
                .then(|| (index * 64 + conducting.trailing_zeros() as usize) / SECTION_CELLS)
        })
    }

    /// Tells whether the match line stays high.
    pub fn matches(&self, key: &Key) -> bool {
        self.mismatch(key).is_none()
    }
}

impl Key {
    /// Makes the key of an address.
    pub fn of(address: IpAddr) -> Self {
        let host = Prefix::host(address);
        let (mut ones, mut enabled) = (Plane::default(), Plane::default());
        for index in 0..usize::from(host.length()) {
            put(&mut ones, index, bit_of(host, index));
            put(&mut enabled, index, true);
        }
        put(&mut ones, FAMILY_CELL, host.family() == Family::V6);
        put(&mut enabled, FAMILY_CELL, true);
        Self { ones, enabled }
    }
}

/// Returns a bit of the value, the first being 0.
fn bit_of(prefix: Prefix, index: usize) -> bool {
    prefix.bits() << index >> 127 == 1
}

fn bit(plane: &Plane, index: usize) -> bool {
    plane[index / 64] >> (index % 64) & 1 == 1
}

fn put(plane: &mut Plane, index: usize, value: bool) {
    plane[index / 64] |= u64::from(value) << (index % 64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{addresses, prefixes};
    use proptest::prelude::*;

    /// The match line, cell by cell.
    fn line(word: &Word, key: &Key) -> Option<usize> {
        (0..CELLS)
            .filter(|cell| bit(&key.enabled, *cell))
            .find(|cell| word.cell(*cell).conducts(bit(&key.ones, *cell)))
            .map(|cell| cell / SECTION_CELLS)
    }

    proptest! {
        #[test]
        fn a_word_matches_what_its_prefix_contains(prefix in prefixes(), address in addresses()) {
            let (word, key) = (Word::of(prefix), Key::of(address));
            prop_assert_eq!(word.mismatch(&key), line(&word, &key));
            prop_assert_eq!(word.matches(&key), prefix.contains(address));
            prop_assert!(word.matches(&Key::of(prefix.address())));
            prop_assert_eq!(Word::ERASED.mismatch(&key), Some(0));
        }
    }

    #[test]
    fn the_section_of_the_first_wrong_bit_pulls_the_line_down() {
        let word = Word::of("10.1.0.0/16".parse().unwrap());
        let mismatch = |address: &str| word.mismatch(&Key::of(address.parse().unwrap()));
        assert_eq!(mismatch("10.1.2.3"), None);
        assert_eq!(mismatch("10.2.0.0"), Some(1));
        assert_eq!(mismatch("11.2.0.0"), Some(0));
        assert_eq!(mismatch("a01::"), Some(FAMILY_CELL / SECTION_CELLS), "IPv6");
    }
}
