//! A medium with the format on it: the header, the chunk words, and loads that are checked against
//! the bounds of the pool.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::checksum::padded;
use crate::error::{Error, Result, ensure};
use crate::journal::Journaled;
use crate::layout::chunk::Use;
use crate::layout::{Geometry, checked, header};
use crate::medium::{Kind, Medium, WORD_BYTES};

/// A medium that holds a pool.
pub(crate) struct Pool<M> {
    pub medium: Journaled<M>,
    pub geometry: Geometry,
    /// Number of chunks of the pool.
    chunks: AtomicU64,
    /// Number of chunks that were ever used, from the beginning on; later chunks are all zeros.
    used: AtomicU64,
}

impl<M: Medium> Pool<M> {
    /// Makes a pool of a medium that is all zeros.
    ///
    /// # Errors
    ///
    /// The medium is too small for a pool, or a fence failed.
    pub fn create(medium: M, geometry: Geometry) -> Result<Self> {
        let pool = Self::with(medium, geometry, 0, 0);
        let lanes = geometry.lane_chunks();
        let chunks = geometry.chunk_of(pool.medium.len());
        let made = 1 + lanes + geometry.bins().map_or(0, |_| 1);
        ensure(chunks >= made + 2, || {
            Error::usage(format!(
                "a pool needs at least {} bytes, and has {}",
                geometry.offset_of(made + 2),
                pool.medium.len()
            ))
        })?;
        let word = geometry.word_of(1);
        pool.store_flushed(word, &[Use::Lanes { chunks: lanes }.encode(word)]);
        if let Some(bins) = geometry.bins() {
            pool.set_use(bins, Use::Bins);
        }
        if geometry.checksums {
            // A state that is gone is told from one that never was.
            for lane in 0..usize::from(geometry.lanes) {
                let at = geometry.settled_of(lane);
                pool.store_flushed(at, &[checked(at, 0)]);
            }
        }
        pool.store_regions(0, chunks);
        pool.set_used(made);
        pool.set_chunks(chunks);
        pool.medium.fence()?;
        // The header comes last: without it the medium holds no pool.
        pool.store_flushed(0, &header::encode(&geometry));
        pool.medium.fence()?;
        Ok(pool)
    }

    /// Stores the version that this program writes in the header, durably. The header is valid
    /// after either of the two stores alone.
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

    /// Stores, durably, that the pool's file is open for writing, or that it is not. A file that is
    /// copied in between is told by that from the original.
    ///
    /// # Errors
    ///
    /// A fence failed.
    pub fn mark_opened(&self, opened: bool) -> Result<()> {
        let medium = self.medium.medium();
        let Some(identity) = medium
            .identity()
            .filter(|_| medium.kind() != Kind::Volatile)
        else {
            return Ok(());
        };
        let words = match opened {
            true => header::encode_opened(identity),
            false => Default::default(),
        };
        // In a line that the journal never holds.
        medium.write_through(header::OPENED_AT, bytemuck::cast_slice(&words))
    }

    /// Checks that this is not the copy of a file that was open.
    ///
    /// # Errors
    ///
    /// It is one.
    pub fn expect_original(&self) -> Result<()> {
        let opened = header::decode_opened(self.load_words(header::OPENED_AT));
        let own = self.medium.medium().identity();
        let copied = opened.is_some_and(|opened| own.is_some_and(|own| own != opened));
        ensure(!copied, || {
            Error::damaged(
                "this file was copied from a pool that was open, or that a crash has left, so that it \
                 may hold parts of changes; copy the original with `terrace heap copy`, which \
                 also makes a pool of this one if it is all that is left",
            )
        })
    }

    /// Returns the pool on a medium with this header, which the caller has checked.
    pub fn with(medium: M, geometry: Geometry, chunks: u64, used: u64) -> Self {
        Self {
            medium: Journaled::new(medium),
            geometry,
            chunks: AtomicU64::new(chunks),
            used: AtomicU64::new(used),
        }
    }

    /// Grows the pool to at least `bytes` bytes. Two threads must not do this at once.
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

