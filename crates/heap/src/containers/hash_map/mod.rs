//! A persistent hash map.
//!
//! Entries are objects of their own, found through groups of slots; a slot's word is what makes an
//! entry part of the map. So a new entry costs its own lines, a record and a slot: 5 lines and one
//! fence with keys and values of 64 bytes. `table` says where things lie, `split` how it grows.
//!
//! Any number of threads can use a map at the same time. Order of locks: growth, then stripes in
//! ascending order, then those of the heap.

mod batch;
mod chain;
mod iter;
mod split;
mod stripes;
mod table;

use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use bytemuck::Pod;

use crate::checksum::{Checksum, padded};
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::lane::Held;
use crate::layout::FIELD_BITS;
use crate::layout::intent::MAX_PAIRS;
use crate::medium::{LINE_BYTES, Mapped, Medium};
use crate::operation::{Contents, Publication};
use crate::pool::Pool;
use crate::ptr::Ptr;
use crate::transaction::Changes;

pub use batch::Batch;
pub use iter::Iter;

use chain::{Search, count, search};
use stripes::{Stripe, Stripes};
use table::{
    FULL, GROUP_BYTES, LINES, SEGMENTS, SLOTS, Shape, TABLE_WORDS, directory_word, group_of,
    line_of, tag_of,
};

/// The kind of a root that is a hash map's.
const ROOT_KIND: u16 = 1;
/// Entries that a map has room for at first, unless it is told otherwise.
const CAPACITY: u64 = 256 * FULL;
/// Groups that are looked at to guess how many entries a map has.
const SAMPLE: u64 = 64;

/// A persistent hash map from `K` to `V`, both plain data.
pub struct HashMap<K, V, M: Medium = Mapped> {
    heap: Heap<M>,
    shape: Shape,
    /// Offset of the table.
    table: u64,
    /// Offsets of segments, 0 for those that are not there.
    segments: Box<[AtomicU64; SEGMENTS]>,
    /// Changed only by who grows the map and holds the stripe of the group that is split.
    groups: AtomicU64,
    growing: Mutex<()>,
    stripes: Stripes,
    /// About how many entries each stripe had when the map was opened.
    guess: i64,
    /// Entries that there were when the map was opened.
    base: OnceLock<i64>,
    of: PhantomData<fn() -> (K, V)>,
}

impl<K: Pod, V: Pod, M: Medium> HashMap<K, V, M> {
    /// The map of this name; it is made if there is none.
    ///
    /// A map that is open must not be opened again: locks are this one's own.
    ///
    /// # Errors
    ///
    /// The root of this name is something else, or a map of other keys or values; the map is
    /// damaged; there is no room, or a fence failed.
    pub fn open(heap: &Heap<M>, name: &str) -> Result<Self> {
        Self::open_with_capacity(heap, name, CAPACITY)
    }

    /// As [`HashMap::open`]; a new map has room for about so many entries before it grows, and one
    /// lock for each 14 of them, up to 1024.
    ///
    /// # Errors
    ///
    /// As [`HashMap::open`].
    pub fn open_with_capacity(heap: &Heap<M>, name: &str, entries: u64) -> Result<Self> {
        let place = heap.root::<[u64; TABLE_WORDS]>(name, ROOT_KIND)?;
        let mut table = heap.read(place)?;
        if table.is_null() {
            let groups = entries.div_ceil(FULL).max(1).next_power_of_two();
            table = heap.publish(place, &shape_of::<K, V>(groups.min(1 << 20)).encode())?;
        }
        let words = heap.read(table)?;
        let (shape, groups) = Shape::decode(&words)?;
        if shape != shape_of::<K, V>(1 << shape.first) {
            return Err(Error::usage(format!(
                "the hash map {name:?} has keys of {} and values of {} bytes",
                shape.key_bytes, shape.value_bytes
            )));
        }
        let mut map = Self {
            heap: heap.clone(),
            shape,
            table: table.offset(),
            segments: Box::new([const { AtomicU64::new(0) }; SEGMENTS]),
            groups: AtomicU64::new(groups),
            growing: Mutex::new(()),
            stripes: Stripes::new(1 << shape.first, heap.core().lanes.over()),
            guess: 0,
            base: OnceLock::new(),
            of: PhantomData,
        };
        map.find_segments(&words)?;
        map.add_segment(0)?;
        map.guess = map.sample()?;
        Ok(map)
    }

    fn find_segments(&self, words: &[u64; TABLE_WORDS]) -> Result<()> {
        let needed = self.shape.position(self.groups() - 1).segment;
        for segment in 0..SEGMENTS {
            let at = words[(directory_word(segment) / 8) as usize];
            if at != 0 {
                let bytes = self.shape.groups_of(segment) * GROUP_BYTES;
                self.pool().check(at, bytes, "a hash map's segment")?;
                self.segments[segment].store(at, Ordering::Release);
            } else if segment <= needed && segment > 0 {
                return Err(Error::damaged(
                    "a hash map is damaged: a segment is missing",
                ));
            }
        }
        Ok(())
    }

