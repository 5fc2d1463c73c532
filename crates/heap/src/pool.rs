//! A medium with the format on it: header, chunk words, and loads that are checked against the
//! pool's bounds.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::checksum::padded;
use crate::error::{Error, Result};
use crate::journal::Journaled;
use crate::layout::chunk::Use;
use crate::layout::{Geometry, header};
use crate::medium::{Medium, WORD_BYTES};
use crate::survey::{self, First};

/// A medium that holds a pool.
pub(crate) struct Pool<M> {
    pub medium: Journaled<M>,
    pub geometry: Geometry,
    /// Chunks that the pool has.
    chunks: AtomicU64,
    /// Chunks that were ever used, counted from the beginning; those behind are all zeros.
    used: AtomicU64,
}

impl<M: Medium> Pool<M> {
    /// Makes a pool of a medium that is all zeros.
    ///
    /// # Errors
    ///
    /// There is no room for a pool, or a fence failed.
    pub fn create(medium: M, geometry: Geometry) -> Result<Self> {
        let pool = Self::with(medium, geometry, 0, 0);
        let lanes = geometry.lane_chunks();
        let chunks = geometry.chunk_of(pool.medium.len());
        let made = 1 + lanes + geometry.bins().map_or(0, |_| 1);
        if chunks < made + 2 {
            return Err(Error::usage(format!(
                "a pool needs at least {} bytes, and has {}",
                geometry.offset_of(made + 2),
                pool.medium.len()
            )));
        }
        let word = geometry.word_of(1);
        pool.store_words(word, &[Use::Lanes { chunks: lanes }.encode(word)]);
        pool.medium.flush(word, WORD_BYTES);
        if let Some(bins) = geometry.bins() {
            pool.set_use(bins, Use::Bins);
        }
        pool.store_regions(0, chunks);
        pool.set_used(made);
        pool.set_chunks(chunks);
        pool.medium.fence()?;
        // The header comes last: a pool that was not made wholly is none.
        pool.store_words(0, &header::encode(&geometry));
        pool.medium.flush(0, 8 * header::WORDS as u64);
        pool.medium.fence()?;
        Ok(pool)
    }

    /// Reads the header of a medium that holds a pool.
    ///
    /// # Errors
    ///
    /// It holds none, one of another version, a damaged one, or not all of it.
    pub fn open(medium: M) -> Result<Self> {
        let pool = survey::header::open(medium, &First)?;
        Ok(pool.expect("who stops at the first thing that is wrong has a pool, or an error"))
    }

    /// Has the header say the version that this program writes, durably. Each of the two words that
    /// change is found right with the other one as it was.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn upgrade(&self) -> Result<()> {
        let now = self.load_words::<{ header::WORDS }>(0);
        let new = header::encode(&self.geometry);
        if now == new {
            return Ok(());
        }
        for (at, word) in (0..).step_by(8).zip(new) {
            self.medium.store_word(at, word);
        }
        self.medium.flush(0, 8 * header::WORDS as u64);
        self.medium.fence()
    }

    /// The pool on a medium whose header says this; the caller has checked that it fits.
    pub fn with(medium: M, geometry: Geometry, chunks: u64, used: u64) -> Self {
        Self {
            medium: Journaled::new(medium),
            geometry,
            chunks: AtomicU64::new(chunks),
            used: AtomicU64::new(used),
        }
    }

    /// Makes the pool at least `bytes` long. Two threads must not do this at once.
    ///
    /// # Errors
    ///
    /// The medium cannot grow that far, or a fence failed.
    pub fn grow(&self, bytes: u64) -> Result<()> {
        self.medium.grow(bytes)?;
        let (old, new) = (self.chunks(), self.geometry.chunk_of(self.medium.len()));
        self.store_regions(old, new);
        self.medium.fence()?;
        self.set_chunks(new.max(old));
        self.medium.fence()
    }

    /// Stores the headers of the regions that begin from chunk `old` to before `new`; the pool's own
    /// is not one of them.
    fn store_regions(&self, old: u64, new: u64) {
        let region = self.geometry.region_chunks();
        for number in old.div_ceil(region).max(1)..new.div_ceil(region) {
            let at = self.geometry.offset_of(number * region);
            self.store_words(at, &header::region(number));
            self.medium.flush(at, 2 * WORD_BYTES);
        }
    }

    pub fn chunks(&self) -> u64 {
        self.chunks.load(Ordering::Acquire)
    }

    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Acquire)
    }

    fn set_chunks(&self, chunks: u64) {
        let at = header::CHUNKS_AT;
        self.store_words(at, &[header::encode_count(at, chunks)]);
        self.medium.flush(at, WORD_BYTES);
        self.chunks.store(chunks, Ordering::Release);
    }

    /// Says how many chunks were ever used; a fence makes it durable.
    pub fn set_used(&self, used: u64) {
        let at = header::USED_AT;
        self.store_words(at, &[header::encode_count(at, used)]);
        self.medium.flush(at, WORD_BYTES);
        self.used.store(used, Ordering::Release);
    }

    /// What a chunk is used for.
    ///
    /// # Errors
    ///
    /// Its word is damaged.
    pub fn use_of(&self, chunk: u64) -> Result<Use> {
        let at = self.geometry.word_of(chunk);
        Use::decode(at, self.medium.load_word(at))
    }

    /// Says what a chunk is used for; a fence makes it durable.
    pub fn set_use(&self, chunk: u64, of: Use) {
        let at = self.geometry.word_of(chunk);
        self.medium.store_word(at, of.encode(at));
        self.medium.flush(at, WORD_BYTES);
    }

    /// Stores words; nothing is flushed.
    #[inline]
    pub fn store_words(&self, offset: u64, words: &[u64]) {
        self.medium.store(offset, bytemuck::cast_slice(words));
    }

    /// Stores bytes, and zeros up to a whole word; nothing is flushed.
    #[inline]
    pub fn store_padded(&self, offset: u64, bytes: &[u8]) {
        let (whole, rest) = bytes.split_at(bytes.len() & !7);
        if !whole.is_empty() {
            self.medium.store(offset, whole);
        }
        if !rest.is_empty() {
            let at = offset + whole.len() as u64;
            self.store_words(at, &[padded(rest)]);
        }
    }

    /// Loads `N` words that are known to lie within the pool.
    #[inline]
    pub fn load_words<const N: usize>(&self, offset: u64) -> [u64; N] {
        let mut words = [0; N];
        self.medium.load_words(offset, &mut words);
        words
    }

    /// Whether `len` bytes at `offset` are words of the pool.
    #[inline]
    pub fn holds(&self, offset: u64, len: u64) -> bool {
        let end = self.geometry.offset_of(self.chunks());
        offset.is_multiple_of(WORD_BYTES) && offset.checked_add(len).is_some_and(|e| e <= end)
    }

    /// Whether they are, as a sentence about `what`.
    ///
    /// # Errors
    ///
    /// They are not.
    #[inline]
    pub fn check(&self, offset: u64, len: u64, what: &str) -> Result<()> {
        match self.holds(offset, len) {
            true => Ok(()),
            false => Err(outside(offset, len, what)),
        }
    }

    /// Makes bytes zeros and flushes them; a fence makes it durable.
    pub fn zero(&self, offset: u64, len: u64) {
        let zeros = [0; 4096];
        let mut at = offset;
        while at < offset + len {
            let piece = (offset + len - at).min(zeros.len() as u64);
            self.medium.store_streaming(at, &zeros[..piece as usize]);
            at += piece;
        }
    }
}

