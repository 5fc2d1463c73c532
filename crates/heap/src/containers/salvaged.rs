//! Containers of a damaged pool, and new ones that hold what can be read of them.

use crate::error::{Cause, Error, Result};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::FIELD_MAX;
use crate::layout::root::{ROOT_WORDS, Root, pointer};
use crate::lock::lock;
use crate::medium::Medium;
use crate::operation::Operation;
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::Source;
use crate::survey::Finding;

use super::inspected::order_of;
use super::types::{Described, Types};
use super::{btree_map, hash_map, queue, vector};

/// Takes the key and the value of an entry that could be read.
pub(super) type Take<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<()>;

/// Findings of which the sentence is kept.
pub(crate) const KEPT: usize = 100;

/// What could not be read.
#[derive(Default)]
pub(crate) struct Lost {
    /// Entries and elements.
    pub entries: u64,
    /// Parts of containers, each of a number of entries that is not known.
    pub parts: u64,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// All findings.
    pub found: u64,
}

impl Lost {
    /// Notes an entry that cannot be read.
    pub fn entry(&mut self, at: u64, what: String) {
        self.entries += 1;
        self.note(at, what);
    }

    /// Notes a part of a container that cannot be read.
    pub fn part(&mut self, at: u64, what: String) {
        self.parts += 1;
        self.note(at, what);
    }

    fn note(&mut self, offset: u64, what: String) {
        self.found += 1;
        if self.findings.len() < KEPT {
            self.findings.push(Finding { offset, what });
        }
    }
}

/// Carries out one operation of a heap that no other thread knows; the pool grows if it is full.
///
/// # Errors
///
/// The pool cannot grow, or a fence failed.
pub(super) fn operate<M: Medium, R>(
    heap: &Heap<M>,
    mut work: impl FnMut(&mut Operation<M>) -> Result<R>,
) -> Result<R> {
    let core = heap.core();
    loop {
        let done = core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            let done = work(&mut operation)?;
            operation.commit()?;
            Ok(done)
        });
        match done {
            Err(error) if error.cause() == Cause::Full => heap.grow(heap.len() / 4 * 5)?,
            done => return done,
        }
    }
}

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

/// Makes the container of a root in a new heap, and puts into it what can be read of the damaged one at `at`
/// of a pool; returns how many entries or elements that were.
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

/// A container of a damaged pool.
pub(super) struct Found {
    pub table: u64,
    pub types: Types,
}

impl Found {
    /// Returns the bytes of keys and values, or of elements twice, as tables have them.
    pub fn sizes(&self) -> [u32; 2] {
        let mut sizes = self.types.0.iter().map(|of| of.bytes);
        let first = sizes.next();
        let last = sizes.next_back().or(first);
        [first, last].map(|size| size.unwrap_or(0))
    }

    /// Returns the order of keys, if it is known.
    pub fn order(&self) -> Option<super::inspected::Order> {
        order_of(&self.types)
    }
}

/// Returns the guard of a container that no other thread knows.
pub(super) fn guard() -> Guard {
    Guard::new(None)
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
