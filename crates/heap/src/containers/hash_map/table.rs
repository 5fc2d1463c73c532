//! Where things lie: the table, its groups, and how a hash finds its group (linear hashing).
//!
//! The table is an object of 1 KiB: magic, sizes of key and value, seed, logarithm of the first
//! groups, number of groups, and from word 8 on a directory of segments. The first segment holds as
//! many groups as the table began with, each further one as many as all before it, up to
//! [`MAX_SEGMENT`]. A group is 4 lines, a line 7 slots and a pointer to another line, for those that
//! have no room: 0, or an object of 64 bytes. A slot is 0 or the offset of an entry with 16 bits of
//! its hash above.
//!
//! Bits of a hash: the lowest find the group, bits 12 to 27 are those in the slot, bits 30 and 31
//! find the line.

use crate::error::{Error, Result};
use crate::layout::FIELD_BITS;
use crate::medium::LINE_BYTES;

/// "TERRHASH".
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TERRHASH");
/// Words of a table.
pub(super) const TABLE_WORDS: usize = 128;
/// Word in which the number of groups is.
pub(super) const GROUPS_WORD: u64 = 4;
/// Word with which the directory begins.
const DIRECTORY_WORD: u64 = 8;
/// Segments that a directory has room for.
pub(super) const SEGMENTS: usize = TABLE_WORDS - DIRECTORY_WORD as usize;
/// Logarithm of the most groups of a segment: 256 MiB.
const MAX_SEGMENT: u32 = 20;

/// Lines of a group.
pub(super) const LINES: u64 = 4;
/// Bytes of a group.
pub(super) const GROUP_BYTES: u64 = LINES * LINE_BYTES;
/// Slots of a line; the word behind them points to another line.
pub(super) const SLOTS: usize = 7;
/// Entries in a group, on average, at which the table grows: half of its slots, so that one line of
/// ten is full.
pub(super) const FULL: u64 = 14;

/// The lowest bit of the hash in a slot.
const TAG_AT: u32 = 12;
/// The lowest bit that finds the line.
const LINE_AT: u32 = 30;

/// What never changes about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub key_bytes: u32,
    pub value_bytes: u32,
    pub seed: u64,
    /// Logarithm of the groups that the table began with.
    pub first: u32,
}

/// Where a group lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub segment: usize,
    pub within: u64,
}

impl Shape {
    /// A table without segments.
    pub fn encode(&self) -> [u64; TABLE_WORDS] {
        let mut words = [0; TABLE_WORDS];
        words[0] = MAGIC;
        words[1] = u64::from(self.key_bytes) | u64::from(self.value_bytes) << 32;
        words[2] = self.seed;
        words[3] = u64::from(self.first);
        words[GROUPS_WORD as usize] = 1 << self.first;
        words
    }

    /// What the words of a table say, and how many groups it has.
    ///
    /// # Errors
    ///
    /// It is damaged, or none.
    pub fn decode(words: &[u64; TABLE_WORDS]) -> Result<(Self, u64)> {
        let shape = Self {
            key_bytes: words[1] as u32,
            value_bytes: (words[1] >> 32) as u32,
            seed: words[2],
            first: words[3].min(64) as u32,
        };
        let groups = words[GROUPS_WORD as usize];
        let sane = shape.first <= MAX_SEGMENT
            && groups >= 1 << shape.first
            && shape.position(groups - 1).segment < SEGMENTS;
        if words[0] != MAGIC || !sane {
            return Err(Error::damaged("a hash map's table is damaged"));
        }
        Ok((shape, groups))
    }

    /// Groups of a segment.
    pub fn groups_of(&self, segment: usize) -> u64 {
        let doublings = (segment as u32).saturating_sub(1);
        1 << (self.first + doublings).min(MAX_SEGMENT)
    }

    /// Where a group lies.
    #[inline]
    pub fn position(&self, group: u64) -> Position {
        if group >> self.first == 0 {
            return Position {
                segment: 0,
                within: group,
            };
        }
        // Groups from 2^n to before 2^(n+1) are a segment, or several of the largest size.
        let level = group.ilog2();
        let within = group - (1 << level);
        let segment = (level - self.first + 1) as usize;
        if level <= MAX_SEGMENT {
            return Position { segment, within };
        }
        let largest = (MAX_SEGMENT - self.first + 1) as usize;
        let further = (group >> MAX_SEGMENT) - 1;
        Position {
            segment: largest + further as usize,
            within: group & ((1 << MAX_SEGMENT) - 1),
        }
    }
}

/// The word of the directory that points to a segment, from the beginning of the table.
pub(super) fn directory_word(segment: usize) -> u64 {
    (DIRECTORY_WORD + segment as u64) * 8
}

/// The group of a hash in a table of `groups`.
#[inline]
pub(super) fn group_of(hash: u64, groups: u64) -> u64 {
    let level = groups.ilog2();
    let wide = hash & ((2 << level) - 1);
    if wide < groups {
        wide
    } else {
        hash & ((1 << level) - 1)
    }
}

/// The line of a hash in its group.
#[inline]
pub(super) fn line_of(hash: u64) -> u64 {
    (hash >> LINE_AT) % LINES
}

/// The bits of a hash that are in a slot.
#[inline]
pub(super) fn tag_of(hash: u64) -> u16 {
    (hash >> TAG_AT) as u16
}

/// A bit of the hash of the entry in a slot, if the slot has it.
pub(super) fn bit_in_slot(slot: u64, bit: u32) -> Option<bool> {
    let within = bit.checked_sub(TAG_AT).filter(|&within| within < 16)?;
    Some(slot >> (FIELD_BITS + within) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(first: u32) -> Shape {
        Shape {
            key_bytes: 64,
            value_bytes: 64,
            seed: 5,
            first,
        }
    }

    /// The twin counts groups one after the other.
    #[test]
    fn groups_lie_side_by_side() {
        for first in [0, 3, 19, 20] {
            let shape = shape(first);
            let (mut segment, mut within) = (0, 0);
            for group in 0..5 << 20 {
                let position = Position { segment, within };
                assert_eq!(shape.position(group), position, "{first} {group}");
                within += 1;
                if within == shape.groups_of(segment) {
                    (segment, within) = (segment + 1, 0);
                }
            }
        }
    }

    #[test]
    fn a_split_moves_hashes_from_one_group_to_the_new_one_only() {
        for groups in 1..200u64 {
            let split = groups - (1 << groups.ilog2());
            for hash in 0..2000 {
                let (old, new) = (group_of(hash, groups), group_of(hash, groups + 1));
                assert!(old < groups);
                assert!(
                    new == old || old == split && new == groups,
                    "{groups} {hash}"
                );
            }
        }
    }

    #[test]
    fn slots_have_the_bits_they_say() {
        let hash = 0x1234_5678_9abc_def0;
        let slot = 4096 | u64::from(tag_of(hash)) << FIELD_BITS;
        for bit in 0..64 {
            let expected = (12..28).contains(&bit).then_some(hash >> bit & 1 == 1);
            assert_eq!(bit_in_slot(slot, bit), expected, "{bit}");
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let words = shape(3).encode();
        assert_eq!(Shape::decode(&words), Ok((shape(3), 8)));
        for damage in [(0, 1), (3, 99), (4, 7), (4, u64::MAX)] {
            let mut damaged = words;
            damaged[damage.0] = damage.1;
            assert!(Shape::decode(&damaged).is_err());
        }
    }
}
