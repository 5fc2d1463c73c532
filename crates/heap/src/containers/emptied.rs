//! Containers that give back all that they own: in steps of a bounded number of objects, each an operation
//! of its own, or all at once within a transaction.
//!
//! Before the first step a mark is stored with the pointer of the container's root. Opening a pool goes on
//! with what a crash has interrupted, so the container is emptied, or gone, once the mark is there, and
//! nothing leaks. The steps need not know the types that the container holds.

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::lane::own::Stamp;
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::Medium;
use crate::operation::Operation;
use crate::sink::{Sink, Source};

use super::root::{pointer_of, range_of, set_pointer};
use super::{btree_map, hash_map, queue, vector};

/// Objects that a step frees, and then stops.
pub(super) const STEP: usize = 256;

/// What is to become of a container: the upper bits of its root's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
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
    /// Removes some of what the container holds, and frees the objects; returns whether there may be more.
    /// The guards are held.
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
struct Work<'w, C, M: Medium> {
    heap: &'w Heap<M>,
    container: &'w C,
    /// The word of its root, and the offset of its table.
    root: u64,
    table: u64,
    /// The last operations under its guards, then the last step.
    last: Vec<Stamp>,
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

    fn carry_out(&mut self, mark: Mark) -> Result<()> {
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

/// Empties an open container, whose guards are held; `last` are the last operations under them. Returns the
/// last operation that was carried out, even if a later one fails.
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

impl<M: Medium> Heap<M> {
    /// Removes a container and all that it owns, durably, so that its name is free again; returns whether
    /// there was one. Its objects are freed in steps of some hundred, each with one fence. From the first
    /// step on the container is gone: what a crash leaves of it is freed when the pool is opened next.
    ///
    /// # Errors
    ///
    /// The root of this name is no container; a handle of the container exists; this thread is within a
    /// transaction; the container is damaged, or a fence failed.
    pub fn remove(&self, name: &str) -> Result<bool> {
        self.expect_alone()?;
        self.core().expect_writable()?;
        let Some(root) = self.roots()?.into_iter().find(|root| root.name == name) else {
            return Ok(false);
        };
        ensure(is_container(self, root.kind, root.pointer.offset()), || {
            Error::usage(format!(
                "the root {name:?} is that of an object, not of a container; free the object"
            ))
        })?;
        self.free_container(root.place.offset(), root.kind)?;
        self.remove_root(name)
    }

    /// Frees the container of a root, which becomes null.
    ///
    /// # Errors
    ///
    /// Same as [`Heap::remove`].
    pub(crate) fn free_container(&self, root: u64, kind: u16) -> Result<()> {
        self.close_shared(root, || {
            // No operation until here is repeated after a crash, so no guard has to be known.
            self.core().lanes.settle(&self.core().space)?;
            self.carry_out(root, kind, Mark::Removed)
        })
    }

    /// Goes on with what was interrupted. No other thread knows the heap.
    ///
    /// # Errors
    ///
    /// A container is damaged, or a fence failed.
    pub(crate) fn finish_emptying(&self) -> Result<()> {
        for root in self.roots()? {
            let (word, pool) = (root.pointer.offset(), &self.core().space.pool);
            let mark = match word >> FIELD_BITS {
                1 => Mark::Emptied,
                2 => Mark::Removed,
                _ => continue,
            };
            if !is_container(self, root.kind, word) {
                continue;
            }
            if pointer_of(pool, root.place.offset()).is_err() {
                // The mark may be damage; the container says so to who opens it.
                continue;
            }
            self.carry_out(root.place.offset(), root.kind, mark)?;
            if mark == Mark::Removed {
                self.remove_root(&root.name)?;
            }
        }
        Ok(())
    }

    /// Empties or frees the container of a root, of which nothing is known.
    fn carry_out(&self, root: u64, kind: u16, mark: Mark) -> Result<()> {
        let pool = &self.core().space.pool;
        let table = pointer_of(pool, root)? & FIELD_MAX;
        if table == 0 {
            return Ok(());
        }
        let guard = || Guard::new(None);
        match kind {
            btree_map::ROOT_KIND => {
                let tree = btree_map::unknown::<M>(table, &pool.geometry, guard());
                self.work(&tree, root, table, mark)
            }
            queue::ROOT_KIND => {
                let log = queue::unknown::<M>(table, &pool.geometry, guard());
                self.work(&log, root, table, mark)
            }
            vector::ROOT_KIND => self.work(&vector::unknown(pool, table)?, root, table, mark),
            _ => self.work(&hash_map::unknown(self, table)?, root, table, mark),
        }
    }

    fn work(&self, container: &impl Emptying, root: u64, table: u64, mark: Mark) -> Result<()> {
        let last = Vec::new();
        let mut work = Work {
            heap: self,
            container,
            root,
            table,
            last,
        };
        work.carry_out(mark)
    }
}

/// Returns whether the word of a root of this kind points to the table of a container, or is null.
pub(crate) fn is_container<M: Medium>(heap: &Heap<M>, kind: u16, word: u64) -> bool {
    let magic = match kind {
        btree_map::ROOT_KIND => btree_map::MAGICS,
        queue::ROOT_KIND => queue::MAGICS,
        vector::ROOT_KIND => vector::MAGICS,
        hash_map::ROOT_KIND => hash_map::MAGICS,
        _ => return false,
    };
    let table = word & FIELD_MAX;
    let found = heap.core().space.pool.word(table);
    table == 0 || found.is_ok_and(|found| magic.contains(&found))
}
