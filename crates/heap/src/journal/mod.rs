//! A journal of lines, for media on which a fence writes whole pages wherever they lie (a plain
//! file): the lines that were flushed are written side by side, and their own pages when the
//! journal is full.
//!
//! So a fence writes one page, or a few in a row, where it would have written one for each line: an
//! operation of three pages takes a fifth of the time, one of 100 pages a seventieth.
//!
//! When the pool is opened after a crash, the contents of the journal are stored again. That is
//! right because nothing in this crate relies on a line not being durable before it was fenced: the
//! lines' own pages may be written at any time, and the contents restored to a line are those of
//! its last fence or later.

mod entry;
mod noted;
mod numbers;
mod writer;

use std::ops::Range;
use std::sync::OnceLock;

use crate::contiguity::Purpose;
use crate::error::{Error, Result};
use crate::layout::chunk::Use;
use crate::layout::{Geometry, header};
use crate::medium::reservation::HUGE_BYTES;
use crate::medium::{Counts, Kind, Medium, WORD_BYTES, forward};

use entry::Place;
use noted::Noted;
pub(crate) use noted::PAGE_BYTES;
use numbers::{number, set_number};
use writer::Writer;

/// The most bytes of a journal: replaying it adds a tenth of a second to opening a pool.
const MAX_BYTES: u64 = 64 << 20;
/// A journal of at least this many bytes uses only whole huge pages.
const LARGE_BYTES: u64 = 4 * HUGE_BYTES;
/// A journal takes up at most one in this many chunks of the pool.
const PART: u64 = 32;

/// Returns how many chunks the journal of a pool of `chunks` chunks takes up; 0 if it has none.
pub(crate) fn chunks_for(geometry: &Geometry, chunks: u64) -> u64 {
    (chunks / PART).min(geometry.chunk_of(MAX_BYTES).max(1))
}

/// A medium with a journal. Until the journal is begun, all calls go to the medium.
pub(crate) struct Journaled<M> {
    medium: M,
    writer: OnceLock<Writer>,
    noted: Noted,
    /// The error of the first fence that failed, if one has.
    failure: OnceLock<Error>,
}

impl<M: Medium> Journaled<M> {
    /// Returns a medium without a journal.
    pub fn new(medium: M) -> Self {
        Self {
            medium,
            writer: OnceLock::new(),
            noted: Noted::default(),
            failure: OnceLock::new(),
        }
    }

    #[cold]
    fn remember(&self, error: &Error) {
        let _ = self.failure.set(error.clone());
    }

    /// Checks that no fence has failed.
    ///
    /// # Errors
    ///
    /// The error of the first fence that failed.
    #[inline]
    pub fn outcome(&self) -> Result<()> {
        self.medium.expect_there()?;
        self.failure.get().cloned().map_or(Ok(()), Err)
    }

    /// Notes which pages of the first `len` bytes are flushed from now on. The caller holds all
    /// lanes.
    pub fn note_changes(&self, len: u64) {
        self.noted.begin(len);
    }

    /// Returns the pages that were flushed since the last call.
    pub fn take_changed(&self) -> Vec<u64> {
        self.noted.take()
    }

    /// Notes nothing any more.
    pub fn forget_changes(&self) {
        self.noted.end();
    }

    /// Returns the medium below.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// Returns the medium below, for the only owner of the pool.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// Returns the medium below, as it is.
    pub fn into_medium(self) -> M {
        self.medium
    }

    /// Writes a journal from now on, into chunks that nothing else uses. Everything that was
    /// flushed is durable, and no other thread stores meanwhile.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn begin(&self, geometry: &Geometry, chunk: u64, chunks: u64) -> Result<()> {
        let generation = number(&self.medium, header::GENERATION_AT)?;
        let writer = Writer::new(bytes_of(geometry, chunk, chunks), generation);
        writer.renew(&self.medium)?;
        set_number(&self.medium, header::JOURNAL_AT, chunk)?;
        // If there is one already, it was begun before.
        let _ = self.writer.set(writer);
        Ok(())
    }

    /// Makes everything durable in its own place, and stores that there is no journal.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn end(&self) -> Result<()> {
        if self.writer.get().is_none() {
            return Ok(());
        }
        self.medium.sync()?;
        self.medium.expect_there()?;
        set_number(&self.medium, header::JOURNAL_AT, 0)
    }
}

