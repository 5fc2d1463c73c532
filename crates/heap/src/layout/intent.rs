//! The intent: a line that says all that an operation will change.

use super::{FIELD_BITS, FIELD_MAX};
use crate::checksum::checksum;

/// Words of an intent: a line.
pub(crate) const INTENT_WORDS: usize = 8;
/// The most words that an intent changes without a log.
pub(crate) const MAX_PAIRS: usize = 3;
/// The most objects that belong to an intent without a log.
pub(crate) const MAX_RECORDS: u64 = 255;

/// The most words that make a slot filled by an intent visible.
pub(crate) const MAX_SLOT_PAIRS: usize = 2;

/// Bits of the fields of the first word.
const KIND_AT: u32 = FIELD_BITS;
const PAIRS_AT: u32 = FIELD_BITS + 4;
const RECORDS_AT: u32 = FIELD_BITS + 8;

/// The changes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intent {
    /// A few words.
    Words {
        /// Offsets and new values; the first `count` count.
        pairs: [(u64, u64); MAX_PAIRS],
        /// Number of valid pairs.
        count: usize,
        /// Number of objects that come into use with it.
        records: u64,
    },
    /// The entries of a transaction log.
    Commit(Commit),
    /// Objects are changed in place; the object log holds their old contents from here on.
    Undo {
        /// Offset of the first entry.
        entries: u64,
    },
    /// A slot was filled that was not visible, and a few words change that make it visible.
    Slot {
        /// The contents of the slot.
        filled: Filled,
        /// Offsets and new values; the first `count` count.
        pairs: [(u64, u64); MAX_SLOT_PAIRS],
        /// Number of valid pairs.
        count: usize,
    },
}

/// A filled slot with the check of its contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// Offset of the slot.
    pub offset: u64,
    /// Bytes, a multiple of 8.
    pub len: u32,
    /// This check.
    pub check: u32,
}

/// The place of a commit's entries in the lane's transaction log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Offset of the first entry of the word log.
    pub words: u64,
    /// Number of its entries.
    pub word_count: u64,
    /// Offset of the first entry of the object log.
    pub objects: u64,
    /// Number of its entries.
    pub object_count: u64,
    /// Number of objects that come into use with it.
    pub records: u64,
    /// Check of entries and data.
    pub log: u64,
}

impl Intent {
    /// Returns the words that the intent itself says change, by offset and new value.
    #[inline]
    pub fn pairs(&self) -> &[(u64, u64)] {
        match self {
            Intent::Words { pairs, count, .. } => &pairs[..*count],
            Intent::Slot { pairs, count, .. } => &pairs[..*count],
            Intent::Commit(_) | Intent::Undo { .. } => &[],
        }
    }

    /// Returns the words, which lie at `at`.
    pub fn encode(&self, at: u64, sequence: u64) -> [u64; INTENT_WORDS] {
        let mut words = [0; INTENT_WORDS];
        let pairs = self.pairs();
        for (i, &(offset, value)) in pairs.iter().enumerate() {
            words[1 + 2 * i] = offset;
            words[2 + 2 * i] = value;
        }
        let (kind, few) = match self {
            Intent::Words { records, .. } => (1, *records),
            Intent::Commit(commit) => {
                words[1] = commit.words;
                words[2] = commit.word_count;
                words[3] = commit.objects;
                words[4] = commit.object_count;
                words[5] = commit.records;
                words[6] = commit.log;
                (2, 0)
            }
            Intent::Undo { entries } => {
                words[1] = *entries;
                (3, 0)
            }
            Intent::Slot { filled, .. } => {
                words[5] = filled.offset;
                words[6] = u64::from(filled.len) | u64::from(filled.check) << 32;
                (4, 0)
            }
        };
        let count = pairs.len() as u64;
        words[0] = sequence | kind << KIND_AT | count << PAIRS_AT | few << RECORDS_AT;
        words[7] = checksum(at, &words[..7]);
        words
    }

    /// Returns the intent at `at` and its sequence; `None` if there is none, or a torn one.
    pub fn decode(at: u64, words: [u64; INTENT_WORDS]) -> Option<(u64, Self)> {
        if checksum(at, &words[..7]) != words[7] {
            return None;
        }
        let intent = match (words[0] >> KIND_AT) & 0xf {
            1 => Intent::Words {
                pairs: std::array::from_fn(|i| (words[1 + 2 * i], words[2 + 2 * i])),
                count: ((words[0] >> PAIRS_AT) as usize & 0xf).min(MAX_PAIRS),
                records: words[0] >> RECORDS_AT,
            },
            2 => Intent::Commit(Commit {
                words: words[1],
                word_count: words[2],
                objects: words[3],
                object_count: words[4],
                records: words[5],
                log: words[6],
            }),
            3 => Intent::Undo { entries: words[1] },
            4 => Intent::Slot {
                filled: Filled {
                    offset: words[5],
                    len: words[6] as u32,
                    check: (words[6] >> 32) as u32,
                },
                pairs: std::array::from_fn(|i| (words[1 + 2 * i], words[2 + 2 * i])),
                count: ((words[0] >> PAIRS_AT) as usize & 0xf).min(MAX_SLOT_PAIRS),
            },
            _ => return None,
        };
        Some((words[0] & FIELD_MAX, intent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else() {
        let intents = [
            Intent::Words {
                pairs: [(8, 1), (16, 2), (0, 0)],
                count: 2,
                records: MAX_RECORDS,
            },
            Intent::Commit(Commit {
                words: 1,
                word_count: 2,
                objects: 3,
                object_count: 4,
                records: 5,
                log: 6,
            }),
            Intent::Undo { entries: 4096 },
            Intent::Slot {
                filled: Filled {
                    offset: 8192,
                    len: 144,
                    check: u32::MAX,
                },
                pairs: [(8, 1), (0, 0)],
                count: 1,
            },
        ];
        for intent in intents {
            let words = intent.encode(64, 77);
            assert_eq!(Intent::decode(64, words), Some((77, intent)));
            assert_eq!(Intent::decode(128, words), None);
            for bit in 0..512 {
                let mut torn = words;
                torn[bit / 64] ^= 1 << (bit % 64);
                assert_eq!(Intent::decode(64, torn), None, "bit {bit}");
            }
        }
    }
}
