//! The elements of a vector: the state in DRAM that all its handles share, and its operations over
//! any source and sink.

use bytemuck::Pod;

use crate::checksum::padded;
use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::medium::{Medium, WORD_BYTES};
use crate::sink::{Contents, Sink, Source};
use crate::transaction::held::Guarded;

use super::super::data::Value;
use super::super::emptying::{Emptying, Progress};
use super::super::identity::Identity;
use super::super::inspecting::{Inspecting, Order};
use super::layout::{Shape, TABLE_WORDS, directory_at, len_at};

/// The elements of a vector.
pub(super) struct Elements {
    /// Offset of the table.
    pub table: u64,
    pub shape: Shape,
    pub guard: Guard,
}

impl Elements {
    /// Returns the number of elements.
    ///
    /// # Errors
    ///
    /// The table is not in the pool.
    pub fn len(&self, source: &impl Source) -> Result<u64> {
        match self.shape.checked {
            false => source.word(len_at(self.table)),
            true => self.checked_len(source),
        }
    }

    /// Returns an element; `None` beyond the last one.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn get<T: Pod + Identity>(&self, source: &impl Source, index: u64) -> Result<Option<T>> {
        if index >= self.len(source)? {
            return Ok(None);
        }
        let at = self.at(source, index)?;
        T::read(size_of::<T>(), |into| {
            source.load_bytes(at, into)?;
            self.expect_element(source, at, index, into)
        })
        .map(Some)
    }

    /// Returns the bytes of an element that exists.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn bytes(&self, source: &impl Source, index: u64) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.shape.element_bytes as usize];
        let at = self.at(source, index)?;
        source.load_bytes(at, &mut bytes)?;
        self.expect_element(source, at, index, &bytes)?;
        Ok(bytes)
    }

    /// Sets the value of an element.
    ///
    /// # Errors
    ///
    /// There is no such element, or the vector is damaged.
    pub fn set<T: Pod, S: Sink>(&self, sink: &mut S, index: u64, value: &T) -> Result<()> {
        let len = self.len(sink)?;
        ensure(index < len, || {
            Error::usage(format!(
                "index {index} is beyond the {len} elements of the vector"
            ))
        })?;
        let at = self.at(sink, index)?;
        let bytes = bytemuck::bytes_of(value);
        if !self.shape.checked {
            return sink.write_bytes(at, bytes);
        }
        // Only where an element was.
        let mut old = vec![0; bytes.len()];
        sink.load_bytes(at, &mut old)?;
        self.expect_element(sink, at, index, &old)?;
        let check = self.element_check(at, index, bytes);
        if bytes.len() as u64 <= 2 * WORD_BYTES {
            for (at, word) in (at..).step_by(8).zip(bytes.chunks(8)) {
                sink.set(at, padded(word))?;
            }
            return sink.set(at + self.shape.padded(), check);
        }
        let words = bytes.chunks(8).map(padded).chain([check]);
        sink.write(at, &words.collect::<Vec<_>>())
    }

    /// Adds an element behind the last one.
    ///
    /// # Errors
    ///
    /// The pool is full, the vector is damaged, or a fence failed.
    pub fn push<T: Pod, S: Sink>(&self, sink: &mut S, value: &T) -> Result<()> {
        self.push_bytes(sink, bytemuck::bytes_of(value))
    }

    /// Same as [`Elements::push`], for the bytes of an element.
    ///
    /// # Errors
    ///
    /// Same as [`Elements::push`].
    #[inline]
    pub fn push_bytes<S: Sink>(&self, sink: &mut S, bytes: &[u8]) -> Result<()> {
        let len = self.len(sink)?;
        ensure(len < self.shape.capacity(), || {
            Error::full("a vector has no room for more elements")
        })?;
        let segment = self.shape.position(len).segment;
        let pointer = directory_at(self.table, segment);
        if self.pointer(pointer, sink.word(pointer)?)? == 0 {
            let bytes = self.shape.elements_of(segment) * self.shape.stride();
            let made = sink.make(&Contents::Zeros(bytes))?;
            sink.set(pointer, self.said(pointer, made))?;
        }
        let at = self.at(sink, len)?;
        let check;
        let parts = match self.shape.checked {
            false => &[bytes][..],
            true => {
                check = self.element_check(at, len, bytes).to_le_bytes();
                &[bytes, &check[..]][..]
            }
        };
        let free = !sink.is_changed()? || self.len(sink.pool())? <= len;
        sink.fill(at, parts, free)?;
        self.set_len(sink, len + 1)
    }

    /// Removes the last element and returns it. Segments are kept for later elements.
    ///
    /// # Errors
    ///
    /// The vector is damaged.
    pub fn pop<T: Pod + Identity, S: Sink>(&self, sink: &mut S) -> Result<Option<T>> {
        let Some(last) = self.len(sink)?.checked_sub(1) else {
            return Ok(None);
        };
        let value = self.get(sink, last)?;
        self.set_len(sink, last)?;
        Ok(value)
    }

    /// Removes all elements from index `len` on.
    ///
    /// # Errors
    ///
    /// The table is not in the pool.
    pub fn truncate<S: Sink>(&self, sink: &mut S, len: u64) -> Result<()> {
        match len < self.len(sink)? {
            true => self.set_len(sink, len),
            false => Ok(()),
        }
    }

    /// Returns the offset of each object of the vector once for each time it is reached, for
    /// checks.
    ///
    /// # Errors
    ///
    /// The table is not in the pool.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let words = source.words::<TABLE_WORDS>(self.table)?;
        let first = ((directory_at(self.table, 0) - self.table) / 8) as usize;
        let places = (directory_at(self.table, 0)..).step_by(8);
        let mut objects = vec![self.table];
        for (at, &word) in places.zip(&words[first..]).filter(|(_, word)| **word != 0) {
            objects.push(self.pointer(at, word)?);
        }
        Ok(objects)
    }

    /// Returns the offset of an element whose segment exists.
    #[inline]
    fn at(&self, source: &impl Source, index: u64) -> Result<u64> {
        let damaged = || Error::damaged("a vector is damaged: a segment is missing");
        ensure(index < self.shape.capacity(), damaged)?;
        let position = self.shape.position(index);
        let pointer = directory_at(self.table, position.segment);
        let segment = self.pointer(pointer, source.word(pointer)?)?;
        ensure(segment != 0, damaged)?;
        Ok(segment.saturating_add(position.within * self.shape.stride()))
    }
}

