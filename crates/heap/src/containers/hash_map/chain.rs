//! Looking through a line of a group and those behind it.

use crate::error::{Error, Result};
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::{LINE_BYTES, Medium};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::transaction::Transaction;

use super::table::{SLOTS, tag_of};

/// No chain is that long unless it is damaged: a map grows long before.
pub(super) const MAX_CHAIN: usize = 1 << 16;

/// Words of a pool, as a thread or a transaction sees them.
pub(super) trait Words {
    /// One word.
    fn word(&self, offset: u64) -> Result<u64>;
    /// A line.
    fn line(&self, offset: u64) -> Result<[u64; SLOTS + 1]>;
    /// Whether these words are the same.
    fn equal(&self, offset: u64, words: &[u8]) -> Result<bool>;
}

impl<M: Medium> Words for Pool<M> {
    #[inline]
    fn word(&self, offset: u64) -> Result<u64> {
        self.check(offset, 8, "a hash map")?;
        Ok(self.medium.load_word(offset))
    }

    #[inline]
    fn line(&self, offset: u64) -> Result<[u64; SLOTS + 1]> {
        self.check(offset, LINE_BYTES, "a hash map")?;
        Ok(self.load_words(offset))
    }

    #[inline]
    fn equal(&self, offset: u64, bytes: &[u8]) -> Result<bool> {
        self.check(offset, bytes.len() as u64, "a hash map's entry")?;
        let (words, rest) = bytes.as_chunks::<8>();
        for (at, word) in (offset..).step_by(8).zip(words) {
            if self.medium.load_word(at) != u64::from_le_bytes(*word) {
                return Ok(false);
            }
        }
        let at = offset + words.len() as u64 * 8;
        Ok(rest.is_empty() || self.medium.load_word(at) == crate::checksum::padded(rest))
    }
}

impl<M: Medium> Words for Transaction<'_, M> {
    fn word(&self, offset: u64) -> Result<u64> {
        self.read(Ptr::at(offset))
    }

    fn line(&self, offset: u64) -> Result<[u64; SLOTS + 1]> {
        self.read(Ptr::at(offset))
    }

    fn equal(&self, offset: u64, bytes: &[u8]) -> Result<bool> {
        let mut found = vec![0; bytes.len()];
        self.read_bytes(offset, &mut found)?;
        Ok(found == bytes)
    }
}

/// Where an entry is, or could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Search {
    /// It is there.
    Found {
        /// Offset of the slot that points to it.
        slot: u64,
        /// Offset of the entry.
        entry: u64,
    },
    /// It is not there, and this slot is empty.
    Room {
        /// Offset of the slot.
        slot: u64,
    },
    /// It is not there, and all slots are full.
    Full {
        /// Offset of the word that is to point to another line.
        link: u64,
    },
}

/// Looks for a key, of which the bytes follow the first word of an entry.
///
/// Which slots are full is not branched on: it cannot be predicted, so that nothing that follows
/// would begin before the line is there.
#[inline]
pub(super) fn search(words: &impl Words, line: u64, hash: u64, key: &[u8]) -> Result<Search> {
    let tag = u64::from(tag_of(hash));
    let mut room = None;
    let mut at = line;
    for _ in 0..MAX_CHAIN {
        let line = words.line(at)?;
        let (mut same, mut empty) = (0u32, 0u32);
        for (i, &slot) in line[..SLOTS].iter().enumerate() {
            same |= u32::from(slot >> FIELD_BITS == tag) << i;
            empty |= u32::from(slot == 0) << i;
        }
        same &= !empty;
        while same != 0 {
            let i = same.trailing_zeros() as usize;
            let (slot, entry) = (at + i as u64 * 8, line[i] & FIELD_MAX);
            if words.equal(entry + 8, key)? {
                return Ok(Search::Found { slot, entry });
            }
            same &= same - 1;
        }
        if empty != 0 {
            room = room.or(Some(at + u64::from(empty.trailing_zeros()) * 8));
        }
        if line[SLOTS] == 0 {
            let link = at + SLOTS as u64 * 8;
            return Ok(room.map_or(Search::Full { link }, |slot| Search::Room { slot }));
        }
        at = line[SLOTS];
    }
    Err(too_long(line))
}

/// What a line and those behind it hold.
#[derive(Default)]
pub(super) struct Chain {
    /// Full slots.
    pub slots: Vec<u64>,
    /// Offsets of the lines behind the first one.
    pub links: Vec<u64>,
}

/// How many slots are full in a line and those behind it.
pub(super) fn count(words: &impl Words, line: u64) -> Result<u64> {
    let (mut at, mut found) = (line, 0);
    for _ in 0..MAX_CHAIN {
        let line = words.line(at)?;
        found += line[..SLOTS].iter().filter(|&&slot| slot != 0).count() as u64;
        if line[SLOTS] == 0 {
            return Ok(found);
        }
        at = line[SLOTS];
    }
    Err(too_long(line))
}

impl Chain {
    /// Adds all that is in a line and behind it.
    pub fn add(&mut self, words: &impl Words, line: u64) -> Result<()> {
        let mut at = line;
        for _ in 0..MAX_CHAIN {
            let line = words.line(at)?;
            self.slots
                .extend(line[..SLOTS].iter().filter(|&&slot| slot != 0));
            if line[SLOTS] == 0 {
                return Ok(());
            }
            at = line[SLOTS];
            self.links.push(at);
        }
        Err(too_long(line))
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.links.clear();
    }
}

pub(super) fn too_long(line: u64) -> Error {
    Error::damaged(format!(
        "a hash map is damaged: the line at {line} has no end"
    ))
}
