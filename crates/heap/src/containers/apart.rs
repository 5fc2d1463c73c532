//! Long values, which lie apart from their entry: up to as many bytes as a pool has.
//!
//! A value of at most [`part_bytes`] is an object of its own; a longer one is a list of pointers to such
//! objects. The length tells which.

use crate::error::Result;
use crate::layout::Geometry;
use crate::medium::WORD_BYTES;
use crate::sink::{Contents, Sink, Source};

/// Returns the bytes of each part of a value but the last: 15 chunks, whose contents a record can still
/// cover where chunks have 64 KiB, and for which a fragmented pool has room.
pub(super) fn part_bytes(geometry: &Geometry) -> u64 {
    geometry.offset_of(15).min(geometry.max_object())
}

/// A value that lies apart: its offset and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Apart {
    pub at: u64,
    pub len: u64,
    /// [`part_bytes`] of the pool.
    pub part: u64,
}

impl Apart {
    /// Stores a value apart.
    ///
    /// # Errors
    ///
    /// The pool is full, or a fence failed.
    pub fn store<S: Sink>(sink: &mut S, bytes: &[u8], part: u64) -> Result<Self> {
        let len = bytes.len() as u64;
        if len <= part {
            let at = sink.make(&Contents::Parts(&[bytes]))?;
            return Ok(Self { at, len, part });
        }
        let mut list = Vec::with_capacity(len.div_ceil(part) as usize);
        for piece in bytes.chunks(part as usize) {
            list.push(sink.make(&Contents::Parts(&[piece]))?);
        }
        let at = sink.make_words(&list)?;
        Ok(Self { at, len, part })
    }

    /// Reads the value.
    ///
    /// # Errors
    ///
    /// A part of the value is not in the pool.
    pub fn load(&self, source: &impl Source, into: &mut [u8]) -> Result<()> {
        if self.len <= self.part {
            return source.load_bytes(self.at, into);
        }
        let places = (self.at..).step_by(WORD_BYTES as usize);
        let mut pieces = places.zip(into.chunks_mut(self.part as usize));
        pieces.try_for_each(|(at, piece)| source.load_bytes(source.word(at)?, piece))
    }

    /// Frees the value.
    ///
    /// # Errors
    ///
    /// A part of the value is no object.
    pub fn free<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.objects(sink)?
            .into_iter()
            .try_for_each(|at| sink.free(at))
    }

    /// Returns the offset of each object of the value.
    ///
    /// # Errors
    ///
    /// A list of parts is not in the pool.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let mut objects = vec![self.at];
        if self.len > self.part {
            for i in 0..self.len.div_ceil(self.part) {
                objects.push(source.word(self.at.saturating_add(i * WORD_BYTES))?);
            }
        }
        Ok(objects)
    }
}
