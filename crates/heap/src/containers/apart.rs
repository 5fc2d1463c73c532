//! Stored values: in their entry or, if they are long, apart from it, up to as many bytes as a pool has.
//!
//! A value that lies apart and has at most [`part_bytes`] is an object of its own; a longer one is a list
//! of pointers to such objects. The length tells which.

use crate::error::Result;
use crate::layout::Geometry;
use crate::medium::WORD_BYTES;
use crate::sink::{Contents, Sink, Source};

use super::data::Value;

/// Bit that marks a value that lies apart, in a word that holds its length.
pub(super) const APART: u64 = 1 << 63;

/// Returns the bytes of each part of a value but the last: 15 chunks, whose contents a record can still
/// cover where chunks have 64 KiB, and for which a fragmented pool has room.
pub(super) fn part_bytes(geometry: &Geometry) -> u64 {
    geometry.offset_of(15).min(geometry.max_object())
}

/// The place of a value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    /// Offset of the value, or of its list of parts.
    pub at: u64,
    pub len: u64,
    /// [`part_bytes`] of the pool, if the value lies apart.
    part: Option<u64>,
}

impl Stored {
    /// Returns the place of a value in its entry.
    #[inline]
    pub fn within(at: u64, len: u64) -> Self {
        let part = None;
        Self { at, len, part }
    }

    /// Returns the place of a value that lies apart.
    pub fn apart(at: u64, len: u64, part: u64) -> Self {
        let part = Some(part);
        Self { at, len, part }
    }

    /// Returns the place of a value whose length was stored as `said`, with [`APART`] if only its pointer
    /// lies at `at`.
    ///
    /// # Errors
    ///
    /// The pointer is not in the pool.
    #[inline]
    pub fn decode(source: &impl Source, said: u64, at: u64, part: u64) -> Result<Self> {
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
    pub fn store<S: Sink>(sink: &mut S, bytes: &[u8], part: u64) -> Result<u64> {
        if bytes.len() as u64 <= part {
            return sink.make(&Contents::Parts(&[bytes]));
        }
        let pieces = bytes.chunks(part as usize);
        let list = pieces.map(|piece| sink.make(&Contents::Parts(&[piece])));
        let list = list.collect::<Result<Vec<_>>>()?;
        sink.make_words(&list)
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

    /// Reads the bytes of the value.
    ///
    /// # Errors
    ///
    /// A part of the value is not in the pool.
    #[inline(always)]
    pub fn load(&self, source: &impl Source, into: &mut [u8]) -> Result<()> {
        match self.part {
            Some(part) if self.len > part => self.load_parts(source, part, into),
            _ => source.load_bytes(self.at, into),
        }
    }

    #[cold]
    fn load_parts(&self, source: &impl Source, part: u64, into: &mut [u8]) -> Result<()> {
        let places = (self.at..).step_by(WORD_BYTES as usize);
        let mut pieces = places.zip(into.chunks_mut(part as usize));
        pieces.try_for_each(|(at, piece)| source.load_bytes(source.word(at)?, piece))
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
        if self.len > part {
            for i in 0..self.len.div_ceil(part) {
                objects.push(source.word(self.at.saturating_add(i * WORD_BYTES))?);
            }
        }
        Ok(objects)
    }
}
