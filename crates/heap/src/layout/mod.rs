//! The layout of a pool, as `FORMAT.md` draws it: one file for each structure, plain encoding and
//! decoding without access to a medium.

mod allocator_kind;
pub(crate) mod chunk;
pub(crate) mod header;
pub(crate) mod intent;
pub(crate) mod record;
pub(crate) mod root;

use crate::checksum::checksum;
use crate::medium::LINE_BYTES;

pub use allocator_kind::AllocatorKind;

/// Bytes of the header of a region, at the beginning of its table chunk.
pub(crate) const REGION_HEADER_BYTES: u64 = 512;
/// Bits of offsets, sequences and sizes where they share a word.
pub(crate) const FIELD_BITS: u32 = 48;
/// The largest such number.
pub(crate) const FIELD_MAX: u64 = (1 << FIELD_BITS) - 1;

/// The parameters of a pool, chosen when it is created, that determine where things lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// A chunk has `1 << shift` bytes.
    pub shift: u32,
    /// How many threads can work at the same time without waiting for each other.
    pub lanes: u16,
    /// Lines in a lane's ring of intents.
    pub intents: u8,
    /// The allocator, which finds room for objects.
    pub allocator: AllocatorKind,
    /// The seed of the hashes of new hash maps; 0 in pools of versions 1 and 2.
    pub seed: u64,
    /// Whether the contents of containers, and what leads to them, have checksums.
    pub checksums: bool,
}

impl Geometry {
    pub fn chunk_bytes(&self) -> u64 {
        1 << self.shift
    }

    /// Returns the number of chunks of a region, including its table.
    pub fn region_chunks(&self) -> u64 {
        (self.chunk_bytes() - REGION_HEADER_BYTES) / 8 + 1
    }

    pub fn offset_of(&self, chunk: u64) -> u64 {
        chunk << self.shift
    }

    pub fn chunk_of(&self, offset: u64) -> u64 {
        offset >> self.shift
    }

    /// Returns whether the chunk holds the table of a region.
    pub fn is_table(&self, chunk: u64) -> bool {
        chunk.is_multiple_of(self.region_chunks())
    }

    /// Returns the offset of the word about a chunk, which is no table.
    pub fn word_of(&self, chunk: u64) -> u64 {
        debug_assert!(!self.is_table(chunk));
        let (region, within) = (chunk / self.region_chunks(), chunk % self.region_chunks());
        self.offset_of(region * self.region_chunks()) + REGION_HEADER_BYTES + (within - 1) * 8
    }

    /// Returns the bytes of the largest object: a region without its table.
    pub fn max_object(&self) -> u64 {
        self.offset_of((self.region_chunks() - 1).min(chunk::MAX_CHUNKS))
    }

    /// Returns the number of chunks that the lanes fill, from chunk 1 on.
    pub fn lane_chunks(&self) -> u64 {
        (u64::from(self.lanes) * self.lane_bytes()).div_ceil(self.chunk_bytes())
    }

    /// Returns the chunk of the naive allocator's bins, behind the lanes, if the pool has them.
    pub fn bins(&self) -> Option<u64> {
        (self.allocator == AllocatorKind::Naive).then(|| 1 + self.lane_chunks())
    }

    fn lane_bytes(&self) -> u64 {
        (1 + u64::from(self.intents)) * LINE_BYTES
    }

    /// Returns the offset of the word that says up to which operation a lane is settled.
    pub fn settled_of(&self, lane: usize) -> u64 {
        self.offset_of(1) + lane as u64 * self.lane_bytes()
    }

    /// Returns the offset of a line of a lane's ring of intents.
    pub fn intent_of(&self, lane: usize, number: u64) -> u64 {
        self.settled_of(lane) + (1 + number % u64::from(self.intents)) * LINE_BYTES
    }

    /// Returns the offsets of all lines of a lane's ring of intents.
    pub fn intents_of(&self, lane: usize) -> impl Iterator<Item = u64> {
        (0..u64::from(self.intents)).map(move |number| self.intent_of(lane, number))
    }

    /// Returns the offsets of all places of `bytes` bytes in a chunk.
    pub fn places(&self, chunk: u64, bytes: u64) -> impl DoubleEndedIterator<Item = u64> + use<> {
        let first = self.offset_of(chunk);
        (0..self.chunk_bytes() / bytes).map(move |place| first + place * bytes)
    }
}

/// Encodes a number of 48 bits with a check of 16, for words that are changed in place.
pub(crate) fn checked(at: u64, number: u64) -> u64 {
    number | checksum(at, &[number]) << FIELD_BITS
}

/// Decodes such a word; `None` if its check is wrong.
pub(crate) fn unchecked(at: u64, word: u64) -> Option<u64> {
    let number = word & FIELD_MAX;
    (checked(at, number) == word).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_all_chunks_of_a_region_fill_its_table() {
        let geometry = Geometry {
            shift: 12,
            lanes: 3,
            intents: 7,
            allocator: AllocatorKind::Nvwa,
            seed: 0,
            checksums: false,
        };
        assert_eq!(geometry.region_chunks(), 449);
        assert_eq!(geometry.word_of(1), 512);
        assert_eq!(geometry.word_of(448), 4096 - 8);
        assert!(geometry.is_table(449));
        assert_eq!(geometry.word_of(450), 449 * 4096 + 512);
        assert_eq!(geometry.lane_chunks(), 1);
        assert_eq!(geometry.intent_of(2, 8), 4096 + 2 * 512 + 128);
    }
}
