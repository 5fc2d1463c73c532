//! Free chunks of a region, in the table of spans: extents with their length at both ends, so that
//! neighbours merge without a search.

use std::io;
use std::sync::Mutex;

use super::span::{Span, Table, What};
use super::spans::{link, unlink};
use crate::lock::lock;

/// All chunks: their spans, and which are free.
pub(super) struct Free {
    table: Table,
    extents: Mutex<Extents>,
}

impl Free {
    /// Returns the state of `chunks` chunks, the extents of them free.
    ///
    /// # Errors
    ///
    /// There is no address space for the table.
    pub fn new(chunks: usize, extents: Extents) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(chunks)?,
            extents: Mutex::new(extents),
        })
    }

    #[inline]
    pub fn spans(&self) -> &[Span] {
        self.table.spans()
    }

    /// Takes `count` chunks in a row, if there are any.
    pub fn take(&self, count: usize) -> Option<usize> {
        lock(&self.extents).take(self.spans(), count)
    }

    /// Gives chunks back.
    pub fn give(&self, chunk: usize, count: usize) {
        lock(&self.extents).give(self.spans(), chunk, count);
    }
}

/// The free chunks: extents in a list, and all behind the last chunk in use.
pub(super) struct Extents {
    first: u32,
    /// Chunks from this one on are free, and in no extent.
    end: usize,
}

impl Extents {
    /// Returns the state in which all chunks but chunk 0 are free.
    pub const fn new() -> Self {
        Self { first: 0, end: 1 }
    }

    /// Returns the state in which none of `count` chunks is free.
    pub const fn none(chunks: usize) -> Self {
        Self {
            first: 0,
            end: chunks,
        }
    }

    /// Takes `count` chunks in a row from the first extent in the list that has them.
    pub fn take(&mut self, spans: &[Span], count: usize) -> Option<usize> {
        let mut at = self.first as usize;
        while at != 0 {
            let len = spans[at].len.get() as usize;
            if len >= count {
                self.remove(spans, at, len);
                if len > count {
                    self.insert(spans, at + count, len - count);
                }
                return Some(at);
            }
            at = spans[at].next.get() as usize;
        }
        let (chunk, end) = (self.end, self.end.checked_add(count)?);
        if end > spans.len() {
            return None;
        }
        self.end = end;
        Some(chunk)
    }

    /// Gives chunks back.
    pub fn give(&mut self, spans: &[Span], chunk: usize, count: usize) {
        let (mut first, mut len) = (chunk, count);
        if spans[chunk - 1].what() == What::Free {
            let before = spans[chunk - 1].used.get() as usize;
            (first, len) = (chunk - before, before + len);
            self.remove(spans, first, before);
        }
        let behind = chunk + count;
        if behind < self.end && spans[behind].what() == What::Free {
            let more = spans[behind].len.get() as usize;
            self.remove(spans, behind, more);
            len += more;
        }
        match first + len == self.end {
            true => self.end = first,
            false => self.insert(spans, first, len),
        }
    }

    fn insert(&mut self, spans: &[Span], first: usize, len: usize) {
        let last = first + len - 1;
        spans[first].len.set(len as u32);
        spans[last].used.set(len as u32);
        spans[first].set(What::Free);
        spans[last].set(What::Free);
        link(spans, &mut self.first, first);
    }

    fn remove(&mut self, spans: &[Span], first: usize, len: usize) {
        unlink(spans, &mut self.first, first);
        spans[first].set(What::Nothing);
        spans[first + len - 1].set(What::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CHUNKS: usize = 64;

    proptest! {
        /// The twin marks each chunk by itself.
        #[test]
        fn what_is_taken_was_free_and_there_is_room_where_there_is_room(
            steps in prop::collection::vec((any::<bool>(), 1usize..12, any::<prop::sample::Index>()), 0..200),
        ) {
            let spans: Vec<Span> = (0..CHUNKS).map(|_| Span::default()).collect();
            let (mut extents, mut free) = (Extents::new(), [true; CHUNKS]);
            free[0] = false;
            let mut taken: Vec<(usize, usize)> = Vec::new();
            for (take, count, which) in steps {
                if take {
                    let room = free.windows(count).any(|chunks| chunks.iter().all(|&f| f));
                    let chunk = extents.take(&spans, count);
                    prop_assert_eq!(chunk.is_some(), room);
                    if let Some(chunk) = chunk {
                        prop_assert!(free[chunk..chunk + count].iter().all(|&f| f));
                        free[chunk..chunk + count].fill(false);
                        taken.push((chunk, count));
                    }
                } else if !taken.is_empty() {
                    let (chunk, count) = taken.swap_remove(which.index(taken.len()));
                    extents.give(&spans, chunk, count);
                    free[chunk..chunk + count].fill(true);
                }
            }
        }
    }
}
