//! The object to which the root of a container points: found, made, or converted from an older version.

use bytemuck::Pod;

use crate::error::{Error, Result, ensure};
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::lane::window::Range;
use crate::layout::FIELD_MAX;
use crate::medium::Medium;
use crate::operation::Operation;
use crate::ptr::{Place, Ptr};
use crate::sink::Sink;
use crate::transaction::Transaction;

impl<M: Medium> Heap<M> {
    /// Returns the object to which a root points. If the root is null, `make` makes the object, and the
    /// operation that did is returned, too.
    ///
    /// # Errors
    ///
    /// What `make` returns; there is no room, or a fence failed.
    pub(crate) fn find_or_make<T: 'static>(
        &self,
        root: Place<T>,
        make: impl Fn(&mut Operation<M>) -> Result<u64>,
    ) -> Result<(u64, Option<Stamp>)> {
        let found = self.read(root)?;
        if !found.is_null() {
            ensure(found.offset() <= FIELD_MAX, || {
                Error::usage(
                    "the container was being emptied when that failed; close the heap, and open it again",
                )
            })?;
            return Ok((found.offset(), None));
        }
        let core = self.core();
        core.with_room(|| {
            let mut operation = Operation::begin(core, None)?;
            operation.own(&[Range::word(root.offset())])?;
            let at = make(&mut operation)?;
            operation.set(root.offset(), at)?;
            Ok((at, operation.commit()?))
        })
    }

    /// Replaces the object of a root by one that `convert` makes, which frees the old one; returns the new
    /// one.
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
        tx.write(root, &Ptr::at(new))?;
        tx.commit()?;
        // No operation until here is repeated after a crash, so no guard has to record this one.
        self.core().lanes.settle(&self.core().space)?;
        Ok(new)
    }
}
