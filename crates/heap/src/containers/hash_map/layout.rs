//! The layout of a map: the table, its groups, and how a hash selects its group (linear hashing).
//!
//! The table is an object of 1 KiB: magic, sizes of key and value, seed, logarithm of the first
//! groups, number of groups, logarithms of the groups of the largest segment and of the pointers of
//! a page, 1 if the description of the types follows the table (`types`) in the same object, and
//! from word 8 on a directory of segments. The first segment holds as many groups as the table
//! began with, each further one as many as all before it, up to the largest. The first 60 words of
//! the directory point to segments, the others to pages of pointers to segments. (In a table of
//! format version 1 or 2 all point to segments, of up to 2^20 groups.)
//!
//! A group is 4 lines, a line 7 slots and a pointer to another line, for those that have no room:
//! 0, or an object of 64 bytes. A slot is 0 or the offset of an entry with 16 bits of its hash
//! above.
//!
//! An entry is its hash, the key and the value, each filled with zeros to whole words. Where keys
//! or values have any length, two words follow the hash: the bytes of the key, and those of the
//! value with the highest bit set if it lies apart; then its pointer is in its place.
//!
//! Where contents have checksums (`sums`), a line has 6 slots, the pointer to another line, and its
//! check; the last two words of the directory are the checks of the words before the directory, and
//! of the directory; a page ends with its own. An entry ends with its check, and of its hash the
//! lower half is stored, with a check as the upper half.
//!
//! Bits of a hash: the lowest find the group, bits 12 to 27 are those in the slot, bits 30 and 31
//! find the line.

use crate::error::{Error, Result, ensure};
use crate::layout::{FIELD_BITS, Geometry};
use crate::medium::LINE_BYTES;

pub(super) use super::super::data::ANY;
use super::super::types::Described;

/// "TERRHASH", the magic number.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TERRHASH");
/// Words of a table.
pub(super) const TABLE_WORDS: usize = 128;
/// Index of the word of the number of groups.
pub(super) const GROUPS_WORD: u64 = 4;
/// Index of the first word of the directory.
pub(super) const DIRECTORY_WORD: u64 = 8;
/// Where a map has the description of its types.
pub(in super::super) const DESCRIBED: Described = Described {
    what: "hash map",
    table_words: TABLE_WORDS,
    marker: (7, 1),
};
/// Words of the directory.
const DIRECTORY: u64 = TABLE_WORDS as u64 - DIRECTORY_WORD;
/// Words of the directory that point to segments where the others point to pages.
const DIRECT: u64 = DIRECTORY / 2;
/// Words at the end of the directory that are checks, where contents have checksums.
const CHECKS: u64 = 2;
/// Logarithm of the most groups of a segment: 4 MiB, so that a fragmented pool has room for one,
/// and making one is quick.
const MAX_SEGMENT: u32 = 14;
/// Logarithm of the most groups of a segment in tables of format versions 1 and 2: 256 MiB.
const OLD_MAX_SEGMENT: u32 = 20;

/// Lines of a group.
pub(super) const LINES: u64 = 4;
/// Bytes of a group.
pub(super) const GROUP_BYTES: u64 = LINES * LINE_BYTES;
/// Slots of a line; the word behind them points to another line.
pub(super) const SLOTS: usize = 7;
/// The words of a line.
pub(super) const LINE_WORDS: usize = SLOTS + 1;
/// Slots of a line that has a check.
pub(super) const CHECKED_SLOTS: usize = 6;
/// Average number of entries in a group at which the table grows: half of its slots, so that one
/// line in ten is full.
pub(super) const FULL: u64 = 14;

/// The lowest bit of the hash in a slot.
const TAG_AT: u32 = 12;
/// The lowest bit of the hash that selects the line.
const LINE_AT: u32 = 30;

