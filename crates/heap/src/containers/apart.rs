//! Values that lie apart from their entry, because they are long: up to as many bytes as a pool has.
//!
//! A value of at most [`part_bytes`] is an object of its own; a longer one is a list of such objects,
//! one pointer after the other. Which of both it is, its length says.

use crate::error::Result;
use crate::layout::Geometry;
use crate::medium::WORD_BYTES;
use crate::sink::{Contents, Sink, Source};

/// Bytes of each part of a value but the last: 15 chunks, whose contents a record can still vouch for
/// where chunks have 64 KiB, and which a pool in pieces has room for.
pub(super) fn part_bytes(geometry: &Geometry) -> u64 {
    geometry.offset_of(15).min(geometry.max_object())
}

/// A value that lies apart: where, and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Apart {
    pub at: u64,
    pub len: u64,
    /// [`part_bytes`] of the pool.
    pub part: u64,
}

impl Apart {
    /// Stores a value.
    ///
    /// # Errors
    ///
    /// There is no room, or a fence failed.
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
        let at = sink.make(&Contents::Parts(&[bytemuck::cast_slice(&list)]))?;
        Ok(Self { at, len, part })
    }

    /// Reads as many bytes as it has.
    ///
    /// # Errors
    ///
    /// A part of it is not in the pool.
    pub fn load(&self, source: &impl Source, into: &mut [u8]) -> Result<()> {
        if self.len <= self.part {
            return source.load_bytes(self.at, into);
        }
        let places = (self.at..).step_by(WORD_BYTES as usize);
        let mut pieces = places.zip(into.chunks_mut(self.part as usize));
        pieces.try_for_each(|(at, piece)| source.load_bytes(source.word(at)?, piece))
    }

    /// Frees it.
    ///
    /// # Errors
    ///
    /// A part of it is no object.
    pub fn free<S: Sink>(&self, sink: &mut S) -> Result<()> {
        self.objects(sink)?
            .into_iter()
            .try_for_each(|at| sink.free(at))
    }

    /// The offset of each object of which it is made.
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
