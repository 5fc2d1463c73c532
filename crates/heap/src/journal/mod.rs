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

use crate::contiguity::Purpose;
use crate::error::{Error, Result};
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
}

/// How many chunks a journal should have in a pool of so many; 0 if that is too few for one.
pub(crate) fn chunks_for(geometry: &Geometry, chunks: u64) -> u64 {
    (chunks / PART).min(geometry.chunk_of(MAX_BYTES).max(1))
}

impl<M: Medium> Journaled<M> {
    /// A medium without a journal.
    pub fn new(medium: M) -> Self {
        let writer = OnceLock::new();
        Self { medium, writer }
    }

    /// The medium below.
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// The medium below, as it is.
    pub fn into_medium(self) -> M {
        self.medium
    }

    /// Writes a journal from now on, into bytes that nobody else uses. What was flushed is durable,
    /// and nobody else stores meanwhile.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn begin(&self, geometry: &Geometry, chunk: u64, chunks: u64) -> Result<()> {
        let generation = generation(&self.medium)?;
        let writer = Writer::new(bytes_of(geometry, chunk, chunks), generation);
        writer.renew(&self.medium)?;
        set_chunk(&self.medium, chunk)?;
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
        set_chunk(&self.medium, 0)
    }
}

/// Stores again what the journal of a pool holds, if there is one, durably, and says that there is none.
/// That can itself be interrupted, and done again.
///
/// # Errors
///
/// What the header or the journal says cannot be, or a fence failed.
pub(crate) fn replay<M: Medium>(medium: &M, geometry: &Geometry) -> Result<()> {
    let Some(chunk) = journal_chunk(medium)? else {
        return Ok(());
    };
    let generation = generation(medium)?;
    let chunks = chunks_from(medium, geometry, chunk)?;
    let Range { start, end } = bytes_of(geometry, chunk, chunks);
    let mut offset = start;
    while let Some(words) = entry::decode(medium, Place { offset, generation }, end) {
        entry::replay(medium, &words)?;
        offset += (words.len() as u64 + 2) * WORD_BYTES;
    }
    medium.fence()?;
    set_chunk(medium, 0)
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

fn journal_chunk<M: Medium>(medium: &M) -> Result<Option<u64>> {
    let word = medium.load_word(header::JOURNAL_AT);
    match word {
        0 => Ok(None),
        _ => header::decode_count(header::JOURNAL_AT, word).map(Some),
    }
}

fn generation<M: Medium>(medium: &M) -> Result<u64> {
    match medium.load_word(header::GENERATION_AT) {
        0 => Ok(0),
        word => header::decode_count(header::GENERATION_AT, word),
    }
}

/// Says with which chunk the journal begins, durably; with 0, that there is none.
fn set_chunk<M: Medium>(medium: &M, chunk: u64) -> Result<()> {
    let at = header::JOURNAL_AT;
    let word = match chunk {
        0 => 0,
        _ => header::encode_count(at, chunk),
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
        match self.writer.get() {
            None => self.medium.fence(),
            Some(writer) => writer.fence(&self.medium),
        }
    }

    fn sync(&self) -> Result<()> {
        self.medium.sync()
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
}