/// The part of a table that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Bytes of a key, or [`ANY`].
    pub key_bytes: u32,
    /// Bytes of a value, or [`ANY`].
    pub value_bytes: u32,
    pub seed: u64,
    /// Logarithm of the groups of the first segment.
    pub first: u32,
    /// Logarithm of the groups of the largest segments.
    largest: u32,
    /// Logarithm of the pointers of a page of the directory; none if it has no pages.
    page: Option<u32>,
    /// Whether contents have checksums.
    pub checked: bool,
}

/// The place of a group: its segment, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub segment: usize,
    pub within: u64,
}

/// The place of the pointer to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    /// At this byte of the table.
    InTable(u64),
    /// At byte `at` of a page, whose pointer is at byte `page` of the table.
    InPage { page: u64, within: u64 },
}

impl Shape {
    /// Returns the shape of a table that begins with `groups` groups, a power of two. No segment
    /// has more than a sixteenth of the largest object.
    pub fn new(key_bytes: u32, value_bytes: u32, groups: u64, geometry: &Geometry) -> Self {
        let most = (geometry.max_object() / GROUP_BYTES / 16)
            .ilog2()
            .min(MAX_SEGMENT);
        Self {
            key_bytes,
            value_bytes,
            seed: geometry.seed,
            first: groups.ilog2().min(most),
            largest: most,
            page: Some((geometry.chunk_bytes() / 2 / 8).ilog2()),
            checked: geometry.checksums,
        }
    }

    /// Returns a table without segments.
    pub fn encode(&self) -> [u64; TABLE_WORDS] {
        let mut words = [0; TABLE_WORDS];
        words[0] = MAGIC;
        words[1] = u64::from(self.key_bytes) | u64::from(self.value_bytes) << 32;
        words[2] = self.seed;
        words[3] = u64::from(self.first);
        words[GROUPS_WORD as usize] = 1 << self.first;
        words[5] = u64::from(self.largest);
        words[6] = u64::from(self.page.unwrap_or(0));
        words
    }

    /// Decodes the words of a table; returns its shape and its number of groups. `checked` says
    /// whether contents have checksums.
    ///
    /// # Errors
    ///
    /// The table is damaged, or is none.
    pub fn decode(words: &[u64; TABLE_WORDS], checked: bool) -> Result<(Self, u64)> {
        let is_old = words[5] == 0 && words[6] == 0;
        let shape = Self {
            key_bytes: words[1] as u32,
            value_bytes: (words[1] >> 32) as u32,
            seed: words[2],
            first: words[3].min(64) as u32,
            largest: match is_old {
                true => OLD_MAX_SEGMENT,
                false => words[5].min(64) as u32,
            },
            page: (!is_old).then_some(words[6].min(64) as u32),
            checked,
        };
        let groups = words[GROUPS_WORD as usize];
        let sane = shape.largest <= OLD_MAX_SEGMENT
            && shape.first <= shape.largest
            && shape.page.is_none_or(|page| (1..=20).contains(&page))
            && groups >= 1 << shape.first
            && shape.position(groups - 1).segment < shape.segments();
        ensure(words[0] == MAGIC && sane, || {
            Error::damaged("a hash map's table is damaged")
        })?;
        Ok((shape, groups))
    }

    /// Returns how many segments the directory has room for.
    pub fn segments(&self) -> usize {
        let all = match self.page {
            Some(page) => DIRECT + ((DIRECTORY - DIRECT - self.checks()) << page),
            None => DIRECTORY,
        };
        all as usize
    }

    /// Returns the words of the directory that are checks.
    fn checks(&self) -> u64 {
        CHECKS * u64::from(self.checked)
    }

    /// Returns the most groups of the map: of a hash that is stored in half, so many bits are
    /// known.
    pub fn most_groups(&self) -> u64 {
        match self.checked {
            true => 1 << LINE_AT,
            false => u64::MAX,
        }
    }

