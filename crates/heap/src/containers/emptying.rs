//! Containers that give back all that they own: in steps of a bounded number of objects, each an
//! operation of its own, or all at once within a transaction.
//!
//! Before the first step a mark is stored with the pointer of the container's root. Opening a pool
//! goes on with what a crash has interrupted, so the container is emptied, or gone, once the mark
//! is there, and nothing leaks. The steps need not know the types that the container holds.

use crate::error::Result;
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::Medium;
use crate::operation::Operation;
use crate::sink::{Sink, Source};

use super::root::{pointer_of, range_of, set_pointer};

/// Objects that a step frees, and then stops.
pub(super) const STEP: usize = 256;

/// What is to become of a container: the upper bits of its root's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is to be empty.
    Emptied = 1,
    /// It is to be gone.
    Removed = 2,
}

/// The progress of steps in one process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Progress {
    /// Where the next step begins; the container says what that means.
    pub at: u64,
}

/// A container's state, which can be emptied.
pub(crate) trait Emptying {
    /// Removes some of what the container holds, and frees the objects; returns whether there may
    /// be more. The guards are held.
    ///
    /// # Errors
    ///
    /// The container is damaged, or there is no room for the log.
    fn empty_some<S: Sink>(&self, sink: &mut S, progress: &mut Progress) -> Result<bool>;

    /// Makes an empty container as small as a new one, in one operation.
    ///
    /// # Errors
    ///
    /// Same as [`Emptying::empty_some`].
    fn shrink<S: Sink>(&self, sink: &mut S) -> Result<()>;

    /// Frees what an empty and small container has left: its table.
    ///
    /// # Errors
    ///
    /// Same as [`Emptying::empty_some`].
    fn free_table<S: Sink>(&self, sink: &mut S) -> Result<()>;
}

/// Removes all that a container holds within a transaction.
///
/// # Errors
///
/// Same as [`Emptying::empty_some`].
pub(super) fn empty<S: Sink>(container: &impl Emptying, sink: &mut S) -> Result<()> {
    let mut progress = Progress::default();
    while container.empty_some(sink, &mut progress)? {}
    Ok(())
}

/// A container that is emptied by operations. Its guards are held, or nothing else knows it.
pub(super) struct Work<'w, C, M: Medium> {
    pub heap: &'w Heap<M>,
    pub container: &'w C,
    /// The word of its root, and the offset of its table.
    pub root: u64,
    pub table: u64,
    /// The last operations under its guards, then the last step.
    pub last: Vec<Stamp>,
}

impl<C: Emptying, M: Medium> Work<'_, C, M> {
    /// Carries out one operation.
    fn operate<R>(&mut self, work: impl Fn(&mut Operation<M>) -> Result<R>) -> Result<R> {
        let core = self.heap.core();
        let (done, stamp) = core.with_room(|| {
            let mut operation = Operation::begin(core, self.last.iter().copied())?;
            let done = work(&mut operation)?;
            Ok((done, operation.commit()?))
        })?;
        if let Some(stamp) = stamp {
            self.last = vec![stamp];
        }
        Ok(done)
    }

    /// Stores the word of the root, together with other changes.
    fn set_root(
        &mut self,
        word: u64,
        with: impl Fn(&mut Operation<M>) -> Result<()>,
    ) -> Result<()> {
        let root = self.root;
        self.operate(|operation| {
            operation.own(&[range_of(operation.pool(), root)])?;
            with(operation)?;
            set_pointer(operation, root, word)
        })
    }

    /// Empties the container, or frees it.
    ///
    /// # Errors
    ///
    /// Same as [`Emptying::empty_some`]; a fence failed.
    pub fn carry_out(&mut self, mark: Mark) -> Result<()> {
        let (container, table) = (self.container, self.table);
        self.set_root(table | (mark as u64) << FIELD_BITS, |_| Ok(()))?;
        let mut progress = Progress::default();
        loop {
            let (more, next) = self.operate(|operation| {
                let mut progress = progress;
                let more = container.empty_some(operation, &mut progress)?;
                Ok((more, progress))
            })?;
            progress = next;
            if !more {
                break;
            }
        }
        self.operate(|operation| container.shrink(operation))?;
        match mark {
            Mark::Emptied => self.set_root(table, |_| Ok(())),
            Mark::Removed => self.set_root(0, |operation| container.free_table(operation)),
        }
    }
}

/// Empties an open container, whose guards are held; `last` are the last operations under them.
/// Returns the last operation that was carried out, even if a later one fails.
pub(super) fn clear<C: Emptying, M: Medium>(
    heap: &Heap<M>,
    container: &C,
    root: u64,
    last: Vec<Stamp>,
) -> (Result<()>, Option<Stamp>) {
    let pointer = pointer_of(&heap.core().space.pool, root);
    let table = match pointer {
        Ok(pointer) => pointer & FIELD_MAX,
        Err(error) => return (Err(error), None),
    };
    let mut work = Work {
        heap,
        container,
        root,
        table,
        last,
    };
    let done = work.carry_out(Mark::Emptied);
    (done, work.last.into_iter().max())
}
