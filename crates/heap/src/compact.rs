//! Compaction of the log of object records: what is left in sparse chunks moves to others, and the
//! chunks become free.
//!
//! A record is copied first; then the word about the chunk from which all were copied becomes 0. If
//! the program ends in between, some objects have two records that say the same, which is how
//! recovery knows what happened, and one of each is made none. So nothing is ever without a record,
//! and no log of the compaction is needed.

use crate::error::Result;
use crate::heap::Heap;
use crate::layout::chunk::Use;
use crate::layout::record::{RECORD_BYTES, RECORD_WORDS, Record};
use crate::medium::Medium;
use crate::pool::Pool;

/// What a compaction has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Chunks of records before.
    pub before: u64,
    /// Chunks of records that are left.
    pub after: u64,
    /// Records that were copied.
    pub moved: u64,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
}

/// A chunk of records.
struct Chunk {
    number: u64,
    used: Vec<u64>,
    free: Vec<u64>,
}

/// Recovers the pool on a medium, if need be, and compacts the log of its object records. Objects stay
/// where they are, since pointers to them may be anywhere.
///
/// # Errors
///
/// There is no pool, it is damaged, or a fence failed.
pub fn compact<M: Medium>(medium: M) -> Result<Compacted> {
    let pool = Pool::open(medium)?;
    let before = chunks(&pool).len() as u64;
    let heap = Heap::open_on(pool.medium)?;
    let pool = &heap.core().space.pool;
    let mut done = Compacted {
        before,
        chunk_bytes: pool.geometry.chunk_bytes(),
        ..Compacted::default()
    };
    let mut chunks = chunks(pool);
    // The fullest last: they take what the others lose.
    chunks.sort_by_key(|chunk| chunk.used.len());
    let mut room: usize = chunks.iter().map(|chunk| chunk.free.len()).sum();
    while let Some(sparse) = chunks.first() {
        room -= sparse.free.len();
        if sparse.used.len() > room {
            break;
        }
        let sparse = chunks.remove(0);
        room -= sparse.used.len();
        done.moved += sparse.used.len() as u64;
        empty(pool, &sparse, &mut chunks)?;
    }
    done.after = chunks.len() as u64;
    Ok(done)
}

/// Copies the records of a chunk to places in others, which have enough, and makes it free.
fn empty<M: Medium>(pool: &Pool<M>, sparse: &Chunk, others: &mut [Chunk]) -> Result<()> {
    let mut fullest = others.iter_mut().rev();
    let mut target = fullest.next();
    for &from in &sparse.used {
        let to = loop {
            let chunk = target.as_mut().expect("there is room for all");
            match chunk.free.pop() {
                Some(to) => {
                    chunk.used.push(to);
                    break to;
                }
                None => target = fullest.next(),
            }
        };
        let record = Record::decode(from, pool.load_words(from)).expect("recovery has read it");
        pool.store_words(to, &record.encode(to));
        pool.medium.flush(to, RECORD_BYTES);
    }
    pool.medium.fence()?;
    pool.set_use(sparse.number, Use::Free);
    pool.medium.fence()
}

/// All chunks of records, with the places that hold one, and those that do not, the last one first.
fn chunks<M: Medium>(pool: &Pool<M>) -> Vec<Chunk> {
    let geometry = &pool.geometry;
    let of_records =
        |chunk: &u64| !geometry.is_table(*chunk) && pool.use_of(*chunk) == Ok(Use::Records);
    let read = |number| {
        let first = geometry.offset_of(number);
        let places = (0..geometry.chunk_bytes() / RECORD_BYTES).rev();
        let places = places.map(|i| first + i * RECORD_BYTES);
        let (used, free) =
            places.partition(|&place| pool.load_words::<RECORD_WORDS>(place)[3] != 0);
        Chunk { number, used, free }
    };
    (1..pool.used()).filter(of_records).map(read).collect()
}
