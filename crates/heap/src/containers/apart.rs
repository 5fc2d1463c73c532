//! Stored values: in their entry or, if they are long, apart from it, up to as many bytes as a pool
//! has.
//!
//! A value that lies apart and has at most [`part_bytes`] is an object of its own; a longer one is
//! a list of pointers to such objects. The length tells which. Where contents have checksums, each
//! of these objects ends with its own.

use crate::checksum::{Checksum, checksum};
use crate::error::{Error, Result, ensure};
use crate::layout::Geometry;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};

use super::compacting::Mover;
use super::data::Value;

/// Bit that marks a value that lies apart, in a word that holds its length.
pub(super) const APART: u64 = 1 << 63;

/// How values that lie apart are divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// The bytes of each part but the last.
    pub bytes: u64,
    /// Whether each ends with its checksum.
    pub checked: bool,
}

impl Parts {
    /// Returns the parts of a pool: of 15 chunks, whose contents a record can still cover where
    /// chunks have 64 KiB, and for which a fragmented pool has room.
    pub fn of(geometry: &Geometry) -> Self {
        let checked = geometry.checksums;
        let whole = geometry.offset_of(15).min(geometry.max_object());
        Self {
            bytes: whole - WORD_BYTES * u64::from(checked),
            checked,
        }
    }

    fn make<S: Sink>(&self, sink: &mut S, bytes: &[u8]) -> Result<u64> {
        match self.checked {
            false => sink.make(&Contents::Parts(&[bytes])),
            true => sink.make(&Contents::Checked(&[bytes])),
        }
    }

    /// Makes an object of the bytes of another one, which it replaces.
    fn replace<M: Medium>(&self, mover: &mut Mover<'_, '_, M>, old: u64, len: u64) -> Result<u64> {
        let words = mover.load(old, len)?;
        let bytes = &bytemuck::cast_slice(&words)[..len as usize];
        self.expect(mover.sink, old, bytes)?;
        let new = self.make(mover.sink, bytes)?;
        mover.replaced(old)?;
        Ok(new)
    }

    /// Changes the words of an object.
    fn write<S: Sink>(&self, sink: &mut S, at: u64, words: &[u64]) -> Result<()> {
        let mut words = words.to_vec();
        if self.checked {
            words.push(checksum(at, &words));
        }
        sink.write(at, &words)
    }

    /// Checks that the bytes of an object are those that were stored there.
    fn expect(&self, source: &impl Source, at: u64, bytes: &[u8]) -> Result<()> {
        if !self.checked {
            return Ok(());
        }
        let mut sum = Checksum::new(at);
        sum.bytes(bytes);
        let behind = at.saturating_add(bytes.len().next_multiple_of(8) as u64);
        let same = source.word(behind)? == sum.finish();
        ensure(same, || {
            Error::damaged(format!("the value at {at} of the pool is damaged"))
        })
    }
}

/// The place of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Offset of the value, or of its list of parts.
    pub at: u64,
    pub len: u64,
    /// Its parts, if the value lies apart.
    part: Option<Parts>,
}

impl Stored {
    /// Returns the place of a value in its entry.
    #[inline]
    pub fn within(at: u64, len: u64) -> Self {
        let part = None;
        Self { at, len, part }
    }

    /// Returns the place of a value that lies apart.
    pub fn apart(at: u64, len: u64, part: Parts) -> Self {
        let part = Some(part);
        Self { at, len, part }
    }

    /// Returns the place of a value whose length was stored as `said`, with [`APART`] if only its
    /// pointer lies at `at`.
    ///
    /// # Errors
    ///
    /// The pointer is not in the pool.
    #[inline]
    pub fn decode(source: &impl Source, said: u64, at: u64, part: Parts) -> Result<Self> {
        match said & APART {
            0 => Ok(Self::within(at, said)),
            _ => Ok(Self::apart(source.word(at)?, said & !APART, part)),
        }
    }

    #[inline]
    pub fn is_apart(&self) -> bool {
        self.part.is_some()
    }

