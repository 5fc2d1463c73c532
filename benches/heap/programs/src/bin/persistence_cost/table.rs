//! The persistent hash table of Kannan 2013, figures 3 and 17: chains of entries, an entry
//! allocated first and then filled in and linked by a transaction, the count in one of its own.
//!
//! Figure 18's log granularities are hints here. With word logging every word that changes has a
//! record; with object logging every change is that of the object in which it lies (the header for
//! the count, an entry for its link); with hybrid logging it is what fits the change.

use terrace_heap::{Heap, Hint, Medium, Place, Ptr, Transaction};

use crate::Outcome;
use crate::keys::{Item, key_of, value_of};
use crate::marked;
use crate::options::{Log, Options, Phase};

const WORD: u64 = 8;
/// The count, padded to a line.
type Header = [u64; 8];
/// Next, hash, key, value.
type Entry = [u64; 18];
const HASH: usize = 1;
const KEY: usize = 2;
const VALUE: usize = 10;

pub struct Table<'h, M: Medium> {
    heap: &'h Heap<M>,
    header: Ptr<Header>,
    /// Points to the entry under construction, so that a crash leaks none.
    pending: Place<Entry>,
    /// Offset of the heads of chains, a power of two in number, side by side.
    buckets: u64,
    mask: u64,
    log: Log,
    ideal: bool,
}

impl<'h, M: Medium> Table<'h, M> {
    pub fn create(heap: &'h Heap<M>, options: &Options) -> Outcome<Self> {
        let buckets = options.elements.next_power_of_two();
        let (header, root) = (heap.root("header", 0)?, heap.root::<u64>("buckets", 0)?);
        heap.transaction(|tx| {
            let array = tx.alloc_bytes(&vec![0; (buckets * WORD) as usize])?;
            tx.set(root.cast(), array)
        })?;
        Ok(Self {
            header: heap.publish(header, &[0; 8])?,
            pending: heap.root("pending", 0)?,
            buckets: heap.read(root)?.offset(),
            mask: buckets - 1,
            log: options.log,
            ideal: options.ideal,
            heap,
        })
    }

    /// Runs a phase; returns 0 lines, because lines of data are not counted apart.
    pub fn run(&self, phase: Phase, options: &Options) -> Outcome<u64> {
        for turn in 0..options.elements {
            let other = options.scattered(turn);
            match phase {
                Phase::Put => self.put(turn)?,
                Phase::Get => self.get(other)?,
                Phase::Update => self.update(other, turn)?,
                Phase::Delete => self.delete(other)?,
                Phase::Mixed => {
                    self.put(turn)?;
                    self.get(other % (turn + 1))?;
                }
                Phase::Allocate | Phase::Free => return Err("a table allocates by itself".into()),
            }
        }
        Ok(0)
    }

    fn put(&self, index: u64) -> Outcome {
        let key = key_of(index);
        let hash = hash_of(&key);
        let bucket = self.bucket(hash);
        self.count(1)?;
        let entry = self.allocate()?;
        let head = self.heap.read(bucket)?;
        self.transaction(|tx| {
            let filled = entry_of(head, hash, &key, &value_of(&key));
            tx.write_with(entry, &filled, self.hint_of_object())?;
            self.set(tx, bucket, entry.offset())?;
            self.set(tx, self.pending.cast(), 0)
        })
    }

    fn get(&self, index: u64) -> Outcome {
        let key = key_of(index);
        let (_, entry) = self.find(&key)?;
        let value: Item = self.heap.read(field(entry, VALUE))?;
        // The first word of an update differs.
        match value[1..] == value_of(&key)[1..] {
            true => Ok(()),
            false => Err("an entry is wrong".into()),
        }
    }

    fn update(&self, index: u64, turn: u64) -> Outcome {
        let key = key_of(index);
        let (_, entry) = self.find(&key)?;
        let mut value = value_of(&key);
        value[0] = turn;
        self.transaction(|tx| match self.log {
            Log::Object => {
                let mut all = self.heap.read(entry)?;
                all[VALUE..].copy_from_slice(&value);
                tx.write_with(entry, &all, Hint::Object)
            }
            _ => tx.write_with(field::<Item>(entry, VALUE), &value, self.hint_of_object()),
        })
    }

