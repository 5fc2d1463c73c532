//! Growth by one group at a time: linear hashing (Litwin: Linear hashing, a new tool for file and
//! table addressing, VLDB 1980), so that nobody waits for a rewrite of the whole.

use std::sync::TryLockError;
use std::sync::atomic::Ordering;

use bytemuck::Pod;

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium};
use crate::operation::{Contents, Publication};
use crate::ptr::Ptr;
use crate::transaction::{Hint, Transaction};

use super::HashMap;
use super::chain::{Words, chain};
use super::table::{GROUP_BYTES, GROUPS_WORD, LINES, SEGMENTS, SLOTS, bit_in_slot, directory_word};

/// The words of a group.
const GROUP_WORDS: usize = (GROUP_BYTES / 8) as usize;
/// The words of a line.
const LINE_WORDS: usize = SLOTS + 1;

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// Splits the next group in two, unless another thread is about to.
    ///
    /// # Errors
    ///
    /// There is no room, the map is damaged, or a fence failed.
    #[cold]
    pub(super) fn split(&self) -> Result<()> {
        let _alone = match self.growing.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        let new = self.groups.load(Ordering::Acquire);
        let position = self.shape.position(new);
        if position.segment >= SEGMENTS {
            return Ok(());
        }
        if position.within == 0 {
            self.add_segment(position.segment)?;
        }
        let bit = new.ilog2();
        let old = new - (1 << bit);
        let _writing = self.stripes.write(old);
        self.heap.transaction(|tx| self.split_in(tx, old, new, bit))?;
        self.groups.store(new + 1, Ordering::Release);
        Ok(())
    }

    /// Moves those entries of a group to the new one whose hash has the bit.
    fn split_in(&self, tx: &Transaction<M>, old: u64, new: u64, bit: u32) -> Result<()> {
        let (from, to) = (self.group(old), self.group(new));
        let mut groups = [[0; GROUP_WORDS]; 2];
        for line in 0..LINES {
            let found = chain(self.pool(), from + line * LINE_BYTES)?;
            for link in found.links {
                tx.free(Ptr::<u8>::at(link))?;
            }
            let mut halves = [Vec::new(), Vec::new()];
            for slot in found.slots {
                halves[usize::from(self.bit(slot, bit)?)].push(slot);
            }
            for (group, slots) in groups.iter_mut().zip(&halves) {
                let words = &mut group[line as usize * LINE_WORDS..][..LINE_WORDS];
                words.copy_from_slice(&fill(tx, slots)?);
            }
        }
        tx.write_bytes(from, bytemuck::cast_slice(&groups[0]), Hint::Object)?;
        tx.write_bytes(to, bytemuck::cast_slice(&groups[1]), Hint::Object)?;
        tx.set(Ptr::at(self.table + GROUPS_WORD * 8), new + 1)
    }

    /// A bit of the hash of a slot's entry.
    fn bit(&self, slot: u64, bit: u32) -> Result<bool> {
        match bit_in_slot(slot, bit) {
            Some(bit) => Ok(bit),
            None => Ok(self.pool().word(slot & FIELD_MAX)? >> bit & 1 == 1),
        }
    }

    /// Makes a segment, unless it is there already.
    pub(super) fn add_segment(&self, segment: usize) -> Result<()> {
        if self.segments[segment].load(Ordering::Acquire) != 0 {
            return Ok(());
        }
        let bytes = self.shape.groups_of(segment) * GROUP_BYTES;
        let at = self.heap.core().publish(&Publication {
            destination: self.table + directory_word(segment),
            upper: 0,
            kind: 0,
            contents: Contents::Zeros(bytes),
        })?;
        self.segments[segment].store(at, Ordering::Release);
        Ok(())
    }
}

/// A line of these slots, and lines behind it if they do not fit.
fn fill<M: Medium>(tx: &Transaction<M>, slots: &[u64]) -> Result<[u64; LINE_WORDS]> {
    let mut line = [0; LINE_WORDS];
    let (here, behind) = slots.split_at(slots.len().min(SLOTS));
    line[..here.len()].copy_from_slice(here);
    if !behind.is_empty() {
        line[SLOTS] = tx.alloc(&fill(tx, behind)?)?.offset();
    }
    Ok(line)
}
