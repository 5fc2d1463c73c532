//! The checksums of a tree whose pool has them: of its table, and of entries. Those of orders are
//! with the nodes (`layout`).
//!
//! Each is verified when what it covers is read, so a search that looks at nothing else takes the
//! way that it would take in the tree as it was written.

use crate::checksum::{Checksum, checksum};
use crate::error::{Error, Result, ensure};
use crate::medium::WORD_BYTES;
use crate::sink::{Sink, Source};

use super::layout::{Head, Order, ROOT_WORD, Root, Slot, TABLE_WORDS, damaged, root_at};
use super::node::Entry;
use super::tree::Tree;

/// Index of the word of the table with the check of the root.
const ROOT_CHECK: u64 = 4;
/// Index of the word with the check of what never changes.
const TABLE_CHECK: usize = 5;
/// Bytes before an entry.
pub(super) const CHECK_BYTES: u64 = WORD_BYTES;

/// Returns the check of the part of a table that never changes.
fn table_check(at: u64, words: &[u64]) -> u64 {
    checksum(at, &[words[0], words[1], words[3]])
}

/// Puts the checks into a new table at an offset, with the words behind it.
pub(super) fn sealed(at: u64, words: &[u64]) -> Vec<u64> {
    let mut words = words.to_vec();
    let root = words[ROOT_WORD as usize];
    words[ROOT_CHECK as usize] = checksum(root_at(at), &[root]);
    words[TABLE_CHECK] = table_check(at, &words);
    words
}

/// Bits of a slot's word, above which its number stands in checks.
const SLOT_BITS: u32 = 56;

/// Begins the check of a part of the entry in a slot, whose key is at `at` of the pool. The slot's
/// number is in it: a slot that becomes the same as another would be right otherwise, and its own
/// entry lost.
#[inline]
fn begin(at: u64, slot: Slot) -> Checksum {
    let mut sum = Checksum::new(at);
    sum.word(slot.encode() | u64::from(slot.number) << SLOT_BITS);
    sum
}

/// Returns the upper half of the word before an entry.
fn value_check(at: u64, slot: Slot, value: &[u8]) -> u64 {
    // Not that of a key of the same bytes.
    let mut sum = begin(!at, slot);
    sum.bytes(value);
    sum.finish() >> 32 << 32
}

/// Returns the word before an entry whose key is at `at` of the pool: the check of slot and key,
/// and that of slot and value.
pub(super) fn entry_check(at: u64, slot: Slot, key: &[u8], value: &[u8]) -> u64 {
    let mut sum = begin(at, slot);
    sum.bytes(key);
    sum.finish() & u64::from(u32::MAX) | value_check(at, slot, value)
}

impl Tree {
    /// Returns the bytes before each entry.
    #[inline]
    pub fn check_bytes(&self) -> u64 {
        CHECK_BYTES * u64::from(self.checked)
    }