    /// Stores the headers of the regions that begin from chunk `old` to before `new`, except that
    /// of the pool itself.
    fn store_regions(&self, old: u64, new: u64) {
        let region = self.geometry.region_chunks();
        for number in old.div_ceil(region).max(1)..new.div_ceil(region) {
            let at = self.geometry.offset_of(number * region);
            self.store_flushed(at, &header::region(number));
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
        self.store_flushed(at, &[header::encode_count(at, chunks)]);
        self.chunks.store(chunks, Ordering::Release);
    }

    /// Stores how many chunks were ever used; a fence makes it durable.
    pub fn set_used(&self, used: u64) {
        let at = header::USED_AT;
        self.store_flushed(at, &[header::encode_count(at, used)]);
        self.used.store(used, Ordering::Release);
    }

    /// Returns the use of a chunk.
    ///
    /// # Errors
    ///
    /// The word about the chunk is damaged.
    pub fn use_of(&self, chunk: u64) -> Result<Use> {
        let at = self.geometry.word_of(chunk);
        Use::decode(at, self.medium.load_word(at))
    }

    /// Stores the use of a chunk; a fence makes it durable.
    pub fn set_use(&self, chunk: u64, of: Use) {
        let at = self.geometry.word_of(chunk);
        self.medium.store_word(at, of.encode(at));
        self.medium.flush(at, WORD_BYTES);
    }

    /// Stores words and flushes them; a fence makes them durable.
    #[inline]
    pub fn store_flushed(&self, offset: u64, words: &[u64]) {
        self.store_words(offset, words);
        self.medium.flush(offset, mem::size_of_val(words) as u64);
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

    /// Returns whether `len` bytes at `offset` are words of the pool.
    #[inline]
    pub fn holds(&self, offset: u64, len: u64) -> bool {
        let end = self.geometry.offset_of(self.chunks());
        offset.is_multiple_of(WORD_BYTES) && offset.checked_add(len).is_some_and(|e| e <= end)
    }

    /// Checks that `len` bytes at `offset` are words of the pool; `what` begins the error's
    /// sentence.
    ///
    /// # Errors
    ///
    /// They are not words of the pool.
    #[inline]
    pub fn check(&self, offset: u64, len: u64, what: &str) -> Result<()> {
        ensure(self.holds(offset, len), || outside(offset, len, what))
    }

    /// Stores zeros and flushes them; a fence makes them durable.
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

/// Not inlined, with its arguments by value, so that they stay in registers at the call.
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
    use crate::checksum::checksum;
    use crate::error::Cause;
    use crate::layout::AllocatorKind;
    use crate::medium::simulated::{Granule, Simulated};
    use crate::survey;

    const GEOMETRY: Geometry = Geometry {
        shift: 12,
        lanes: 2,
        intents: 5,
        allocator: AllocatorKind::Nvwa,
        seed: 0,
        checksums: false,
    };

    fn created() -> Pool<Simulated> {
        Pool::create(Simulated::new(1 << 16, Granule::Line), GEOMETRY).unwrap()
    }

    #[test]
    fn a_pool_is_opened_as_it_was_created_and_grows() {
        let pool = created();
        assert_eq!((pool.chunks(), pool.used()), (16, 2));
        pool.grow(500 << 12).unwrap();
        let again = survey::open(pool.medium.into_medium()).unwrap();
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
        assert_eq!(
            header::VERSION,
            5,
            "a version that is one bit more or less has another check"
        );
        for bit in (0..512).chain(64 * 8..80 * 8) {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let medium = Simulated::from_bytes(&damaged, Granule::Line);
            assert!(survey::open(medium).is_err(), "bit {bit}");
        }
    }

    /// A header that is whole, of a version that is not known yet, is no damage.
    #[test]
    fn a_newer_pool_is_told_from_a_damaged_one() {
        let refused = |words: [u64; header::WORDS]| {
            let mut bytes = created().medium.medium().bytes();
            bytes[..64].copy_from_slice(bytemuck::cast_slice(&words));
            let opened = survey::open(Simulated::from_bytes(&bytes, Granule::Line));
            opened.err().unwrap()
        };
        let mut words = header::encode(&GEOMETRY);
        words[1] += 1;
        assert_eq!(refused(words).cause(), Cause::Damaged);
        words[7] = checksum(0, &words[..7]);
        let newer = refused(words);
        assert_eq!(newer.cause(), Cause::Newer);
        let sentence = format!("format version {}", header::VERSION + 1);
        assert!(newer.to_string().contains(&sentence), "{newer}");
    }

    #[test]
    fn a_truncated_pool_is_refused() {
        let bytes = created().medium.medium().bytes();
        let medium = Simulated::from_bytes(&bytes[..15 << 12], Granule::Line);
        let error = survey::open(medium).err().unwrap();
        assert!(error.to_string().contains("truncated"), "{error}");
    }

    #[test]
    fn bounds_hold_for_offsets_that_wrap() {
        let pool = created();
        assert!(pool.holds(65528, 8) && !pool.holds(65536, 8) && !pool.holds(4, 8));
        assert!(!pool.holds(u64::MAX - 7, 16));
    }
}
