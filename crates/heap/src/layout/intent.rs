//! The intent: a line that says all that an operation will change.

use super::{FIELD_BITS, FIELD_MAX};
use crate::checksum::checksum;
use crate::medium::WORD_BYTES;

/// Words of an intent: a line.
pub(crate) const INTENT_WORDS: usize = 8;
/// The most words that an intent changes without a log.
pub(crate) const MAX_PAIRS: usize = 3;
/// The most objects that belong to an intent without a log.
pub(crate) const MAX_RECORDS: u64 = 255;

/// The most words that make a slot filled by an intent visible, wherever they lie.
pub(crate) const FAR_PAIRS: usize = 2;
/// The most such words if they lie near each other.
const MAX_SLOT_PAIRS: usize = 3;
/// Bytes within which such words lie: the places of all but the first have 16 bits, in words.
const NEAR_BYTES: u64 = 1 << 19;

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
                match pairs.len() <= FAR_PAIRS {
                    true => (4, 0),
                    false => {
                        put_near(&mut words, pairs);
                        (5, 0)
                    }
                }
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
                pairs: [
                    (words[1], words[2]),
                    (words[3], words[4]),
                    Default::default(),
                ],
                count: ((words[0] >> PAIRS_AT) as usize & 0xf).min(FAR_PAIRS),
            },
            5 => Intent::Slot {
                filled: Filled {
                    offset: words[5] & FIELD_MAX,
                    len: words[6] as u32,
                    check: (words[6] >> 32) as u32,
                },
                pairs: near(&words),
                count: MAX_SLOT_PAIRS,
            },
            _ => return None,
        };
        Some((words[0] & FIELD_MAX, intent))
    }
}

/// Returns whether an intent has room for these words beside a filled slot.
pub(crate) fn fit_slot(pairs: &[(u64, u64)]) -> bool {
    let places = || pairs.iter().map(|&(offset, _)| offset);
    let (first, last) = (places().min(), places().max());
    let spread = first.zip(last).map_or(0, |(first, last)| last - first);
    pairs.len() <= FAR_PAIRS || pairs.len() == MAX_SLOT_PAIRS && spread < NEAR_BYTES
}

/// Puts three words that lie near each other into an intent: their values, the offset of the first,
/// and how far behind it the others are.
fn put_near(words: &mut [u64; INTENT_WORDS], pairs: &[(u64, u64)]) {
    let first = pairs.iter().map(|&(offset, _)| offset).min().unwrap_or(0);
    let base = pairs.iter().position(|&(offset, _)| offset == first);
    let mut order = [0, 1, 2];
    order.swap(0, base.unwrap_or(0));
    let [a, b, c] = order.map(|i| pairs[i]);
    let behind = |offset: u64| ((offset - first) / WORD_BYTES) << FIELD_BITS;
    words[1] = a.1;
    words[2] = b.1;
    words[3] = c.1;
    words[4] = first | behind(b.0);
    words[5] |= behind(c.0);
}

/// Returns such words.
fn near(words: &[u64; INTENT_WORDS]) -> [(u64, u64); MAX_SLOT_PAIRS] {
    let first = words[4] & FIELD_MAX;
    let at = |word: u64| first + (word >> FIELD_BITS) * WORD_BYTES;
    [
        (first, words[1]),
        (at(words[4]), words[2]),
        (at(words[5]), words[3]),
    ]
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
                pairs: [(8, 1), (0, 0), (0, 0)],
                count: 1,
            },
            Intent::Slot {
                filled: Filled {
                    offset: FIELD_MAX - 7,
                    len: 144,
                    check: 0,
                },
                pairs: [
                    (4096, u64::MAX),
                    (4096 + NEAR_BYTES - 8, 5),
                    (4104, 1 << 60),
                ],
                count: 3,
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

    #[test]
    fn three_words_fit_beside_a_slot_if_they_are_near() {
        assert!(fit_slot(&[(8, 0), (1 << 40, 0)]));
        assert!(fit_slot(&[(NEAR_BYTES, 0), (8, 0), (16, 0)]));
        assert!(!fit_slot(&[(NEAR_BYTES + 8, 0), (8, 0), (16, 0)]));
        assert!(!fit_slot(&[(0, 0); 4]));
        // Whichever of them comes first.
        let words = [(80, 1), (8, 2), (48, 3)];
        for pairs in [
            words,
            [words[1], words[2], words[0]],
            [words[2], words[0], words[1]],
        ] {
            let (filled, count) = (
                Filled {
                    offset: 8,
                    len: 8,
                    check: 0,
                },
                3,
            );
            let intent = Intent::Slot {
                filled,
                pairs,
                count,
            };
            let (_, found) = Intent::decode(64, intent.encode(64, 1)).unwrap();
            let mut found = found.pairs().to_vec();
            found.sort_unstable();
            assert_eq!(found, [(8, 2), (48, 3), (80, 1)]);
        }
    }
}
