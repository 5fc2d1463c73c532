//! The first level of allocation: free chunks, and the uses of the others.

use std::collections::BTreeMap;
use std::sync::Mutex;

use crate::contiguity::Purpose;
use crate::error::{Error, Result};
use crate::layout::Geometry;
use crate::layout::chunk::{MAX_CHUNKS, Use};
use crate::lock::lock;
use crate::medium::Medium;
use crate::pool::Pool;

/// The free chunks.
#[derive(Default)]
pub(crate) struct Chunks {
    free: Mutex<Extents>,
}

/// Chunks that were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The first chunk.
    pub chunk: u64,
    /// Whether none of them was ever used before, so that all are zeros.
    pub fresh: bool,
}

/// Free chunks as lengths by first chunk; neighbours are merged.
#[derive(Default)]
struct Extents(BTreeMap<u64, u64>);

impl Chunks {
    /// Takes `count` chunks in a row, and stores their use in the pool, durably.
    ///
    /// `of` is [`Use::Free`] for a use that ends with the program.
    ///
    /// # Errors
    ///
    /// There are not that many in a row, or a fence failed.
    pub fn take<M: Medium>(&self, pool: &Pool<M>, count: u64, of: Use) -> Result<Taken> {
        let mut free = lock(&self.free);
        let chunk = free.take(count).ok_or_else(|| full(pool, count))?;
        let (old, end) = (pool.used(), chunk + count);
        let purpose = match of {
            Use::Free => Purpose::Capacity,
            _ => Purpose::Persistence,
        };
        let geometry = &pool.geometry;
        let (offset, bytes) = (geometry.offset_of(chunk), geometry.offset_of(count));
        pool.medium.prepare(offset, bytes, purpose);
        let fresh = chunk >= old;
        if matches!(of, Use::Records | Use::Roots | Use::Headers) && !fresh {
            // Zeros, so that nothing of an earlier use is taken for valid.
            pool.zero(offset, bytes);
            pool.medium.fence()?;
        }
        // A crash may have kept the word of a chunk that was being taken, but nothing else of that
        // operation.
        let torn = (old.max(chunk)..end).filter(|&chunk| pool.use_of(chunk) != Ok(Use::Free));
        torn.for_each(|chunk| pool.set_use(chunk, Use::Free));
        if of != Use::Free {
            pool.set_use(chunk, of);
        }
        if end > old {
            pool.set_used(end);
        }
        pool.medium.fence()?;
        Ok(Taken { chunk, fresh })
    }

    /// Gives chunks back. If their word has a meaning by itself (records), the caller has made it
    /// free before, durably.
    pub fn give<M: Medium>(&self, pool: &Pool<M>, chunk: u64, count: u64) {
        lock(&self.free).give(&pool.geometry, chunk, count);
    }

    /// Returns how many chunks are free.
    pub fn count(&self) -> u64 {
        lock(&self.free).0.values().sum()
    }

    /// Returns the length of the longest row of free chunks.
    pub fn longest(&self) -> u64 {
        lock(&self.free).0.values().max().copied().unwrap_or(0)
    }
}

fn full<M: Medium>(pool: &Pool<M>, count: u64) -> Error {
    let chunk = pool.geometry.chunk_bytes();
    let all = pool.geometry.offset_of(pool.chunks());
    // The request may be larger than any pool.
    let wanted = u128::from(count) * u128::from(chunk);
    let most = pool.geometry.region_chunks() - 1;
    if count > most.min(MAX_CHUNKS) {
        return Error::usage(format!(
            "an object of this pool has at most {} bytes, not {wanted}",
            most * chunk
        ));
    }
    Error::full(format!(
        "the pool of {all} bytes is full: no {wanted} bytes are free in a row; make it larger"
    ))
}

impl Extents {
    /// Takes `count` chunks at the first place where they fit.
    fn take(&mut self, count: u64) -> Option<u64> {
        let (&chunk, &len) = self.0.iter().find(|&(_, &len)| len >= count)?;
        self.0.remove(&chunk);
        if len > count {
            self.0.insert(chunk + count, len - count);
        }
        Some(chunk)
    }

    /// Gives chunks back. Tables of regions are never free, so they divide extents.
    fn give(&mut self, geometry: &Geometry, chunk: u64, count: u64) {
        let (mut first, mut len) = (chunk, count);
        if let Some((&before, &long)) = self.0.range(..chunk).next_back() {
            debug_assert!(before + long <= chunk, "chunk {chunk} is free already");
            if before + long == chunk {
                (first, len) = (before, long + len);
                self.0.remove(&before);
            }
        }
        len += self.0.remove(&(chunk + count)).unwrap_or(0);
        debug_assert!(!(first..first + len).any(|chunk| geometry.is_table(chunk)));
        self.0.insert(first, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::AllocatorKind;
    use crate::medium::simulated::{Granule, Simulated};

    fn pool() -> Pool<Simulated> {
        let geometry = Geometry {
            shift: 12,
            lanes: 1,
            intents: 5,
            allocator: AllocatorKind::Nvwa,
            seed: 0,
            checksums: false,
        };
        Pool::create(Simulated::new(16 << 12, Granule::Line), geometry).unwrap()
    }

    #[test]
    fn the_first_place_with_room_is_taken_and_neighbours_merge() {
        let (pool, chunks) = (pool(), Chunks::default());
        chunks.give(&pool, 2, 14);
        let take = |count| {
            chunks
                .take(&pool, count, Use::Large { chunks: count })
                .map(|taken| taken.chunk)
        };
        assert_eq!((take(3), take(4), take(1)), (Ok(2), Ok(5), Ok(9)));
        chunks.give(&pool, 2, 3);
        assert_eq!(take(4), Ok(10));
        chunks.give(&pool, 9, 1);
        chunks.give(&pool, 5, 4);
        assert_eq!(chunks.longest(), 8);
        assert_eq!(take(8), Ok(2));
        assert!(take(3).is_err());
        assert_eq!(pool.use_of(2), Ok(Use::Large { chunks: 8 }));
    }

    #[test]
    fn a_word_that_a_crash_has_left_is_forgotten() {
        let (pool, chunks) = (pool(), Chunks::default());
        chunks.give(&pool, 2, 14);
        for torn in [2, 3, 4] {
            pool.set_use(torn, Use::Records);
        }
        let take = |count, of| chunks.take(&pool, count, of).unwrap().chunk;
        assert_eq!(take(2, Use::Large { chunks: 2 }), 2);
        assert_eq!(pool.use_of(3), Ok(Use::Free));
        assert_eq!(take(1, Use::Free), 4);
        assert_eq!(pool.use_of(4), Ok(Use::Free));
    }

    #[test]
    fn chunks_of_records_are_zeros() {
        let (pool, chunks) = (pool(), Chunks::default());
        chunks.give(&pool, 2, 14);
        let taken = chunks.take(&pool, 1, Use::Run { slot: 16 }).unwrap();
        assert_eq!((taken.chunk, taken.fresh), (2, true));
        pool.store_words(pool.geometry.offset_of(2) + 8, &[77]);
        chunks.give(&pool, 2, 1);
        let taken = chunks.take(&pool, 1, Use::Records).unwrap();
        assert_eq!((taken.chunk, taken.fresh), (2, false));
        assert_eq!(pool.load_words::<2>(pool.geometry.offset_of(2)), [0, 0]);
    }
}
