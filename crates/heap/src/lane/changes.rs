//! The changes of an operation: gathered while it is carried out, and logged by its lane.

use crate::medium::WORD_BYTES;

use super::window::Range;

/// The changes of an operation.
#[derive(Default)]
pub(crate) struct Changes {
    /// Single words and their new values, each at most once.
    pub words: Vec<(u64, u64)>,
    /// How many of the single words, from the first one on, have the others of their line beside
    /// them.
    pub grouped: usize,
    /// Runs of words and their new contents; none of them is among the single words.
    pub runs: Vec<(u64, Vec<u64>)>,
    /// Bytes that are not read before the operation, already stored and flushed, and their check;
    /// none where other changes may be of the same bytes.
    pub fills: Vec<(Range, Option<u32>)>,
    /// Objects to which nothing points before the operation, already stored.
    pub new: Vec<New>,
    /// Objects that are no longer in use after it.
    pub freed: Vec<Object>,
}

/// A new object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct New {
    pub offset: u64,
    /// Its bytes, a multiple of 16.
    pub len: u64,
    pub check: Check,
    /// Place of its record.
    pub place: u64,
}

/// The check of a new object's contents in its record.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Check {
    /// This check.
    Known(u32),
    /// A check that is still to be computed.
    ToBeMade,
    /// No check: the contents are durable before the record is stored.
    Durable,
    /// No check: the contents are flushed, and will be fenced before the record is stored.
    Flushed,
    /// No check: the contents are flushed and fenced before the record is stored.
    ToBeFenced,
}

/// An object in use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Object {
    pub offset: u64,
    /// Bytes of its slot.
    pub bytes: u64,
    /// Place of its record.
    pub record: u64,
}

impl Object {
    pub fn range(&self) -> Range {
        Range::new(self.offset, self.bytes)
    }
}

impl New {
    pub fn range(&self) -> Range {
        Range::new(self.offset, self.len)
    }
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        let words = self.words.is_empty() && self.runs.is_empty() && self.fills.is_empty();
        words && self.new.is_empty() && self.freed.is_empty()
    }

    /// Forgets everything, but keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.words.clear();
        self.grouped = 0;
        self.runs.clear();
        self.fills.clear();
        self.new.clear();
        self.freed.clear();
    }

    /// Returns the ranges that are changed where other operations may have changed them before.
    pub fn changed(&self) -> impl Iterator<Item = Range> + Clone {
        let words = self.words.iter().map(|&(offset, _)| Range::word(offset));
        let run = |(offset, words): &(u64, Vec<u64>)| {
            Range::new(*offset, words.len() as u64 * WORD_BYTES)
        };
        words.chain(self.runs.iter().map(run))
    }

    /// Returns the ranges whose contents tell whether the operation has happened.
    pub fn checked(&self) -> impl Iterator<Item = Range> {
        let fills = self.fills.iter().filter(|(_, check)| check.is_some());
        let new = self.new.iter().map(New::range);
        new.chain(fills.map(|(range, _)| *range))
    }

    /// Returns all ranges that the operation names until it is settled.
    pub fn named(&self) -> impl Iterator<Item = Range> + Clone {
        let new = self.new.iter().map(New::range);
        let fills = self.fills.iter().map(|(range, _)| *range);
        self.changed().chain(fills).chain(new)
    }
}
