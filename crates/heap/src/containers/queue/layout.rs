//! The head of a queue.

use super::super::types::Described;

/// "TERRQUE3", the magic number of format version 3, whose heads have no description of the type.
pub(super) const UNDESCRIBED: u64 = u64::from_le_bytes(*b"TERRQUE3");
/// "TERRQUE4", the magic number of format version 4.
pub(super) const MAGIC: u64 = u64::from_le_bytes(*b"TERRQUE4");
/// Words of a head.
pub(super) const HEAD_WORDS: usize = 8;

/// Where a queue has the description of its type.
pub(in super::super) const DESCRIBED: Described = Described {
    what: "queue",
    table_words: HEAD_WORDS,
    marker: (0, MAGIC),
};
/// Marks elements of any length in the head.
pub(super) const ANY: u64 = u64::MAX;
