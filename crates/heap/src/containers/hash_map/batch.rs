//! Many changes of a map as one transaction.

use std::cell::RefCell;

use bytemuck::Pod;

use crate::error::Result;
use crate::layout::FIELD_MAX;
use crate::medium::{LINE_BYTES, Medium};
use crate::ptr::Ptr;
use crate::transaction::{Hint, Transaction};

use super::chain::{Search, search};
use super::{HashMap, slot_word};

/// Changes of a map that happen together; see [`HashMap::batch`].
pub struct Batch<'b, 'h, K, V, M: Medium> {
    map: &'b HashMap<K, V, M>,
    tx: &'b Transaction<'h, M>,
    /// Entries that came, by stripe.
    came: RefCell<Vec<i64>>,
}

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// Has `work` change the map, durably, wholly or not at all, with one fence for all. Nobody else
    /// can use the map meanwhile.
    ///
    /// # Errors
    ///
    /// What `work` returns; this thread is within a transaction of the heap already; the map is
    /// damaged, there is no room, or a fence failed.
    pub fn batch<R>(&self, work: impl FnOnce(&Batch<K, V, M>) -> Result<R>) -> Result<R> {
        self.heap.expect_batch()?;
        let mut writing = self.stripes.write_all();
        let tx = self.heap.begin()?;
        let batch = Batch {
            map: self,
            tx: &tx,
            came: RefCell::new(vec![0; writing.len()]),
        };
        let done = work(&batch)?;
        let came = batch.came.into_inner();
        let last = tx.commit_over(&self.stripes.last_of_all(&writing))?;
        for (stripe, came) in writing.iter_mut().zip(came) {
            stripe.came += came;
            stripe.last = last.or(stripe.last);
        }
        loop {
            let before = self.groups();
            if !writing.iter().any(|stripe| self.is_full(stripe)) {
                return Ok(done);
            }
            self.split_held(&mut writing)?;
            if self.groups() == before {
                return Ok(done);
            }
        }
    }
}

impl<'h, K: Pod, V: Pod, M: Medium> Batch<'_, 'h, K, V, M> {
    /// The transaction, for what else is to happen together with the batch.
    pub fn transaction(&self) -> &Transaction<'h, M> {
        self.tx
    }

    /// The value of a key, with what this batch has changed.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        match self.search(key)? {
            (_, Search::Found { entry, .. }) => self.value(entry).map(Some),
            _ => Ok(None),
        }
    }

    /// Gives a key a value; says which one it had.
    ///
    /// # Errors
    ///
    /// There is no room, or the map is damaged.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V>> {
        let bytes = bytemuck::bytes_of(value);
        let (hash, found) = self.search(key)?;
        let slot = match found {
            Search::Found { entry, .. } => {
                let old = self.value(entry)?;
                let at = self.map.value_at(entry);
                self.tx.write_bytes(at, bytes, Hint::BySize)?;
                return Ok(Some(old));
            }
            Search::Room { slot } => slot,
            Search::Full { link } => {
                let line = self.tx.alloc(&[0u64; LINE_BYTES as usize / 8])?;
                self.tx.set(Ptr::at(link), line.offset())?;
                line.offset()
            }
        };
        let mut entry = hash.to_le_bytes().to_vec();
        for part in [bytemuck::bytes_of(key), bytes] {
            entry.extend_from_slice(part);
            entry.resize(entry.len().next_multiple_of(8), 0);
        }
        let entry = self.tx.alloc_bytes(&entry)?;
        self.tx.set(Ptr::at(slot), slot_word(entry, hash))?;
        self.came.borrow_mut()[self.map.stripes.number(hash)] += 1;
        Ok(None)
    }

    /// Removes a key and its value; says which one it had.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn remove(&self, key: &K) -> Result<Option<V>> {
        let (hash, Search::Found { slot, entry }) = self.search(key)? else {
            return Ok(None);
        };
        let value = self.value(entry)?;
        self.tx.set(Ptr::at(slot), 0)?;
        self.tx.free(Ptr::<u8>::at(entry & FIELD_MAX))?;
        self.came.borrow_mut()[self.map.stripes.number(hash)] -= 1;
        Ok(Some(value))
    }

    fn search(&self, key: &K) -> Result<(u64, Search)> {
        let hash = self.map.hash(key);
        let line = self.map.line(hash);
        Ok((hash, search(self.tx, line, hash, bytemuck::bytes_of(key))?))
    }

    fn value(&self, entry: u64) -> Result<V> {
        self.tx.read(Ptr::at(self.map.value_at(entry)))
    }
}
