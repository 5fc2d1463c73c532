//! Entries: how their key and value lie, and how they are made and read.

use std::borrow::Cow;

use crate::checksum::{Checksum, checksum};
use crate::error::{Error, Result, ensure};
use crate::layout::Geometry;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};

use super::super::apart::{APART, Parts, Stored};
use super::super::compacting::Mover;
use super::super::data::Value;
use super::layout::{ANY, Shape};

/// The layout of a table's entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entries {
    /// Bytes of a key and of a value, filled to whole words, if all have the same size.
    fixed: Option<(u64, u64)>,
    key_bytes: u64,
    value_bytes: u64,
    part: Parts,
    max_object: u64,
}

/// An entry to be made: the hash of the key, and the bytes.
#[derive(Clone, Copy)]
pub(super) struct New<'a> {
    pub hash: u64,
    pub key: &'a [u8],
    pub value: &'a [u8],
}

/// An entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub at: u64,
    key: Stored,
    value: Stored,
}

impl Entries {
    pub fn new(shape: &Shape, geometry: &Geometry) -> Self {
        let (key, value) = (u64::from(shape.key_bytes), u64::from(shape.value_bytes));
        let fixed = shape.key_bytes != ANY && shape.value_bytes != ANY;
        Self {
            fixed: fixed.then_some((key.next_multiple_of(8), value.next_multiple_of(8))),
            key_bytes: key,
            value_bytes: value,
            part: Parts::of(geometry),
            max_object: geometry.max_object(),
        }
    }

    /// Returns the entry at an offset, which is checked.
    ///
    /// # Errors
    ///
    /// It is not in the pool, or damaged.
    #[inline]
    pub fn read(&self, source: &impl Source, at: u64) -> Result<Entry> {
        let entry = self.place(source, at)?;
        self.expect(source, &entry)?;
        Ok(entry)
    }

    /// Returns the entry at an offset, which was checked when its key was found.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    #[inline]
    pub fn place(&self, source: &impl Source, at: u64) -> Result<Entry> {
        if let Some((key, _)) = self.fixed {
            return Ok(Entry {
                at,
                key: Stored::within(at + 8, self.key_bytes),
                value: Stored::within(at + 8 + key, self.value_bytes),
            });
        }
        let [key_len, said] = source.words(at.saturating_add(8))?;
        let key_at = at + 24;
        let value_at = key_at.saturating_add(key_len).saturating_add(7) & !7;
        Ok(Entry {
            at,
            key: Stored::within(key_at, key_len),
            value: Stored::decode(source, said, value_at, self.part)?,
        })
    }

    /// Returns whether the entry at an offset has this key.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    #[inline]
    pub fn has_key(&self, source: &impl Source, at: u64, key: &[u8]) -> Result<bool> {
        if self.part.checked {
            self.expect_at(source, at)?;
        }
        match self.fixed {
            Some(_) => source.equal(at.saturating_add(8), key),
            None => {
                let same = source.word(at.saturating_add(8))? == key.len() as u64;
                Ok(same && source.equal(at.saturating_add(24), key)?)
            }
        }
    }

    /// Makes an entry.
    ///
    /// # Errors
    ///
    /// The key is too long for an object, the pool is full, or a fence failed.
    #[inline]
    pub fn make<S: Sink>(&self, sink: &mut S, new: &New) -> Result<u64> {
        let New { hash, key, value } = *new;
        let hash = self.stored_hash(hash).to_le_bytes();
        if self.fixed.is_some() {
            let bytes = (8 + key.len() + 8 + value.len() + 8) as u64;
            self.expect_room(bytes)?;
            return sink.make(&self.contents(&[&hash, key, value]));
        }
        let (key_len, len) = (key.len() as u64, value.len() as u64);
        let whole = 24 + key_len.next_multiple_of(8) + len.next_multiple_of(8);
        let (said, value) = match whole <= self.part.bytes {
            true => (len, Cow::Borrowed(value)),
            false => {
                self.expect_room(32 + key_len.next_multiple_of(8))?;
                let at = Stored::store(sink, value, self.part)?;
                (len | APART, Cow::Owned(at.to_le_bytes().to_vec()))
            }
        };
        let (key_len, said) = (key_len.to_le_bytes(), said.to_le_bytes());
        sink.make(&self.contents(&[&hash, &key_len, &said, key, &value]))
    }

    /// Returns the word of an entry with its hash: where contents have checksums, the lower half
    /// and a check.
    #[inline]
    pub fn stored_hash(&self, hash: u64) -> u64 {
        match self.part.checked {
            false => hash,
            true => {
                let half = hash & u64::from(u32::MAX);
                half | checksum(0, &[half]) << 32
            }
        }
    }

    /// Returns the hash of the entry at an offset; the lower half, where contents have checksums.
    ///
    /// # Errors
    ///
    /// It is not in the pool, or damaged.
    pub fn hash_at(&self, source: &impl Source, at: u64) -> Result<u64> {
        let word = source.word(at)?;
        match self.part.checked {
            false => Ok(word),
            true => {
                ensure(self.stored_hash(word) == word, || damaged(at))?;
                Ok(word & u64::from(u32::MAX))
            }
        }
    }

    /// Returns the checksum of an entry, and where it is stored.
    #[inline]
    fn check_of(&self, source: &impl Source, entry: &Entry) -> Result<(u64, u64)> {
        let at = entry.at;
        let value = match entry.value.is_apart() {
            // The pointer to it is in its place.
            true => 8,
            false => entry.value.len,
        };
        let begin = entry.key.at.saturating_add(entry.key.len).saturating_add(7) & !7;
        let end = begin.saturating_add(value).saturating_add(7) & !7;
        let mut sum = Checksum::new(at);
        source.add_to(&mut sum, at, end.saturating_sub(at))?;
        Ok((sum.finish(), end))
    }