    /// Checks the part of the table that never changes.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn expect_table(&self, source: &impl Source) -> Result<()> {
        let words = source.words::<TABLE_WORDS>(self.table)?;
        let same = !self.checked || words[TABLE_CHECK] == table_check(self.table, &words);
        ensure(same, || Error::damaged("a B-tree's table is damaged"))
    }

    /// Returns the root, whose check is right.
    ///
    /// # Errors
    ///
    /// It is damaged.
    pub fn checked_root(&self, source: &impl Source) -> Result<Root> {
        let at = root_at(self.table);
        let [root, _, check] = source.words(at)?;
        ensure(check == checksum(at, &[root]), || {
            Error::damaged("a B-tree's root is damaged")
        })?;
        Root::decode(root)
    }

    /// Stores the check of a root that is being stored.
    pub fn seal_root<S: Sink>(&self, sink: &mut S, root: u64) -> Result<()> {
        let check = checksum(root_at(self.table), &[root]);
        sink.set(self.table + ROOT_CHECK * WORD_BYTES, check)
    }

    /// Changes the order of a node.
    pub fn set_order<S: Sink>(&self, sink: &mut S, node: &Head, order: Order) -> Result<()> {
        if self.checked {
            sink.set(node.at + WORD_BYTES, node.said(order))?;
        }
        sink.set(node.at, order.0)
    }

    /// Checks that slot and key of an entry are those that were written, where they have a check.
    ///
    /// # Errors
    ///
    /// They are not.
    #[inline(never)]
    pub fn expect_key(&self, source: &impl Source, head: &Head, slot: Slot) -> Result<()> {
        let (at, len) = (head.at + slot.key_at(), u64::from(slot.key_len));
        let mut sum = begin(at, slot);
        source.add_to(&mut sum, at, len.next_multiple_of(WORD_BYTES))?;
        let check = source.word(at - CHECK_BYTES)?;
        let same = check as u32 == sum.finish() as u32;
        ensure(same, || damaged(head.at))
    }

    /// Checks that slot and value of an entry, or the pointer to it, are those that were written,
    /// where they have a check.
    ///
    /// # Errors
    ///
    /// They are not.
    #[inline(never)]
    pub fn expect_value(&self, source: &impl Source, head: &Head, slot: Slot) -> Result<()> {
        let at = head.at + slot.key_at();
        let mut sum = begin(!at, slot);
        let len = u64::from(slot.value_len).next_multiple_of(WORD_BYTES);
        source.add_to(&mut sum, head.at + slot.value_at(), len)?;
        let check = source.word(at - CHECK_BYTES)?;
        ensure(check >> 32 == sum.finish() >> 32, || damaged(head.at))
    }

    /// Stores the check of a value that is being changed where it is.
    pub fn seal_value<S: Sink>(
        &self,
        sink: &mut S,
        head: &Head,
        slot: Slot,
        value: &[u8],
    ) -> Result<()> {
        if !self.checked {
            return Ok(());
        }
        let at = head.at + slot.key_at();
        let of_key = sink.word(at - CHECK_BYTES)? & u64::from(u32::MAX);
        sink.set(at - CHECK_BYTES, of_key | value_check(at, slot, value))
    }

    /// Checks the entries of a node with these bytes.
    ///
    /// # Errors
    ///
    /// One of them is not as it was written.
    pub fn expect_entries(&self, head: &Head, bytes: &[u8]) -> Result<()> {
        let part = |at: u64, len: u64| bytes.get(at as usize..(at + len) as usize);
        let is_whole = |slot: Slot| {
            let at = slot.key_at();
            let key = part(at, slot.key_len.into())?;
            let value = part(slot.value_at(), slot.value_len.into())?;
            let check = part(at.checked_sub(CHECK_BYTES)?, CHECK_BYTES)?;
            (check == entry_check(head.at + at, slot, key, value).to_le_bytes()).then_some(())
        };
        let mut entries = (0..head.order.len()).map(|entry| head.entry(entry));
        let whole = !self.checked || entries.all(|slot| is_whole(slot).is_some());
        ensure(whole, || damaged(head.at))
    }
}

/// Returns the words of a new node at an offset, with checks.
pub(super) fn checked_words(node: Head, slots: &[Slot], entries: &[Entry]) -> Vec<u64> {
    let mut words = vec![0; (node.bytes / WORD_BYTES) as usize];
    let head = Head::encode(node.level, node.bytes, slots);
    words[..head.len()].copy_from_slice(&head);
    words[1] = node.said(node.order);
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words);
    for (&slot, entry) in slots.iter().zip(entries) {
        let check = entry_check(node.at + slot.key_at(), slot, &entry.key, &entry.value);
        let mut put = |at: u64, from: &[u8]| {
            bytes[at as usize..][..from.len()].copy_from_slice(from);
        };
        put(slot.key_at() - CHECK_BYTES, &check.to_le_bytes());
        put(slot.key_at(), &entry.key);
        put(slot.value_at(), &entry.value);
    }
    words
}
