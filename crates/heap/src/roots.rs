//! Named words from which everything else is reached.

use std::collections::BTreeMap;
use std::mem;

use bytemuck::Pod;

use crate::allocator::Space;
use crate::allocator::index::Holds;
use crate::error::{Error, Result};
use crate::heap::Heap;
use crate::lane::Held;
use crate::lane::window::Range;
use crate::layout::chunk::Use;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT, ROOT_WORDS, Root};
use crate::lock::lock;
use crate::medium::{Medium, WORD_BYTES};
use crate::ptr::{Place, Ptr};
use crate::survey::roots::places;
use crate::survey::{self, First};

/// A root of a heap.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RootInfo {
    /// Its name.
    pub name: String,
    /// Where it lies.
    pub place: Place<u8>,
    /// What it points to; null if nothing yet.
    pub pointer: Ptr<u8>,
    /// Bytes of that.
    pub size: u32,
    /// What it is, as whoever made it numbers such things; containers have 1 to 4.
    pub kind: u16,
}

impl<M: Medium> Heap<M> {
    /// The word of a root; it is made, and null, if there is none of this name. `kind` is whatever
    /// its owner wants to find there again.
    ///
    /// # Errors
    ///
    /// The root is of another type or kind, its name is empty or longer than 104 bytes, there is no
    /// room, or a fence failed.
    pub fn root<T: Pod>(&self, name: &str, kind: u16) -> Result<Place<T>> {
        self.expect_open()?;
        // Until it is durable nobody closes the heap.
        let _held = self.core().hold_open()?;
        let root = Root {
            name: name.to_owned(),
            size: u32::try_from(mem::size_of::<T>()).unwrap_or(u32::MAX),
            align: mem::align_of::<T>() as u16,
            kind,
        };
        let at = lock(self.roots_of()).place(&self.core().space, &root)?;
        Ok(Ptr::at(at))
    }

    /// Removes a root, durably; whether there was one of this name, which is free again. One line and
    /// one fence; two more fences if one of the last operations changed its pointer.
    ///
    /// Nobody uses its word any more: what is published there would be damage.
    ///
    /// # Errors
    ///
    /// It points to something, which has to be freed before; this thread is within a transaction, or
    /// a fence failed.
    pub fn remove_root(&self, name: &str) -> Result<bool> {
        self.expect_alone()?;
        let mut held = self.core().hold_open()?;
        lock(self.roots_of()).remove(&self.core().space, &mut held, name)
    }

    /// All roots, by name.
    ///
    /// # Errors
    ///
    /// The heap was closed, or this is a child of the process that opened it.
    pub fn roots(&self) -> Result<Vec<RootInfo>> {
        self.expect_open()?;
        let space = &self.core().space;
        let roots = lock(self.roots_of()).all(space);
        let info = |(at, root): (u64, Root)| RootInfo {
            name: root.name,
            place: Ptr::at(at),
            pointer: Ptr::at(space.pool.medium.load_word(at)),
            size: root.size,
            kind: root.kind,
        };
        Ok(roots.into_iter().map(info).collect())
    }
}

/// The roots of a pool.
#[derive(Default)]
pub(crate) struct Roots {
    /// Of each name, where the root lies.
    named: BTreeMap<String, u64>,
    /// Where there is room for more.
    free: Vec<u64>,
}

impl Roots {
    /// Those in these chunks.
    ///
    /// # Errors
    ///
    /// One is damaged.
    pub fn read<M: Medium>(space: &Space<M>, chunks: &[u64]) -> Result<Self> {
        let mut roots = Self::default();
        for (at, root) in survey::roots::read(&space.pool, chunks, &First)?
            .into_iter()
            .rev()
        {
            match root {
                Some(root) => drop(roots.named.insert(root.name, at)),
                None => roots.free.push(at),
            }
        }
        Ok(roots)
    }

    /// All roots: where they lie, and what they are.
    fn all<M: Medium>(&self, space: &Space<M>) -> Vec<(u64, Root)> {
        let read = |&at: &u64| Some((at, Root::decode(at, &space.pool.load_words(at))?));
        self.named.values().filter_map(read).collect()
    }

    /// Where a root lies; it is made if there is none of this name.
    ///
    /// # Errors
    ///
    /// The name is too long, there is one for something else, there is no room, or a fence failed.
    fn place<M: Medium>(&mut self, space: &Space<M>, root: &Root) -> Result<u64> {
        if let Some(&at) = self.named.get(&root.name) {
            let found = Root::decode(at, &space.pool.load_words::<ROOT_WORDS>(at));
            return match found {
                Some(found) if found == *root => Ok(at),
                found => Err(unlike(root, found)),
            };
        }
        root.encode(0)?;
        if self.free.is_empty() {
            let taken = space.chunks.take(&space.pool, 1, Use::Roots)?;
            space.index.set_holds(taken.chunk, 1, Holds::Roots);
            self.free.extend(places(&space.pool, taken.chunk).rev());
        }
        let at = self.free.pop().expect("a chunk has room for roots");
        space.pool.store_words(at, &[0]);
        space.pool.store_words(at + 8, &root.encode(at)?);
        space.pool.medium.flush(at, ROOT_BYTES);
        space.pool.medium.fence()?;
        self.named.insert(root.name.clone(), at);
        Ok(at)
    }

    /// Removes a root; whether there was one.
    ///
    /// # Errors
    ///
    /// It points to something, or a fence failed.
    fn remove<M: Medium>(&mut self, space: &Space<M>, held: &mut Held, name: &str) -> Result<bool> {
        let Some(&at) = self.named.get(name) else {
            return Ok(false);
        };
        let pool = &space.pool;
        if pool.medium.load_word(at) != 0 {
            return Err(Error::usage(format!(
                "the root {name:?} points to something, which has to be freed before"
            )));
        }
        // The null becomes durable, and what stored it is not done again: it might find another root
        // there.
        held.own_past_operations(space, Range::word(at))?;
        pool.medium.store_word(at + ROOT_CHECK_AT, 0);
        pool.medium.flush(at + ROOT_CHECK_AT, WORD_BYTES);
        pool.medium.fence()?;
        self.named.remove(name);
        self.free.push(at);
        Ok(true)
    }
}

fn unlike(wanted: &Root, found: Option<Root>) -> Error {
    let name = &wanted.name;
    Error::usage(match found {
        Some(found) => format!(
            "the root {name:?} is of something else: of {} bytes and kind {}, not {} and {}",
            found.size, found.kind, wanted.size, wanted.kind
        ),
        None => format!("the root {name:?} is damaged"),
    })
}
