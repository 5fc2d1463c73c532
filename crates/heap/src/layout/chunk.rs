//! The word about a chunk: the first level of the allocation log.

use crate::checksum::checksum;
use crate::error::{Error, Result};

/// The use of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Free.
    Free,
    /// Objects of one size.
    Run {
        /// Bytes of a slot, a multiple of 16.
        slot: u64,
    },
    /// One object, in this chunk and those behind it.
    Large {
        /// Number of chunks, including this one.
        chunks: u64,
    },
    /// Records of objects.
    Records,
    /// The transaction log of a lane.
    Log {
        /// Number of the lane.
        lane: u16,
        /// Number of chunks, including this one.
        chunks: u64,
    },
    /// Roots.
    Roots,
    /// The lanes.
    Lanes {
        /// Number of chunks, including this one.
        chunks: u64,
    },
    /// The naive allocator's bins.
    Bins,
    /// The naive allocator's headers of runs.
    Headers,
    /// The journal.
    Journal {
        /// Number of chunks, including this one.
        chunks: u64,
    },
}

/// Bits of the fields of the word.
const OWNER_AT: u32 = 8;
const LENGTH_AT: u32 = 24;
const CHECK_AT: u32 = 48;
/// The most chunks that a use can have.
pub(crate) const MAX_CHUNKS: u64 = (1 << 24) - 1;
/// Sizes of slots are multiples of this.
const UNIT: u64 = 16;

impl Use {
    /// Returns the word, which lies at `at`.
    pub fn encode(self, at: u64) -> u64 {
        let (kind, owner, length) = match self {
            Use::Free => return 0,
            Use::Run { slot } => (1, slot / UNIT, 1),
            Use::Large { chunks } => (2, 0, chunks),
            Use::Records => (3, 0, 1),
            Use::Log { lane, chunks } => (4, u64::from(lane), chunks),
            Use::Roots => (5, 0, 1),
            Use::Lanes { chunks } => (6, 0, chunks),
            Use::Bins => (7, 0, 1),
            Use::Headers => (8, 0, 1),
            Use::Journal { chunks } => (9, 0, chunks),
        };
        let fields = kind | owner << OWNER_AT | length << LENGTH_AT;
        fields | checksum(at, &[fields]) << CHECK_AT
    }

    /// Decodes the word at `at`.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn decode(at: u64, word: u64) -> Result<Self> {
        let owner = (word >> OWNER_AT) & 0xffff;
        let chunks = (word >> LENGTH_AT) & MAX_CHUNKS;
        let decoded = match word as u8 {
            0 => Use::Free,
            1 => Use::Run { slot: owner * UNIT },
            2 => Use::Large { chunks },
            3 => Use::Records,
            4 => Use::Log {
                lane: owner as u16,
                chunks,
            },
            5 => Use::Roots,
            6 => Use::Lanes { chunks },
            7 => Use::Bins,
            8 => Use::Headers,
            _ => Use::Journal { chunks },
        };
        // A word that does not encode to itself again is damaged.
        if decoded.encode(at) != word || chunks == 0 && word != 0 {
            return Err(Error::damaged(format!(
                "the word about a chunk, at byte {at}, is damaged"
            )));
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else() {
        let uses = [
            Use::Free,
            Use::Run { slot: 144 },
            Use::Large { chunks: MAX_CHUNKS },
            Use::Records,
            Use::Log {
                lane: 255,
                chunks: 16,
            },
            Use::Roots,
            Use::Lanes { chunks: 1 },
            Use::Bins,
            Use::Headers,
            Use::Journal { chunks: 256 },
        ];
        for of in uses {
            let word = of.encode(520);
            assert_eq!(Use::decode(520, word), Ok(of));
            assert!(of == Use::Free || Use::decode(528, word).is_err());
            for bit in 0..64 {
                assert!(Use::decode(520, word ^ 1 << bit).is_err(), "{of:?} {bit}");
            }
        }
    }
}