    /// Stores a value apart; returns its offset.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    pub fn store<S: Sink>(sink: &mut S, bytes: &[u8], part: Parts) -> Result<u64> {
        if bytes.len() as u64 <= part.bytes {
            return part.make(sink, bytes);
        }
        let pieces = bytes.chunks(part.bytes as usize);
        let list = pieces.map(|piece| part.make(sink, piece));
        let list = list.collect::<Result<Vec<_>>>()?;
        part.make(sink, bytemuck::cast_slice(&list))
    }

    /// Returns the value.
    ///
    /// # Errors
    ///
    /// A part of the value is not in the pool, or its bytes are not valid.
    #[inline(always)]
    pub fn read<V: Value + ?Sized>(&self, source: &impl Source) -> Result<V::Owned> {
        V::read(self.len as usize, |into| self.load(source, into))
    }

    /// Returns the bytes of the value, of whatever type it is.
    ///
    /// # Errors
    ///
    /// A part of the value is not in the pool, or damaged.
    pub fn bytes(&self, source: &impl Source) -> Result<Vec<u8>> {
        // A damaged length must not take memory that the pool does not have.
        ensure(self.len <= source.bytes(), || {
            Error::damaged(format!("a value at {} is longer than the pool", self.at))
        })?;
        let mut bytes = vec![0; self.len as usize];
        self.load(source, &mut bytes)?;
        Ok(bytes)
    }

    /// Reads the bytes of the value.
    ///
    /// # Errors
    ///
    /// A part of the value is not in the pool.
    #[inline(always)]
    pub fn load(&self, source: &impl Source, into: &mut [u8]) -> Result<()> {
        match self.part {
            Some(part) if part.checked || self.len > part.bytes => {
                self.load_parts(source, part, into)
            }
            _ => source.load_bytes(self.at, into),
        }
    }

    #[cold]
    fn load_parts(&self, source: &impl Source, part: Parts, into: &mut [u8]) -> Result<()> {
        if into.is_empty() {
            // Of a value that is not wanted nothing is read.
            return Ok(());
        }
        let load = |at, piece: &mut [u8]| {
            source.load_bytes(at, piece)?;
            part.expect(source, at, piece)
        };
        if self.len <= part.bytes {
            return load(self.at, into);
        }
        let places = self.places(source, part)?;
        let mut pieces = places.into_iter().zip(into.chunks_mut(part.bytes as usize));
        pieces.try_for_each(|(at, piece)| load(at, piece))
    }

    /// Returns the offsets of the parts of a value that has several.
    fn places(&self, source: &impl Source, part: Parts) -> Result<Vec<u64>> {
        // A damaged length must not take memory that the pool does not have.
        source.pool().check(
            self.at,
            self.len.div_ceil(part.bytes) * WORD_BYTES,
            "a container",
        )?;
        let mut places = vec![0; self.len.div_ceil(part.bytes) as usize];
        source.load(self.at, &mut places)?;
        part.expect(source, self.at, bytemuck::cast_slice(&places))?;
        Ok(places)
    }

    /// Frees the value, if it lies apart.
    ///
    /// # Errors
    ///
    /// A part of the value is no object.
    pub fn free<S: Sink>(&self, sink: &mut S) -> Result<()> {
        let mut objects = self.objects(sink)?.into_iter();
        objects.try_for_each(|at| sink.free(at))
    }

    /// Moves the objects of the value that are to move, if it lies apart; returns where it is now,
    /// if the pointer to it changes.
    ///
    /// # Errors
    ///
    /// A list of parts is not in the pool, or there is no room.
    pub fn compact<M: Medium>(&self, mover: &mut Mover<'_, '_, M>) -> Result<Option<u64>> {
        let Some(part) = self.part else {
            return Ok(None);
        };
        let moves = mover.look(self.at);
        if self.len <= part.bytes {
            return moves
                .then(|| part.replace(mover, self.at, self.len))
                .transpose();
        }
        let old = self.places(mover.sink, part)?;
        let mut list = old.clone();
        let lens = (0..self.len)
            .step_by(part.bytes as usize)
            .map(|at| part.bytes.min(self.len - at));
        for (piece, len) in list.iter_mut().zip(lens) {
            if mover.look(*piece) {
                *piece = part.replace(mover, *piece, len)?;
            }
        }
        if moves {
            let new = part.make(mover.sink, bytemuck::cast_slice(&list))?;
            mover.replaced(self.at)?;
            return Ok(Some(new));
        }
        if list != old {
            part.write(mover.sink, self.at, &list)?;
        }
        Ok(None)
    }

    /// Returns the offset of each object of the value, if it lies apart.
    ///
    /// # Errors
    ///
    /// A list of parts is not in the pool.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let Some(part) = self.part else {
            return Ok(Vec::new());
        };
        let mut objects = vec![self.at];
        if self.len > part.bytes {
            objects.extend(self.places(source, part)?);
        }
        Ok(objects)
    }
}