impl Inspecting for Elements {
    fn inspect(
        &self,
        source: &impl Source,
        _: Option<Order>,
        wrong: &mut dyn FnMut(u64, String),
    ) -> Result<Vec<u64>> {
        let len = self.len(source)?;
        if let Some(last) = len.checked_sub(1) {
            for segment in 0..=self.shape.position(last).segment {
                let pointer = directory_at(self.table, segment);
                if self.pointer(pointer, source.word(pointer)?)? == 0 {
                    let what = format!("it has {len} elements, and no segment {segment}");
                    wrong(self.table, what);
                }
            }
        }
        for index in (0..len).filter(|_| self.shape.checked) {
            // A segment that is missing was said once.
            if let Ok(at) = self.at(source, index)
                && let Err(error) = self.bytes(source, index)
            {
                wrong(at, format!("element {index}: {error}"));
            }
        }
        self.objects(source)
    }
}

impl Emptying for Elements {
    /// Frees all segments, which are few.
    fn empty_some<S: Sink>(&self, sink: &mut S, _: &mut Progress) -> Result<bool> {
        for segment in self.objects(sink)?.into_iter().skip(1) {
            sink.free(segment)?;
        }
        let first = directory_at(self.table, 0);
        let end = self.table + TABLE_WORDS as u64 * 8;
        for pointer in (first..end).step_by(8) {
            if sink.word(pointer)? != 0 {
                sink.set(pointer, 0)?;
            }
        }
        self.set_len(sink, 0)?;
        Ok(false)
    }

    fn shrink<S: Sink>(&self, _: &mut S) -> Result<()> {
        Ok(())
    }

    fn free_table<S: Sink>(&self, sink: &mut S) -> Result<()> {
        sink.free(self.table)
    }
}

impl<M: Medium> Guarded<M> for Elements {
    fn guard(&self, _: usize) -> &Guard {
        &self.guard
    }
}
