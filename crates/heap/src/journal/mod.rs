//! A journal of lines, for media on which a fence writes whole pages wherever they lie (a plain
//! file): the lines that were flushed are written side by side, and their own pages when the journal
//! is full.
//!
//! A fence so writes one page, or few in a row, where it would have written one for each line: with
//! an operation of three pages that takes a fifth of the time, and with 100 pages a seventieth.
//!
//! What is in the journal is stored again by whoever opens the pool after a crash. That is right
//! because nothing here depends on it that a line is durable only when it was fenced: the lines'
//! own pages may be written at any time, and what a line is set back to, it held at its last fence
//! or later.

mod entry;
mod writer;

use std::ops::Range;
use std::sync::OnceLock;

use crate::allocator::Space;
use crate::contiguity::Purpose;
use crate::error::{Cause, Error, Result};
use crate::layout::chunk::Use;
use crate::layout::{Geometry, header};
use crate::medium::reservation::HUGE_BYTES;
use crate::medium::{Counts, Kind, Medium, WORD_BYTES};

use entry::Place;
use writer::Writer;

/// The most bytes of a journal: what replaying it adds to opening a pool is a tenth of a second.
const MAX_BYTES: u64 = 64 << 20;
/// A journal of so many bytes uses only whole huge pages.
const LARGE_BYTES: u64 = 4 * HUGE_BYTES;
/// A journal has at most one of so many chunks of the pool.
const PART: u64 = 32;

/// A medium with a journal, once it is begun; until then nothing but the medium.
pub(crate) struct Journaled<M> {
    medium: M,
    writer: OnceLock<Writer>,
    /// Why a fence failed, if one has.
    failure: OnceLock<Error>,
}

/// Has flushed lines written to a journal from now on where that is faster, if there is room for one.
/// What was flushed is durable, and nobody else stores meanwhile.
///
/// # Errors
///
/// A fence failed.
pub(crate) fn begin<M: Medium>(space: &Space<M>) -> Result<()> {
    let pool = &space.pool;
    let geometry = &pool.geometry;
    let chunks = (pool.chunks() / PART).min(geometry.chunk_of(MAX_BYTES).max(1));
    if chunks == 0 || !pool.medium.writes_pages() {
        return Ok(());
    }
    let taken = match space.chunks.take(pool, chunks, Use::Journal { chunks }) {
        Err(error) if error.cause() == Cause::Full => return Ok(()),
        taken => taken?,
    };
    if taken.fresh {
        // Blocks of a file that were never written take longer the first time.
        let at = geometry.offset_of(taken.chunk);
        pool.zero(at, geometry.offset_of(chunks));
        pool.medium.fence()?;
    }
    pool.medium.begin(geometry, taken.chunk, chunks)
}

impl<M: Medium> Journaled<M> {
    /// A medium without a journal.
    pub fn new(medium: M) -> Self {
        let (writer, failure) = (OnceLock::new(), OnceLock::new());
        Self {
            medium,
            writer,
            failure,
        }
    }

    #[cold]
    fn remember(&self, error: &Error) {
        let _ = self.failure.set(error.clone());
    }

    /// Whether all fences went well.
    ///
    /// # Errors
    ///
    /// What the first one returned that did not.
    #[inline]
    pub fn outcome(&self) -> Result<()> {
        match self.failure.get() {
            None => Ok(()),
            Some(error) => Err(error.clone()),
        }
    }

    /// The medium below.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium below, for who has the pool alone.
    pub fn medium_mut(&mut self) -> &mut M {
        &mut self.medium
    }

    /// The medium below, as it is.
    pub fn into_medium(self) -> M {
        self.medium
    }

    /// Writes a journal from now on, into chunks that nobody else uses.
    fn begin(&self, geometry: &Geometry, chunk: u64, chunks: u64) -> Result<()> {
        let generation = number(&self.medium, header::GENERATION_AT)?;
        let writer = Writer::new(bytes_of(geometry, chunk, chunks), generation);
        writer.renew(&self.medium)?;
        set_number(&self.medium, header::JOURNAL_AT, chunk)?;
        // There is one, if any, that was begun before.
        let _ = self.writer.set(writer);
        Ok(())
    }

