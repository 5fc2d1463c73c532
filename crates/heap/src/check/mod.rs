//! Checking a pool: everything that the format protects is read, and each problem is reported in a
//! sentence with its place.
//!
//! First the pool is read as it is (`survey`). Then it is recovered on the medium that was passed
//! (a private mapping or a copy), as when it is opened, and its roots are followed into containers:
//! the order of keys, the hashes of entries and where they are, counts, and that each object is in
//! use and reached once.
//!
//! Not found are changes of the contents of objects, which have no checksum once they may have been
//! changed, and damage to an intent, which looks like a torn one.

use crate::allocator::Space;
use crate::error::Result;
use crate::heap::Heap;
use crate::layout::{FIELD_MAX, header};
use crate::medium::Medium;
use crate::pool::Pool;
use crate::survey::{self, All, Report};

pub use crate::survey::Finding;

/// Returns all findings about the pool on a medium, in the order in which they were found; none if
/// it is sound.
///
/// The pool is recovered, so pass a private mapping ([`Mode::Private`](crate::Mode::Private)) or a
/// copy. Nothing else stores to it meanwhile.
///
/// ```no_run
/// use terrace_heap::check::check;
/// use terrace_heap::{Mapped, Mode, Result};
///
/// fn main() -> Result<()> {
///     for finding in check(Mapped::open("app.pool".as_ref(), Mode::Private)?) {
///         println!("{finding}");
///     }
///     Ok(())
/// }
/// ```
pub fn check<M: Medium>(medium: M) -> Vec<Finding> {
    let all = All::default();
    // Only a fence could fail, and the medium is private.
    if let Err(error) = look(medium, &all) {
        let _ = all.error(0, error);
    }
    all.into_vec()
}

fn look<M: Medium>(medium: M, all: &All) -> Result<()> {
    let Some(pool) = survey::header::open(medium, all)? else {
        return Ok(());
    };
    if let Err(error) = pool.expect_original() {
        all.error(header::OPENED_AT, error)?;
    }
    let space = survey::space(pool);
    as_it_lies_there(&space, all)?;
    recovered(space.pool.medium.into_medium(), all)
}

fn as_it_lies_there<M: Medium>(space: &Space<M>, all: &All) -> Result<()> {
    let pool = &space.pool;
    check_tables(pool, all)?;
    let chunks = survey::chunks::read(space, all)?;
    let records = survey::records::read(space, &chunks, all)?;
    for (lane, last) in survey::lanes::read(space, all)?.iter().zip(&records.last) {
        survey::lanes::check(space, lane, lane.top(last), all)?;
    }
    survey::chunks::in_use(space, &chunks, all)?;
    survey::roots::read(pool, &chunks.roots, all).map(drop)
}

/// Opens the pool as programs do.
fn recovered<M: Medium>(medium: M, all: &All) -> Result<()> {
    match survey::open(medium).and_then(Heap::open_pool) {
        Ok(heap) => {
            follow_roots(&heap, all)?;
            heap.inspect(&mut |at, what| {
                // Collecting does not fail.
                let _ = all.wrong(at, what);
            })
        }
        // The survey has reported already, and better, what keeps it from being opened.
        Err(error) if all.is_empty() => all.error(0, error),
        Err(_) => Ok(()),
    }
}

/// Checks what opening a pool does not read: the headers of regions, and the chunks that were never
/// used, which their first use takes for zeros.
fn check_tables<M: Medium>(pool: &Pool<M>, all: &All) -> Result<()> {
    let geometry = &pool.geometry;
    for chunk in 1..pool.chunks() {
        let first = geometry.offset_of(chunk);
        if geometry.is_table(chunk) {
            let number = chunk / geometry.region_chunks();
            if pool.load_words(first) != header::region(number) {
                all.wrong(first, format!("the header of region {number} is damaged"))?;
            }
        } else if chunk >= pool.used() {
            // A crash may have left the word while the chunk was being taken.
            if pool.use_of(chunk).is_err() {
                let what = format!("the word about chunk {chunk} is damaged");
                all.wrong(geometry.word_of(chunk), what)?;
            }
            let mut words = (first..first + geometry.chunk_bytes()).step_by(8);
            if let Some(at) = words.find(|&at| pool.medium.load_word(at) != 0) {
                let what = format!("something lies in chunk {chunk}, which was never used");
                all.wrong(at, what)?;
            }
        }
    }
    Ok(())
}

/// Checks that roots point to objects in use.
fn follow_roots<M: Medium>(heap: &Heap<M>, all: &All) -> Result<()> {
    let objects = heap.objects()?;
    for root in heap.roots()?.iter().filter(|root| !root.pointer.is_null()) {
        // The upper bits are the owner's.
        let pointer = root.pointer.offset() & FIELD_MAX;
        let before = objects.partition_point(|object| object.offset <= pointer);
        let object = before.checked_sub(1).map(|i| &objects[i]);
        let end = object.map(|object| object.offset + object.bytes);
        let what = match end {
            Some(end) if pointer + u64::from(root.size) <= end => continue,
            Some(end) if pointer < end => format!(
                "the root {:?} points to {} bytes at {pointer}, and the object there ends at {end}",
                root.name, root.size
            ),
            _ => format!(
                "the root {:?} points to {pointer}, where no object is in use",
                root.name
            ),
        };
        all.wrong(root.place.offset(), what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