    /// Returns the place of the pointer to a segment, which the directory has room for.
    pub fn pointer(&self, segment: usize) -> Pointer {
        let in_table = |entry: u64| (DIRECTORY_WORD + entry) * 8;
        match (self.page, (segment as u64).checked_sub(DIRECT)) {
            (Some(page), Some(behind)) => Pointer::InPage {
                page: in_table(DIRECT + (behind >> page)),
                within: (behind & ((1 << page) - 1)) * 8,
            },
            _ => Pointer::InTable(in_table(segment as u64)),
        }
    }

    /// Returns the bytes of a page of the directory, without its check.
    pub fn page_bytes(&self) -> u64 {
        8 << self.page.unwrap_or(0)
    }

    /// Returns the number of groups of a segment.
    pub fn groups_of(&self, segment: usize) -> u64 {
        let doublings = (segment as u32).saturating_sub(1);
        1 << (self.first + doublings).min(self.largest)
    }

    /// Returns where a group lies.
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
        if level <= self.largest {
            return Position { segment, within };
        }
        let largest = (self.largest - self.first + 1) as usize;
        let further = (group >> self.largest) - 1;
        Position {
            segment: largest + further as usize,
            within: group & ((1 << self.largest) - 1),
        }
    }
}

/// Returns how many groups have room for about `entries` entries.
pub(super) fn groups_for(entries: u64) -> u64 {
    entries.div_ceil(FULL).clamp(1, 1 << 40).next_power_of_two()
}

/// Returns the slots of a line.
#[inline]
pub(super) fn slots(checked: bool) -> usize {
    match checked {
        true => CHECKED_SLOTS,
        false => SLOTS,
    }
}

/// Returns the group of a hash in a table of `groups`.
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

/// Returns the line of a hash in its group.
#[inline]
pub(super) fn line_of(hash: u64) -> u64 {
    (hash >> LINE_AT) % LINES
}

/// Returns the bits of a hash that are in a slot.
#[inline]
pub(super) fn tag_of(hash: u64) -> u16 {
    (hash >> TAG_AT) as u16
}

/// Returns a bit of the hash of the entry in a slot, if the slot stores that bit.
pub(super) fn bit_in_slot(slot: u64, bit: u32) -> Option<bool> {
    let within = bit.checked_sub(TAG_AT).filter(|&within| within < 16)?;
    Some(slot >> (FIELD_BITS + within) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(first: u32, largest: u32, page: Option<u32>) -> Shape {
        Shape {
            key_bytes: 64,
            value_bytes: ANY,
            seed: 5,
            first,
            largest,
            page,
            checked: false,
        }
    }

    /// The twin counts groups one after the other.
    #[test]
    fn groups_lie_side_by_side() {
        for (first, largest) in [(0, 14), (3, 14), (14, 14), (0, 20), (19, 20), (20, 20)] {
            let shape = shape(first, largest, None);
            let (mut segment, mut within) = (0, 0);
            for group in 0..3 << 20 {
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
    fn each_segment_has_a_pointer_of_its_own() {
        let paged = shape(0, 14, Some(3));
        assert_eq!(paged.segments(), 60 + 60 * 8);
        assert_eq!(paged.pointer(59), Pointer::InTable((8 + 59) * 8));
        let (page, within) = ((8 + 60) * 8, 0);
        assert_eq!(paged.pointer(60), Pointer::InPage { page, within });
        let (page, within) = (127 * 8, 7 * 8);
        assert_eq!(paged.pointer(539), Pointer::InPage { page, within });
        let old = shape(0, 20, None);
        assert_eq!(old.segments(), 120);
        assert_eq!(old.pointer(119), Pointer::InTable(127 * 8));
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
        for shape in [shape(3, 14, Some(11)), shape(3, 20, None)] {
            let mut words = shape.encode();
            if shape.page.is_none() {
                words[5] = 0;
            }
            assert_eq!(Shape::decode(&words, false), Ok((shape, 8)));
            for damage in [(0, 1), (3, 99), (4, 7), (4, u64::MAX), (5, 99), (6, 99)] {
                let mut damaged = words;
                damaged[damage.0] = damage.1;
                assert!(Shape::decode(&damaged, false).is_err(), "{damage:?}");
            }
        }
    }
}
