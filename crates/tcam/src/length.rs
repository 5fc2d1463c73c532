//! The length of a prefix: what all rows of a flash block have in common.

use std::fmt;

use crate::prefix::{Family, Prefix};

/// A prefix length of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Length {
    /// The family.
    pub family: Family,
    /// Bits that must match, at most those of an address.
    pub bits: u8,
}

impl Length {
    /// Number of lengths of both families: 0 to 32 and 0 to 128.
    pub const COUNT: usize = 33 + 129;

    /// Returns the length of a prefix.
    pub fn of(prefix: Prefix) -> Self {
        Self {
            family: prefix.family(),
            bits: prefix.length(),
        }
    }

    /// Returns a number below [`Length::COUNT`]: IPv4 first, short ones first.
    pub fn index(self) -> usize {
        match self.family {
            Family::V4 => usize::from(self.bits),
            Family::V6 => 33 + usize::from(self.bits),
        }
    }

    /// Returns all lengths, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        [Family::V4, Family::V6]
            .into_iter()
            .flat_map(|family| (0..=family.bits()).map(move |bits| Self { family, bits }))
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} /{}", self.family, self.bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_numbered_in_order() {
        let indices: Vec<usize> = Length::all().map(Length::index).collect();
        assert_eq!(indices, (0..Length::COUNT).collect::<Vec<_>>());
    }
}
