//! The containers of a heap that are emptied or removed, by their kind.

use crate::error::{Error, Result, ensure};
use crate::guard::Guard;
use crate::heap::Heap;
use crate::layout::{FIELD_BITS, FIELD_MAX};
use crate::medium::Medium;
use crate::sink::Source;

use super::emptying::{Emptying, Mark, Work};
use super::root::pointer_of;
use super::{btree_map, hash_map, queue, vector};

impl<M: Medium> Heap<M> {
    /// Removes a container and all that it owns, durably, so that its name is free again; returns
    /// whether there was one. Its objects are freed in steps of some hundred, each with one fence.
    /// From the first step on the container is gone: what a crash leaves of it is freed when the
    /// pool is opened next.
    ///
    /// # Errors
    ///
    /// The root of this name is no container; a handle of the container exists; this thread is
    /// within a transaction; the container is damaged, or a fence failed.
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

    /// Empties or frees the container of a root that nothing is known about.
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
