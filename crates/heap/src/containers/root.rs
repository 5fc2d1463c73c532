//! The object to which the root of a container points: found, made, or converted from an older
//! version.

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::layout::FIELD_MAX;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT, ROOT_WORDS, bound, pointer};
use crate::medium::Medium;
use crate::operation::Operation;
use crate::pool::Pool;
use crate::ptr::Place;
use crate::sink::{Contents, Sink};
use crate::transaction::Transaction;

/// Returns the word of a container's root: the pointer to its table.
///
/// # Errors
///
/// It is damaged.
pub(super) fn pointer_of<M: Medium>(pool: &Pool<M>, root: u64) -> Result<u64> {
    match pool.geometry.checksums {
        false => Ok(pool.medium.load_word(root)),
        true => pointer(root, &pool.load_words(root)),
    }
}

/// Changes the word of a container's root. The operation owns the root ([`range_of`]).
///
/// # Errors
///
/// The root is not in the pool.
pub(super) fn set_pointer<S: Sink>(sink: &mut S, root: u64, word: u64) -> Result<()> {
    if sink.pool().geometry.checksums {
        let words = sink.words::<ROOT_WORDS>(root)?;
        sink.set(root + ROOT_CHECK_AT, bound(root, &words, word))?;
    }
    sink.set(root, word)
}

/// Makes the table of a container of these words; `seal` puts the checks into those for an offset.
///
/// # Errors
///
/// The pool is full, or a fence failed.
pub(super) fn make_table<S: Sink>(
    sink: &mut S,
    words: &[u64],
    seal: fn(u64, &[u64]) -> Vec<u64>,
) -> Result<u64> {
    match sink.pool().geometry.checksums {
        false => sink.make_words(words),
        true => {
            let bytes = size_of_val(words) as u64;
            sink.make(&Contents::Placed(bytes, &|at| seal(at, words)))
        }
    }
}

/// Returns the bytes of a root that change with its pointer.
pub(super) fn range_of<M: Medium>(pool: &Pool<M>, root: u64) -> Range {
    match pool.geometry.checksums {
        false => Range::word(root),
        true => Range::new(root, ROOT_BYTES),
    }
}

impl<M: Medium> Heap<M> {
    /// Returns the object to which a root points. If the root is null, `make` makes the object, and
    /// the operation that did is returned, too.
    ///
    /// # Errors
    ///
    /// What `make` returns; there is no room, or a fence failed.
    pub(crate) fn find_or_make<T: 'static>(
        &self,
        root: Place<T>,
        make: impl Fn(&mut Operation<M>) -> Result<u64>,
    ) -> Result<(u64, Option<Stamp>)> {
        let pool = &self.core().space.pool;
        let found = pointer_of(pool, root.offset())?;
        if found != 0 {
            ensure(found <= FIELD_MAX, || {
                Error::usage(
                    "the container was being emptied when that failed; close the heap, and open it again",
                )
            })?;
            return Ok((found, None));
        }
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            operation.own(&[range_of(pool, root.offset())])?;
            let at = make(&mut operation)?;
            set_pointer(&mut operation, root.offset(), at)?;
            Ok((at, operation.commit()?))
        })
    }

    /// Same as [`Heap::find_or_make`], for the table of a container with these words; `seal` makes
    /// them those for the place where they lie, where contents have checksums.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::find_or_make`].
    pub(super) fn find_or_make_table<T: 'static>(
        &self,
        root: Place<T>,
        words: &[u64],
        seal: fn(u64, &[u64]) -> Vec<u64>,
    ) -> Result<(u64, Option<Stamp>)> {
        self.find_or_make(root, |sink| make_table(sink, words, seal))
    }

    /// Replaces the object of a root by one that `convert` makes, which frees the old one; returns
    /// the new one.
    ///
    /// # Errors
    ///
    /// What `convert` returns; there is no room, or a fence failed.
    pub(crate) fn convert<T: Pod>(
        &self,
        root: Place<T>,
        old: u64,
        convert: impl FnOnce(&mut &Transaction<M>, u64) -> Result<u64>,
    ) -> Result<u64> {
        let tx = self.begin()?;
        let new = convert(&mut &tx, old)?;
        set_pointer(&mut &tx, root.offset(), new)?;
        tx.commit()?;
        // No operation until here is repeated after a crash, so no guard has to record this one.
        self.core().lanes.settle(&self.core().space)?;
        Ok(new)
    }
}