    /// Checks that the entry at an offset is as it was written.
    #[inline(never)]
    fn expect_at(&self, source: &impl Source, at: u64) -> Result<()> {
        self.read(source, at).map(drop)
    }

    /// Checks that an entry is as it was written.
    #[inline]
    fn expect(&self, source: &impl Source, entry: &Entry) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let (check, at) = self.check_of(source, entry)?;
        let same = source.word(at)? == check;
        ensure(same, || damaged(entry.at))
    }

    /// Stores the check of an entry, after its value was changed.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    pub fn seal<S: Sink>(&self, sink: &mut S, entry: &Entry) -> Result<()> {
        if !self.part.checked {
            return Ok(());
        }
        let (check, at) = self.check_of(sink, entry)?;
        sink.set(at, check)
    }

    /// Moves the objects of an entry that are to move; returns where it is now, if it has moved.
    ///
    /// # Errors
    ///
    /// It is not in the pool, or there is no room.
    pub fn compact<M: Medium>(
        &self,
        mover: &mut Mover<'_, '_, M>,
        entry: &Entry,
    ) -> Result<Option<u64>> {
        entry.expect_there(mover.sink, entry.key.len)?;
        let value_at = (entry.key.at + entry.key.len).next_multiple_of(WORD_BYTES);
        let moves = mover.look(entry.at);
        let value = entry.value.compact(mover)?;
        if !moves {
            if let Some(value) = value {
                mover.sink.set(value_at, value)?;
                self.seal(mover.sink, entry)?;
            }
            return Ok(None);
        }
        let end = match entry.value.is_apart() {
            true => value_at + WORD_BYTES,
            false => value_at.saturating_add(entry.value.len),
        };
        let mut words = mover.load(entry.at, end - entry.at)?;
        if let (Some(value), Some(word)) = (value, words.last_mut()) {
            *word = value;
        }
        let parts: &[&[u8]] = &[bytemuck::cast_slice(&words)];
        mover.replace(entry.at, &self.contents(parts)).map(Some)
    }

    /// Returns the contents of an entry for its parts.
    #[inline]
    fn contents<'a>(&self, parts: &'a [&'a [u8]]) -> Contents<'a> {
        match self.part.checked {
            true => Contents::Checked(parts),
            false => Contents::Parts(parts),
        }
    }

    fn expect_room(&self, bytes: u64) -> Result<()> {
        let most = self.max_object;
        ensure(bytes <= most, || {
            Error::usage(format!(
                "an object of this pool has at most {most} bytes, and the entry would need {bytes}"
            ))
        })
    }

    /// Returns how many bytes of an entry are worth prefetching.
    pub fn usual_bytes(&self) -> u64 {
        self.fixed.map_or(128, |(key, value)| 8 + key + value)
    }
}

impl Entry {
    /// Returns the key.
    ///
    /// # Errors
    ///
    /// The key is not in the pool, or not valid.
    #[inline]
    pub fn key<K: Value + ?Sized>(&self, source: &impl Source) -> Result<K::Owned> {
        self.expect_there(source, self.key.len)?;
        self.key.read::<K>(source)
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// The value is not in the pool, or not valid.
    #[inline]
    pub fn value<V: Value + ?Sized>(&self, source: &impl Source) -> Result<V::Owned> {
        if V::BYTES.is_none() {
            self.expect_there(source, self.value.len)?;
        }
        self.value.read::<V>(source)
    }

    /// Checks a length before memory is allocated for it.
    fn expect_there(&self, source: &impl Source, len: u64) -> Result<()> {
        ensure(len <= source.bytes(), || {
            Error::damaged(format!(
                "a hash map is damaged: its entry at {} is longer than the pool",
                self.at
            ))
        })
    }

    /// Overwrites a value in place; returns whether it could: only a value of the same length.
    ///
    /// # Errors
    ///
    /// The entry is not in the pool.
    pub fn overwrite<S: Sink>(&self, sink: &mut S, value: &[u8]) -> Result<bool> {
        if self.value.is_apart() || self.value.len != value.len() as u64 {
            return Ok(false);
        }
        let new: Vec<u64> = value.chunks(8).map(crate::checksum::padded).collect();
        let mut old = vec![0; new.len()];
        sink.load(self.value.at, &mut old)?;
        let differ = || (0..new.len()).filter(|&i| new[i] != old[i]);
        match differ().count() {
            0..=3 => {
                for i in differ() {
                    sink.set(self.value.at + i as u64 * 8, new[i])?;
                }
            }
            _ => sink.write(self.value.at, &new)?,
        }
        Ok(true)
    }

    /// Returns the bytes of the key and of the value, of whatever types they are.
    ///
    /// # Errors
    ///
    /// They are not in the pool, or damaged.
    pub fn bytes(&self, source: &impl Source) -> Result<(Vec<u8>, Vec<u8>)> {
        Ok((self.key.bytes(source)?, self.value.bytes(source)?))
    }

    /// Frees the entry and its value.
    ///
    /// # Errors
    ///
    /// There is no such object.
    pub fn free<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.value.free(sink)?;
        sink.free(self.at)
    }

    /// Returns the offset of each object of the entry.
    ///
    /// # Errors
    ///
    /// It is not in the pool.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let mut objects = self.value.objects(source)?;
        objects.push(self.at);
        Ok(objects)
    }
}

pub(super) fn damaged(entry: u64) -> Error {
    Error::damaged(format!("a hash map is damaged: its entry at {entry} is"))
}
