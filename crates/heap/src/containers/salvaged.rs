//! Containers of a damaged pool, and new ones that hold what can be read of them.

use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::layout::root::{ROOT_WORDS, Root, pointer};
use crate::lock::lock;
use crate::medium::Medium;
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::Source;

use super::salvaging::{Found, Lost};
use super::types::Described;
use super::{btree_map, hash_map, queue, vector};

/// Returns whether a root is that of a container by its kind.
pub(crate) fn is_of_container(kind: u16) -> bool {
    let kinds = [
        hash_map::ROOT_KIND,
        vector::ROOT_KIND,
        queue::ROOT_KIND,
        btree_map::ROOT_KIND,
    ];
    kinds.contains(&kind)
}

/// Makes the container of a root in a new heap, and puts into it what can be read of the damaged
/// one at `at` of a pool; returns how many entries or elements that were.
///
/// # Errors
///
/// The new pool cannot grow, or a fence failed.
pub(crate) fn salvage<M: Medium, N: Medium>(
    pool: &Pool<M>,
    (at, root): (u64, &Root),
    heap: &Heap<N>,
    lost: &mut Lost,
) -> Result<u64> {
    let found = match start(pool, at, root) {
        Ok(Some(found)) => found,
        Ok(None) => return make_root(heap, root).map(|_| 0),
        Err(error) => {
            lost.part(at, format!("{error}; all of it is lost"));
            return Ok(0);
        }
    };
    let place = make_root(heap, root)?;
    match root.kind {
        btree_map::ROOT_KIND => btree_map::salvage_into(pool, &found, heap, place, lost),
        queue::ROOT_KIND => queue::salvage_into(pool, &found, heap, place, lost),
        vector::ROOT_KIND => vector::salvage_into(pool, &found, heap, place, lost),
        _ => hash_map::salvage_into(pool, &found, heap, place, lost),
    }
}

fn start<M: Medium>(pool: &Pool<M>, at: u64, root: &Root) -> Result<Option<Found>> {
    let words: [u64; ROOT_WORDS] = pool.words(at)?;
    let word = pointer(at, &words)?;
    let table = word & FIELD_MAX;
    if table == 0 {
        return Ok(None);
    }
    if word > FIELD_MAX {
        return Err(Error::damaged("the container was being emptied or removed"));
    }
    let described: &Described = match root.kind {
        btree_map::ROOT_KIND => &btree_map::DESCRIBED,
        queue::ROOT_KIND => &queue::DESCRIBED,
        vector::ROOT_KIND => &vector::DESCRIBED,
        _ => &hash_map::DESCRIBED,
    };
    match described.read(pool, table)? {
        Some(types) => Ok(Some(Found { table, types })),
        None => Err(Error::damaged(
            "it does not say which types it holds: it is damaged, or of format version 1 to 3 and was not \
             opened since",
        )),
    }
}

/// Makes a root as null.
fn make_root<N: Medium>(heap: &Heap<N>, root: &Root) -> Result<Place<u8>> {
    let core = heap.core();
    let held = core.hold_open()?;
    let at = lock(heap.roots_of()).place(&core.space, root)?;
    drop(held);
    Ok(Place::at(at))
}
