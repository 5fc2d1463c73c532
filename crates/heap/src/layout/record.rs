//! The record of an object: the second level of the allocation log.

use super::{FIELD_BITS, FIELD_MAX};
use crate::checksum::checksum;

/// Bytes of a record; a line holds two.
pub(crate) const RECORD_BYTES: u64 = 32;
/// Words of a record.
pub(crate) const RECORD_WORDS: usize = 4;
/// Where in a record the word lies that makes it none when it is 0.
pub(crate) const CHECK_AT: u64 = 24;
/// Lengths of objects are counted in these.
pub(crate) const UNIT: u64 = 16;
/// The length of objects that are longer than can be said.
const LONG: u64 = 0xffff;
/// The longest object whose length and contents a record can name.
pub(crate) const MAX_BYTES: u64 = (LONG - 1) * UNIT;

/// Flags in the lowest bits of the destination.
const OF_INTENT: u64 = 1;
const CHECKED: u64 = 2;
const FLAGS: u64 = 7;

/// An object is in use, and who points to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Offset of the object, a multiple of 16.
    pub object: u64,
    /// The upper 16 bits of the pointer to it.
    pub upper: u16,
    /// Offset of the word that holds the pointer, or 0 if an intent says where pointers go.
    pub destination: u64,
    /// Of which lane's operations this is part of one.
    pub lane: u8,
    /// What the object is, as its owner numbers such things.
    pub kind: u8,
    /// The number of that operation in its lane.
    pub sequence: u64,
    /// Bytes of the object, a multiple of 16; `None` if they are more than [`MAX_BYTES`].
    pub bytes: Option<u64>,
    /// It is valid only together with the intent of that operation.
    pub of_intent: bool,
    /// Check of the object as it was published, if its contents were part of that.
    pub contents: Option<u32>,
}

impl Record {
    /// The pointer to the object.
    pub fn pointer(&self) -> u64 {
        self.object | u64::from(self.upper) << FIELD_BITS
    }

    /// The words, which lie at `at`.
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

    /// The record at `at`; `None` if there is none, or a torn one.
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

/// Of the first three words and what is said of the contents; never 0, which is no record.
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