/// Apart, and with its arguments by value: where it is called they can stay in registers.
#[cold]
#[inline(never)]
fn outside(offset: u64, len: u64, what: &str) -> Error {
    Error::damaged(format!(
        "{what}: no {len} bytes lie at {offset} of the pool"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::AllocatorKind;
    use crate::medium::simulated::{Granule, Simulated};

    const GEOMETRY: Geometry = Geometry {
        shift: 12,
        lanes: 2,
        intents: 5,
        allocator: AllocatorKind::Nvwa,
        seed: 0,
    };

    fn created() -> Pool<Simulated> {
        Pool::create(Simulated::new(1 << 16, Granule::Line), GEOMETRY).unwrap()
    }

    #[test]
    fn a_pool_is_opened_as_it_was_created_and_grows() {
        let pool = created();
        assert_eq!((pool.chunks(), pool.used()), (16, 2));
        pool.grow(500 << 12).unwrap();
        let again = Pool::open(pool.medium.into_medium()).unwrap();
        assert_eq!(again.geometry, GEOMETRY);
        assert_eq!((again.chunks(), again.used()), (500, 2));
        assert_eq!(again.use_of(1), Ok(Use::Lanes { chunks: 1 }));
        let region = again.load_words::<2>(449 << 12);
        assert_eq!(region, header::region(1));
    }

    #[test]
    fn regions_have_a_header_from_the_beginning() {
        let pool = Pool::create(Simulated::new(900 << 12, Granule::Line), GEOMETRY).unwrap();
        for number in [1, 2] {
            let words = pool.load_words::<2>((number * 449) << 12);
            assert_eq!(words, header::region(number));
        }
    }

    #[test]
    fn each_bit_of_the_header_is_checked() {
        let bytes = created().medium.medium().bytes();
        assert_eq!(header::VERSION, 3, "its two bits only make it smaller");
        for bit in (0..512).chain(64 * 8..80 * 8) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let medium = Simulated::from_bytes(&damaged, Granule::Line);
            assert!(Pool::open(medium).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_truncated_pool_is_refused() {
        let bytes = created().medium.medium().bytes();
        let medium = Simulated::from_bytes(&bytes[..15 << 12], Granule::Line);
        let error = Pool::open(medium).err().unwrap();
        assert!(error.to_string().contains("truncated"), "{error}");
    }

    #[test]
    fn bounds_hold_for_offsets_that_wrap() {
        let pool = created();
        assert!(pool.holds(65528, 8) && !pool.holds(65536, 8) && !pool.holds(4, 8));
        assert!(!pool.holds(u64::MAX - 7, 16));
    }
}
