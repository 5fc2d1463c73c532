//! The elements of a vector: the state in DRAM that all its handles share, and its operations over any
//! source and sink.

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::medium::Medium;
use crate::sink::{Contents, Sink, Source};
use crate::transaction::held::Guarded;

use super::super::data::Value;
use super::super::emptied::{Emptying, Progress};
use super::super::identity::Identity;
use super::super::inspected::{Inspecting, Order};
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
        source.word(len_at(self.table))
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
        T::read(size_of::<T>(), |into| source.load_bytes(at, into)).map(Some)
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
        sink.write_bytes(at, bytemuck::bytes_of(value))
    }

    /// Adds an element behind the last one.
    ///
    /// # Errors
    ///
    /// The pool is full, the vector is damaged, or a fence failed.
    pub fn push<T: Pod, S: Sink>(&self, sink: &mut S, value: &T) -> Result<()> {
        let len = self.len(sink)?;
        ensure(len < self.shape.capacity(), || {
            Error::full("a vector has no room for more elements")
        })?;
        let segment = self.shape.position(len).segment;
        let pointer = directory_at(self.table, segment);
        if sink.word(pointer)? == 0 {
            let bytes = self.shape.elements_of(segment) * self.shape.stride();
            let made = sink.make(&Contents::Zeros(bytes))?;
            sink.set(pointer, made)?;
        }
        let at = self.at(sink, len)?;
        sink.fill(at, &[bytemuck::bytes_of(value)])?;
        sink.set(len_at(self.table), len + 1)
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
        sink.set(len_at(self.table), last)?;
        Ok(value)
    }

    /// Removes all elements from index `len` on.
    ///
    /// # Errors
    ///
    /// The table is not in the pool.
    pub fn truncate<S: Sink>(&self, sink: &mut S, len: u64) -> Result<()> {
        match len < self.len(sink)? {
            true => sink.set(len_at(self.table), len),
            false => Ok(()),
        }
    }

    /// Returns the offset of each object of the vector once for each time it is reached, for checks.
    ///
    /// # Errors
    ///
    /// The table is not in the pool.
    pub fn objects(&self, source: &impl Source) -> Result<Vec<u64>> {
        let words = source.words::<TABLE_WORDS>(self.table)?;
        let first = ((directory_at(self.table, 0) - self.table) / 8) as usize;
        let segments = words[first..].iter().copied().filter(|&at| at != 0);
        Ok([self.table].into_iter().chain(segments).collect())
    }

    /// Returns the offset of an element whose segment exists.
    #[inline]
    fn at(&self, source: &impl Source, index: u64) -> Result<u64> {
        let damaged = || Error::damaged("a vector is damaged: a segment is missing");
        ensure(index < self.shape.capacity(), damaged)?;
        let position = self.shape.position(index);
        let segment = source.word(directory_at(self.table, position.segment))?;
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
                if source.word(directory_at(self.table, segment))? == 0 {
                    let what = format!("it has {len} elements, and no segment {segment}");
                    wrong(self.table, what);
                }
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
        sink.set(len_at(self.table), 0)?;
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
