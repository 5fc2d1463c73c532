//! The record of an object: the second level of the allocation log.

use super::{FIELD_BITS, FIELD_MAX};
use crate::checksum::checksum;

/// Bytes of a record; a line holds two.
pub(crate) const RECORD_BYTES: u64 = 32;
/// Words of a record.
pub(crate) const RECORD_WORDS: usize = 4;
/// Position in a record of the word that is 0 where there is no record.
pub(crate) const CHECK_AT: u64 = 24;
/// Unit of the lengths of objects.
pub(crate) const UNIT: u64 = 16;
/// Stands for the length of objects that are longer than the field can hold.
const LONG: u64 = 0xffff;
/// The longest object whose length and contents a record can name.
pub(crate) const MAX_BYTES: u64 = (LONG - 1) * UNIT;

/// Flags in the lowest bits of the destination.
const OF_INTENT: u64 = 1;
const CHECKED: u64 = 2;
const FLAGS: u64 = 7;

/// A record: an object is in use, and this is the word that points to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Offset of the object, a multiple of 16.
    pub object: u64,
    /// The upper 16 bits of the pointer to it.
    pub upper: u16,
    /// Offset of the word that holds the pointer, or 0 if an intent says where pointers go.
    pub destination: u64,
    /// The lane of the operation to which the record belongs.
    pub lane: u8,
    /// Kind of the object, a number of its owner's choice.
    pub kind: u8,
    /// The sequence of that operation in its lane.
    pub sequence: u64,
    /// Bytes of the object, a multiple of 16; `None` if they are more than [`MAX_BYTES`].
    pub bytes: Option<u64>,
    /// Whether it is valid only together with the intent of that operation.
    pub of_intent: bool,
    /// Check of the object as it was published, if its contents were part of that.
    pub contents: Option<u32>,
}

impl Record {
    /// Returns the pointer to the object.
    pub fn pointer(&self) -> u64 {
        self.object | u64::from(self.upper) << FIELD_BITS
    }

    /// Returns the words, which lie at `at`.
    #[inline]
    pub fn encode(&self, at: u64) -> [u64; RECORD_WORDS] {
        let flags =
            OF_INTENT * u64::from(self.of_intent) + CHECKED * u64::from(self.contents.is_some());
        let what = u64::from(self.lane) | u64::from(self.kind) << 8;
        let units = self.bytes.map_or(LONG, |bytes| bytes / UNIT);
        let mut words = [
            self.pointer(),
            self.destination | flags | what << FIELD_BITS,
            self.sequence | units << FIELD_BITS,
            0,
        ];
        let contents = u64::from(self.contents.unwrap_or(0));
        words[3] = check(at, &words, contents) | contents << 32;
        words
    }

    /// Returns the record at `at`; `None` if there is none, or a torn one.
    #[inline]
    pub fn decode(at: u64, words: [u64; RECORD_WORDS]) -> Option<Self> {
        let contents = words[3] >> 32;
        if words[3] == 0 || words[3] as u32 != check(at, &words, contents) as u32 {
            return None;
        }
        let units = words[2] >> FIELD_BITS;
        let flags = words[1] & FLAGS;
        Some(Self {
            object: words[0] & FIELD_MAX,
            upper: (words[0] >> FIELD_BITS) as u16,
            destination: words[1] & FIELD_MAX & !FLAGS,
            lane: (words[1] >> FIELD_BITS) as u8,
            kind: (words[1] >> (FIELD_BITS + 8)) as u8,
            sequence: words[2] & FIELD_MAX,
            bytes: (units != LONG).then_some(units * UNIT),
            of_intent: flags & OF_INTENT != 0,
            contents: (flags & CHECKED != 0).then_some(contents as u32),
        })
    }
}

/// Computes the check of the first three words and of the contents' check; never 0, which means no
/// record.
#[inline]
fn check(at: u64, words: &[u64; RECORD_WORDS], contents: u64) -> u64 {
    let sum = checksum(at, &[words[0], words[1], words[2], contents]);
    u64::from((sum as u32).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_and_nothing_else() {
        let record = Record {
            object: 0x1234_5670,
            upper: 0xfedc,
            destination: 0x4_0008,
            lane: 200,
            kind: 7,
            sequence: 99,
            bytes: Some(144),
            of_intent: true,
            contents: Some(0),
        };
        let longest = Record {
            bytes: Some(MAX_BYTES),
            contents: None,
            ..record
        };
        let long = Record {
            bytes: None,
            of_intent: false,
            ..longest
        };
        for record in [record, longest, long] {
            let words = record.encode(64);
            assert_eq!(Record::decode(64, words), Some(record));
            assert_eq!(Record::decode(96, words), None);
            for bit in 0..256 {
                let mut torn = words;
                torn[bit / 64] ^= 1 << (bit % 64);
                assert_eq!(Record::decode(64, torn), None, "bit {bit}");
            }
        }
    }
}