    /// About how many entries a stripe has.
    fn sample(&self) -> Result<i64> {
        let groups = self.groups();
        let looked = groups.min(SAMPLE);
        let mut found = 0;
        for i in 0..looked {
            let group = self.group(i * (groups / looked));
            for line in 0..LINES {
                found += count(self.pool(), group + line * LINE_BYTES)?;
            }
        }
        Ok((found * groups / looked / self.stripes.len()) as i64)
    }

    /// The value of a key.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn get(&self, key: &K) -> Result<Option<V>> {
        let hash = self.hash(key);
        self.prefetch(hash);
        let _reading = self.stripes.read(hash);
        match search(self.pool(), self.line(hash), hash, bytemuck::bytes_of(key))? {
            Search::Found { entry, .. } => self.value(entry).map(Some),
            _ => Ok(None),
        }
    }

    /// Whether there is a value for a key.
    ///
    /// # Errors
    ///
    /// As [`HashMap::get`].
    pub fn contains(&self, key: &K) -> Result<bool> {
        let hash = self.hash(key);
        self.prefetch(hash);
        let _reading = self.stripes.read(hash);
        let found = search(self.pool(), self.line(hash), hash, bytemuck::bytes_of(key))?;
        Ok(matches!(found, Search::Found { .. }))
    }

    /// Gives a key a value, durably; says which one it had. With 64 bytes each, 5 lines and one
    /// fence if the key is new, and now and then more for a larger table.
    ///
    /// Within a transaction of this thread it happens at once all the same, and stays if that fails.
    ///
    /// # Errors
    ///
    /// There is no room, the map is damaged, or a fence failed.
    pub fn insert(&self, key: &K, value: &V) -> Result<Option<V>> {
        let hash = self.hash(key);
        self.prefetch(hash);
        let mut writing = self.stripes.write(hash);
        let core = self.heap.core();
        let old = core.with_room(|| self.put(&mut writing, hash, key, value))?;
        if old.is_some() {
            return Ok(old);
        }
        writing.came += 1;
        let full = self.is_full(&writing);
        drop(writing);
        if full {
            self.split()?;
        }
        Ok(None)
    }

    /// Removes a key and its value, durably; says which one it had. 3 lines and one fence.
    ///
    /// Within a transaction of this thread it happens at once all the same, and stays if that fails.
    ///
    /// # Errors
    ///
    /// The map is damaged, or a fence failed.
    pub fn remove(&self, key: &K) -> Result<Option<V>> {
        let hash = self.hash(key);
        self.prefetch(hash);
        let mut writing = self.stripes.write(hash);
        let core = self.heap.core();
        let mut held = core.hold();
        let found = search(self.pool(), self.line(hash), hash, bytemuck::bytes_of(key))?;
        let Search::Found { slot, entry } = found else {
            return Ok(None);
        };
        let value = self.value(entry)?;
        let freed = core.object(entry)?;
        held.take_over(&core.space, self.stripes.last(&writing))?;
        core.change_held(&mut held, &[(slot, 0)], Some(freed))?;
        writing.last = Some(held.last());
        writing.came -= 1;
        Ok(Some(value))
    }

    /// How many entries there are. The first time they are counted.
    ///
    /// # Errors
    ///
    /// The map is damaged.
    pub fn len(&self) -> Result<u64> {
        let reading = self.stripes.read_all();
        let came: i64 = reading.iter().map(|stripe| stripe.came).sum();
        if let Some(base) = self.base.get() {
            return Ok((base + came) as u64);
        }
        let mut found = 0;
        for group in 0..self.groups() {
            for line in 0..LINES {
                let line = self.group(group) + line * LINE_BYTES;
                found += count(self.pool(), line)? as i64;
            }
        }
        let _ = self.base.set(found - came);
        Ok(found as u64)
    }

    /// Whether there are none.
    ///
    /// # Errors
    ///
    /// As [`HashMap::len`].
    pub fn is_empty(&self) -> Result<bool> {
        self.len().map(|len| len == 0)
    }

    /// Gives a key a value; says which one it had. The lane is held before anything is looked at: to
    /// take it is a locked instruction, which would wait for the line that is looked for, and all
    /// that follows would wait with it.
    #[inline]
    fn put(&self, stripe: &mut Stripe, hash: u64, key: &K, value: &V) -> Result<Option<V>> {
        let core = self.heap.core();
        let mut held = core.hold();
        let bytes = bytemuck::bytes_of(key);
        let found = search(self.pool(), self.line(hash), hash, bytes)?;
        held.take_over(&core.space, self.stripes.last(stripe))?;
        let slot = match found {
            Search::Found { entry, .. } => {
                return self.replace(&mut held, stripe, entry, value).map(Some);
            }
            Search::Room { slot } => slot,
            Search::Full { link } => {
                let line = [[0; LINE_BYTES as usize].as_slice()];
                let slot = core.publish_held(&mut held, &publication(link, 0, &line))?;
                stripe.last = Some(held.last());
                slot
            }
        };
        let parts = [&hash.to_le_bytes(), bytes, bytemuck::bytes_of(value)];
        core.publish_held(&mut held, &publication(slot, tag_of(hash), &parts))?;
        stripe.last = Some(held.last());
        Ok(None)
    }

    /// Gives an entry another value, and says which one it had. The lane has taken over.
    /// It is not a part of `put`, where most of the time it would only be in the way.
    #[inline(never)]
    fn replace(&self, held: &mut Held, stripe: &mut Stripe, entry: u64, value: &V) -> Result<V> {
        let (old, at) = (self.value(entry)?, self.value_at(entry));
        let new = words_of(value);
        let both = words_of(&old).into_iter().zip(&new);
        let differ = (at..).step_by(8).zip(both).filter(|(_, (a, b))| a != *b);
        let words: Vec<(u64, u64)> = differ.map(|(at, (_, &new))| (at, new)).collect();
        let mut changes = Changes::default();
        match words.len() {
            0 => return Ok(old),
            1..=MAX_PAIRS => changes.words = words,
            _ => changes.objects = vec![(at, &new)],
        }
        stripe.last = Some(self.heap.core().commit_held(held, &mut changes)?);
        Ok(old)
    }

    /// Whether the table is to grow, as far as one stripe shows.
    #[inline]
    fn is_full(&self, stripe: &Stripe) -> bool {
        let entries = (self.guess + stripe.came).max(0) as u64;
        entries * self.stripes.len() > self.groups() * FULL
    }

    #[inline]
    fn hash(&self, key: &K) -> u64 {
        let mut sum = Checksum::new(self.shape.seed);
        sum.bytes(bytemuck::bytes_of(key));
        sum.finish()
    }

    #[inline]
    fn groups(&self) -> u64 {
        self.groups.load(Ordering::Acquire)
    }

    /// Where the line of a hash lies. Its stripe is held.
    #[inline]
    fn line(&self, hash: u64) -> u64 {
        self.group(group_of(hash, self.groups())) + line_of(hash) * LINE_BYTES
    }

    /// Has the processor fetch the line of a hash, as far as can be said without its stripe.
    #[inline]
    fn prefetch(&self, hash: u64) {
        self.pool().medium.prefetch(self.line(hash), LINE_BYTES);
    }

    /// Where a group lies.
    #[inline]
    fn group(&self, group: u64) -> u64 {
        let position = self.shape.position(group);
        let segment = self.segments[position.segment].load(Ordering::Acquire);
        segment + position.within * GROUP_BYTES
    }

    fn value_at(&self, entry: u64) -> u64 {
        entry + 8 + mem::size_of::<K>().next_multiple_of(8) as u64
    }

    /// Bytes of an entry.
    fn entry_bytes(&self) -> u64 {
        self.value_at(0) + mem::size_of::<V>() as u64
    }

    /// The value of an entry whose key was read.
    fn value(&self, entry: u64) -> Result<V> {
        let mut value = V::zeroed();
        let (at, len) = (self.value_at(entry), mem::size_of::<V>());
        self.pool().check(at, len as u64, "a hash map's entry")?;
        self.pool()
            .medium
            .load(at, bytemuck::bytes_of_mut(&mut value));
        Ok(value)
    }

    fn key(&self, entry: u64) -> Result<K> {
        let mut key = K::zeroed();
        let len = mem::size_of::<K>() as u64;
        self.pool().check(entry, 8 + len, "a hash map's entry")?;
        self.pool()
            .medium
            .load(entry + 8, bytemuck::bytes_of_mut(&mut key));
        Ok(key)
    }

    fn pool(&self) -> &Pool<M> {
        &self.heap.core().space.pool
    }
}

/// The shape of a map's table that begins with so many groups, a power of two.
fn shape_of<K, V>(groups: u64) -> Shape {
    Shape {
        key_bytes: mem::size_of::<K>() as u32,
        value_bytes: mem::size_of::<V>() as u32,
        seed: 0,
        first: groups.ilog2(),
    }
}

fn publication<'a>(destination: u64, upper: u16, parts: &'a [&'a [u8]]) -> Publication<'a> {
    Publication {
        destination,
        upper,
        kind: 0,
        contents: Contents::Parts(parts),
    }
}

/// The words of a value, the last one filled with zeros.
fn words_of<V: Pod>(value: &V) -> Vec<u64> {
    let bytes = bytemuck::bytes_of(value).chunks(8);
    bytes.map(padded).collect()
}

/// A slot's word.
fn slot_word(entry: u64, hash: u64) -> u64 {
    Ptr::<u8>::at(entry).offset() | u64::from(tag_of(hash)) << FIELD_BITS
}

const _: () = assert!((SLOTS + 1) * 8 == LINE_BYTES as usize);