    /// Makes everything durable where it belongs, and says that there is no journal.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn end(&self) -> Result<()> {
        if self.writer.get().is_none() {
            return Ok(());
        }
        self.medium.sync()?;
        set_number(&self.medium, header::JOURNAL_AT, 0)
    }
}

/// Stores again what the journal of a pool holds, if there is one, durably, and says that there is none.
/// That can itself be interrupted, and done again.
///
/// # Errors
///
/// What the header or the journal says cannot be, or a fence failed.
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

/// How many chunks a journal has, as the word about its first chunk says.
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

/// The bytes of a journal's chunks that it uses. A large one shares no huge page with anything else:
/// the kernel writes all of a page of which a part was changed through a mapping.
fn bytes_of(geometry: &Geometry, chunk: u64, chunks: u64) -> Range<u64> {
    let (start, end) = (
        geometry.offset_of(chunk),
        geometry.offset_of(chunk + chunks),
    );
    match end - start >= LARGE_BYTES {
        true => start.next_multiple_of(HUGE_BYTES)..end / HUGE_BYTES * HUGE_BYTES,
        false => start..end,
    }
}

/// A number of the header that changes: the journal's first chunk, or its generation.
///
/// # Errors
///
/// Its check is wrong.
fn number<M: Medium>(medium: &M, at: u64) -> Result<u64> {
    match medium.load_word(at) {
        0 => Ok(0),
        word => header::decode_count(at, word),
    }
}

/// Stores such a number, durably.
fn set_number<M: Medium>(medium: &M, at: u64, number: u64) -> Result<()> {
    let word = match number {
        0 => 0,
        _ => header::encode_count(at, number),
    };
    medium.write_through(at, &word.to_le_bytes())
}

// SAFETY: the memory is the medium's.
unsafe impl<M: Medium> Medium for Journaled<M> {
    #[inline]
    fn base(&self) -> *mut u8 {
        self.medium.base()
    }

    #[inline]
    fn len(&self) -> u64 {
        self.medium.len()
    }

    fn max_len(&self) -> u64 {
        self.medium.max_len()
    }

    fn grow(&self, len: u64) -> Result<()> {
        self.medium.grow(len)
    }

    #[inline]
    fn store(&self, offset: u64, bytes: &[u8]) {
        self.medium.store(offset, bytes);
    }

    #[inline]
    fn store_streaming(&self, offset: u64, bytes: &[u8]) {
        match self.writer.get() {
            None => self.medium.store_streaming(offset, bytes),
            Some(writer) => {
                self.medium.store(offset, bytes);
                writer.flush(offset, bytes.len() as u64);
            }
        }
    }

    #[inline]
    fn store_word(&self, offset: u64, word: u64) {
        self.medium.store_word(offset, word);
    }

    #[inline]
    fn flush(&self, offset: u64, len: u64) {
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
        fenced.inspect_err(|error| self.remember(error))
    }

    fn writes_pages(&self) -> bool {
        self.medium.writes_pages()
    }

    fn prepare(&self, offset: u64, len: u64, purpose: Purpose) {
        self.medium.prepare(offset, len, purpose);
    }

    #[inline]
    fn prefetch(&self, offset: u64, len: u64) {
        self.medium.prefetch(offset, len);
    }

    #[inline]
    fn load_word(&self, offset: u64) -> u64 {
        self.medium.load_word(offset)
    }

    #[inline]
    fn load_words(&self, offset: u64, into: &mut [u64]) {
        self.medium.load_words(offset, into);
    }

    #[inline]
    fn load(&self, offset: u64, into: &mut [u8]) {
        self.medium.load(offset, into);
    }

    fn counts(&self) -> Counts {
        let own = self.writer.get().map(Writer::counts);
        own.unwrap_or_default() + self.medium.counts()
    }

    fn kind(&self) -> Kind {
        self.medium.kind()
    }

    #[inline]
    fn is_child(&self) -> bool {
        self.medium.is_child()
    }
}