/// Stores the contents of a pool's journal again, durably, if there is one, and stores that there
/// is none. This can be interrupted and repeated.
///
/// # Errors
///
/// The header or the journal is damaged, or a fence failed.
pub(crate) fn replay<M: Medium>(medium: &M, geometry: &Geometry) -> Result<()> {
    let chunk = number(medium, header::JOURNAL_AT)?;
    if chunk == 0 {
        return Ok(());
    }
    let generation = number(medium, header::GENERATION_AT)?;
    let chunks = chunks_from(medium, geometry, chunk)?;
    let Range { start, end } = bytes_of(geometry, chunk, chunks);
    let mut offset = start;
    while let Some(words) = entry::decode(medium, Place { offset, generation }, end) {
        entry::replay(medium, &words)?;
        offset += (words.len() as u64 + 2) * WORD_BYTES;
    }
    medium.fence()?;
    set_number(medium, header::JOURNAL_AT, 0)
}

/// Returns the number of chunks of a journal, by the word about its first chunk.
fn chunks_from<M: Medium>(medium: &M, geometry: &Geometry, chunk: u64) -> Result<u64> {
    let there = geometry.chunk_of(medium.len());
    if chunk < there && !geometry.is_table(chunk) {
        let at = geometry.word_of(chunk);
        if let Ok(Use::Journal { chunks }) = Use::decode(at, medium.load_word(at))
            && chunks <= there - chunk
        {
            return Ok(chunks);
        }
    }
    Err(Error::damaged(format!(
        "the pool's header is damaged: no journal begins with chunk {chunk}"
    )))
}

/// Returns the range of bytes that a journal uses of its chunks. A large one shares no huge page
/// with anything else: the kernel writes a page whole when a part of it was changed through a
/// mapping.
fn bytes_of(geometry: &Geometry, chunk: u64, chunks: u64) -> Range<u64> {
    let start = geometry.offset_of(chunk);
    let end = geometry.offset_of(chunk + chunks);
    match end - start >= LARGE_BYTES {
        true => start.next_multiple_of(HUGE_BYTES)..end / HUGE_BYTES * HUGE_BYTES,
        false => start..end,
    }
}

// SAFETY: the memory is the medium's.
unsafe impl<M: Medium> Medium for Journaled<M> {
    forward! {
        self => self.medium;
        fn base() -> *mut u8;
        fn len() -> u64;
        fn max_len() -> u64;
        fn grow(len: u64) -> Result<()>;
        fn store(offset: u64, bytes: &[u8]);
        fn store_word(offset: u64, word: u64);
        fn writes_pages() -> bool;
        fn prepare(offset: u64, len: u64, purpose: Purpose);
        fn prefetch(offset: u64, len: u64);
        fn load_word(offset: u64) -> u64;
        fn load_words(offset: u64, into: &mut [u64]);
        fn load(offset: u64, into: &mut [u8]);
        fn kind() -> Kind;
        fn is_child() -> bool;
        fn expect_there() -> Result<()>;
        fn identity() -> Option<[u64; 2]>;
    }

    #[inline]
    fn store_streaming(&self, offset: u64, bytes: &[u8]) {
        self.noted.flushed(offset, bytes.len() as u64);
        match self.writer.get() {
            None => self.medium.store_streaming(offset, bytes),
            Some(writer) => {
                self.medium.store(offset, bytes);
                writer.flush(offset, bytes.len() as u64);
            }
        }
    }

    #[inline]
    fn flush(&self, offset: u64, len: u64) {
        self.noted.flushed(offset, len);
        match self.writer.get() {
            None => self.medium.flush(offset, len),
            Some(writer) => writer.flush(offset, len),
        }
    }

    #[inline]
    fn fence(&self) -> Result<()> {
        let fenced = match self.writer.get() {
            None => self.medium.fence(),
            Some(writer) => writer.fence(&self.medium),
        };
        // A page that was missing before the fence, or while the journal was written.
        let fenced = fenced.and_then(|()| self.medium.expect_there());
        fenced.inspect_err(|error| self.remember(error))
    }

    fn counts(&self) -> Counts {
        let own = self.writer.get().map(Writer::counts);
        own.unwrap_or_default() + self.medium.counts()
    }
}
