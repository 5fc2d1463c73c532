//! The layout of a vector: its table, and its segments.
//!
//! The table is an object of 1 KiB: magic, bytes of an element, logarithms of the elements of the
//! first and of the largest segment, number of elements, 1 if the description of the type follows
//! the table (`types`) in the same object, and from word 8 on a directory of segments. Each segment
//! holds twice as many elements as the one before, up to the largest. Elements lie side by side,
//! each filled to a whole word.
//!
//! Where contents have checksums (`sums`), the upper 16 bits of a pointer in the directory are its
//! check, two words of the table are those of the number of elements and of what never changes, and
//! a word behind each element is its check.

use crate::error::{Error, Result, ensure};
use crate::layout::Geometry;

use super::super::types::Described;

/// "TERRVECT", the magic number.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TERRVECT");
/// Words of a table.
pub(super) const TABLE_WORDS: usize = 128;
/// Index of the word of the number of elements.
pub(super) const LEN_WORD: u64 = 3;
/// Where a vector has the description of its type.
pub(in super::super) const DESCRIBED: Described = Described {
    what: "vector",
    table_words: TABLE_WORDS,
    marker: (4, 1),
};
/// Index of the first word of the directory.
const DIRECTORY_WORD: u64 = 8;
/// Number of segments for which a directory has room.
const SEGMENTS: u64 = TABLE_WORDS as u64 - DIRECTORY_WORD;
/// Bytes of the first segment, if an element is not larger.
const FIRST_BYTES: u64 = 256;
/// The most bytes of a segment.
const MAX_BYTES: u64 = 256 << 20;

/// The part of a table that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub element_bytes: u32,
    /// Logarithm of the elements of the first segment.
    pub first: u32,
    /// Logarithm of the elements of the largest segments.
    pub largest: u32,
    /// Whether contents have checksums.
    pub checked: bool,
}

/// The place of an element: its segment, and its position there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub segment: u64,
    pub within: u64,
}

impl Shape {
    /// Returns the shape for elements of `bytes` bytes.
    pub fn new(element_bytes: usize, geometry: &Geometry) -> Self {
        let checked = geometry.checksums;
        let stride = element_bytes.next_multiple_of(8) as u64 + 8 * u64::from(checked);
        let fit = |bytes: u64| (bytes / stride).max(1).ilog2();
        Self {
            element_bytes: element_bytes as u32,
            first: fit(FIRST_BYTES),
            largest: fit(MAX_BYTES.min(geometry.max_object())),
            checked,
        }
    }

    /// Returns a table without segments.
    pub fn encode(&self) -> [u64; TABLE_WORDS] {
        let mut words = [0; TABLE_WORDS];
        words[0] = MAGIC;
        words[1] = u64::from(self.element_bytes);
        words[2] = u64::from(self.first) | u64::from(self.largest) << 32;
        words
    }

    /// Decodes the words of a table; `checked` says whether contents have checksums.
    ///
    /// # Errors
    ///
    /// The table is damaged, or is none.
    pub fn decode(words: &[u64; TABLE_WORDS], checked: bool) -> Result<Self> {
        let shape = Self {
            element_bytes: words[1] as u32,
            first: words[2] as u32,
            largest: (words[2] >> 32) as u32,
            checked,
        };
        let sane = shape.first <= shape.largest
            && shape.largest < 40
            && shape.element_bytes > 0
            && words[LEN_WORD as usize] <= shape.capacity();
        ensure(words[0] == MAGIC && sane, || {
            Error::damaged("a vector's table is damaged")
        })?;
        Ok(shape)
    }

    /// Returns the bytes of an element, filled to a whole word.
    #[inline]
    pub fn padded(&self) -> u64 {
        u64::from(self.element_bytes).next_multiple_of(8)
    }

    /// Returns the bytes from one element to the next.
    #[inline]
    pub fn stride(&self) -> u64 {
        self.padded() + 8 * u64::from(self.checked)
    }

    /// Returns the number of elements of a segment.
    #[inline]
    pub fn elements_of(&self, segment: u64) -> u64 {
        1 << (u64::from(self.first) + segment).min(u64::from(self.largest))
    }

    /// Returns how many segments a directory has room for.
    pub fn segments(&self) -> u64 {
        SEGMENTS
    }

    /// Returns how many elements all segments have room for.
    pub fn capacity(&self) -> u64 {
        let doubling = u64::from(self.largest - self.first).min(SEGMENTS);
        (((1 << doubling) - 1) << self.first) + ((SEGMENTS - doubling) << self.largest)
    }

    /// Returns where an element lies.
    #[inline]
    pub fn position(&self, index: u64) -> Position {
        // Elements before the largest segments: 2^first * (2^n - 1) for n segments.
        let doubling = u64::from(self.largest - self.first);
        let before = ((1 << doubling) - 1) << self.first;
        if index >= before {
            let beyond = index - before;
            return Position {
                segment: doubling + (beyond >> self.largest),
                within: beyond & ((1 << self.largest) - 1),
            };
        }
        let segment = u64::from(((index >> self.first) + 1).ilog2());
        Position {
            segment,
            within: index - (((1 << segment) - 1) << self.first),
        }
    }
}

/// Returns the offset of the number of elements.
pub(super) fn len_at(table: u64) -> u64 {
    table + LEN_WORD * 8
}

/// Returns the offset of the pointer to a segment.
#[inline]
pub(super) fn directory_at(table: u64, segment: u64) -> u64 {
    table + (DIRECTORY_WORD + segment) * 8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The twin counts elements one after the other.
    #[test]
    fn elements_lie_side_by_side() {
        for (first, largest) in [(0, 0), (0, 5), (3, 7), (5, 5)] {
            let shape = Shape {
                element_bytes: 9,
                first,
                largest,
                checked: false,
            };
            let all = (0..SEGMENTS).map(|segment| shape.elements_of(segment));
            assert_eq!(shape.capacity(), all.sum::<u64>());
            let (mut segment, mut within) = (0, 0);
            for index in 0..shape.capacity().min(2000) {
                let position = Position { segment, within };
                assert_eq!(shape.position(index), position, "{first} {index}");
                within += 1;
                if within == shape.elements_of(segment) {
                    (segment, within) = (segment + 1, 0);
                }
            }
        }
    }

    #[test]
    fn a_table_is_read_as_it_was_written() {
        let geometry = Geometry {
            shift: 16,
            lanes: 2,
            intents: 3,
            allocator: crate::layout::AllocatorKind::Nvwa,
            seed: 0,
            checksums: false,
        };
        let shape = Shape::new(60, &geometry);
        assert_eq!((shape.stride(), shape.first, shape.largest), (64, 2, 22));
        let words = shape.encode();
        assert_eq!(Shape::decode(&words, false), Ok(shape));
        for damage in [(0, 1), (1, 0), (2, 99), (2, 99 << 32), (3, u64::MAX)] {
            let mut damaged = words;
            damaged[damage.0] = damage.1;
            assert!(Shape::decode(&damaged, false).is_err());
        }
    }
}