    fn delete(&self, index: u64) -> Outcome {
        let key = key_of(index);
        let hash = hash_of(&key);
        self.count(u64::MAX)?;
        let (before, entry) = self.find(&key)?;
        let next = self.heap.read(entry)?[0];
        self.transaction(|tx| {
            match (before, self.log) {
                (Some(before), Log::Object) => {
                    let mut all = self.heap.read(before)?;
                    all[0] = next;
                    tx.write_with(before, &all, Hint::Object)?;
                }
                (Some(before), _) => tx.set(before.cast(), next)?,
                (None, _) => self.set(tx, self.bucket(hash), next)?,
            }
            tx.free(entry)
        })
    }

    /// Counts entries, in a transaction of its own.
    fn count(&self, more: u64) -> Outcome {
        let mut header = self.heap.read(self.header)?;
        header[0] = header[0].wrapping_add(more);
        self.transaction(|tx| match self.log {
            Log::Object => tx.write_with(self.header, &header, Hint::Object),
            _ => tx.set(self.header.cast(), header[0]),
        })
    }

    fn allocate(&self) -> Outcome<Ptr<Entry>> {
        let publish = || self.heap.publish(self.pending, &[0; 18]);
        if !self.ideal {
            return Ok(publish()?);
        }
        let entry = marked::quietly(publish)?;
        marked::flush(self.heap, entry.offset(), size_of::<Entry>() as u64);
        marked::flush(self.heap, self.pending.offset(), WORD);
        Ok(entry)
    }

    /// Returns the entry of a key, and the one before it in its chain.
    fn find(&self, key: &Item) -> Outcome<(Option<Ptr<Entry>>, Ptr<Entry>)> {
        let hash = hash_of(key);
        let (mut before, mut at) = (None, self.heap.read(self.bucket(hash))?);
        while at != 0 {
            let entry = Ptr::at(at);
            let same = self.heap.read(field::<u64>(entry, HASH))? == hash;
            if same && self.heap.read(field::<Item>(entry, KEY))? == *key {
                return Ok((before, entry));
            }
            before = Some(entry);
            at = self.heap.read(field(entry, 0))?;
        }
        Err("a key is missing".into())
    }

    fn transaction(
        &self,
        work: impl FnMut(&Transaction<M>) -> terrace_heap::Result<()>,
    ) -> Outcome {
        Ok(self.heap.transaction(work)?)
    }

    /// Changes a word that is not part of a larger object.
    fn set(&self, tx: &Transaction<M>, at: Ptr<u64>, value: u64) -> terrace_heap::Result<()> {
        match self.log {
            Log::Object => tx.write_with(at, &value, Hint::Object),
            _ => tx.set(at, value),
        }
    }

    fn hint_of_object(&self) -> Hint {
        match self.log {
            Log::Word => Hint::Words,
            _ => Hint::Object,
        }
    }

    fn bucket(&self, hash: u64) -> Ptr<u64> {
        Ptr::at(self.buckets + (hash & self.mask) * WORD)
    }
}

fn entry_of(next: u64, hash: u64, key: &Item, value: &Item) -> Entry {
    let mut entry = [0; 18];
    entry[0] = next;
    entry[HASH] = hash;
    entry[KEY..VALUE].copy_from_slice(key);
    entry[VALUE..].copy_from_slice(value);
    entry
}

/// Returns the pointer to a part of an entry, from this word on.
fn field<T>(entry: Ptr<Entry>, word: usize) -> Ptr<T> {
    Ptr::at(entry.offset() + word as u64 * WORD)
}

/// FNV-1a over words, its upper half folded down.
pub fn hash_of(key: &Item) -> u64 {
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| {
        (hash ^ word).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ hash >> 32
}
