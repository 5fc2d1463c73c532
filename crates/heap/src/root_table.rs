//! The table of roots: where the root of each name lies.

use std::collections::BTreeMap;

use crate::allocator::Space;
use crate::allocator::index::Holds;
use crate::error::{Error, Result, ensure};
use crate::lane::Held;
use crate::lane::window::Range;
use crate::layout::chunk::Use;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT, ROOT_WORDS, Root};
use crate::medium::{Medium, WORD_BYTES};
use crate::survey::{self, First};

/// The roots of a pool.
#[derive(Default)]
pub(crate) struct Roots {
    /// Offset of the root of each name.
    named: BTreeMap<String, u64>,
    /// Offsets where there is room for a root.
    free: Vec<u64>,
}

impl Roots {
    /// Reads the roots in these chunks.
    ///
    /// # Errors
    ///
    /// A root is damaged.
    pub fn read<M: Medium>(space: &Space<M>, chunks: &[u64]) -> Result<Self> {
        let mut roots = Self::default();
        let found = survey::roots::read(&space.pool, chunks, &First)?;
        for (at, root) in found.into_iter().rev() {
            match root {
                Some(root) => drop(roots.named.insert(root.name, at)),
                None => roots.free.push(at),
            }
        }
        Ok(roots)
    }

    /// Returns all roots with their offsets.
    pub fn all<M: Medium>(&self, space: &Space<M>) -> Vec<(u64, Root)> {
        let read = |&at: &u64| Some((at, Root::decode(at, &space.pool.load_words(at))?));
        self.named.values().filter_map(read).collect()
    }

    /// Returns the offset of a root, if there is one of this name.
    ///
    /// # Errors
    ///
    /// The root of this name is of another type.
    pub fn find<M: Medium>(&self, space: &Space<M>, root: &Root) -> Result<Option<u64>> {
        let Some(&at) = self.named.get(&root.name) else {
            return Ok(None);
        };
        match Root::decode(at, &space.pool.load_words::<ROOT_WORDS>(at)) {
            Some(found) if found == *root => Ok(Some(at)),
            found => Err(unlike(root, found)),
        }
    }

    /// Returns the offset of a root; makes it if there is none of this name.
    ///
    /// # Errors
    ///
    /// The name is too long, the root of this name is of another type, the pool is full, or a fence
    /// failed.
    pub fn place<M: Medium>(&mut self, space: &Space<M>, root: &Root) -> Result<u64> {
        if let Some(at) = self.find(space, root)? {
            return Ok(at);
        }
        root.encode(0)?;
        if self.free.is_empty() {
            let taken = space.chunks.take(&space.pool, 1, Use::Roots)?;
            space.index.set_holds(taken.chunk, 1, Holds::Roots);
            let places = space.pool.geometry.places(taken.chunk, ROOT_BYTES);
            self.free.extend(places.rev());
        }
        let at = self.free.pop().expect("a chunk has room for roots");
        space.pool.store_words(at, &[0]);
        let words = root.encode(at)?;
        if space.pool.geometry.checksums {
            // The check comes last, so that a root whose check is wrong is damage.
            space.pool.store_words(at + 8, &words[..words.len() - 1]);
            space.pool.medium.flush(at, ROOT_BYTES);
            space.pool.medium.fence()?;
        }
        space.pool.store_words(at + 8, &words);
        space.pool.medium.flush(at, ROOT_BYTES);
        space.pool.medium.fence()?;
        self.named.insert(root.name.clone(), at);
        Ok(at)
    }

    /// Removes a root; returns whether there was one.
    ///
    /// # Errors
    ///
    /// The root points to an object, or a fence failed.
    pub fn remove<M: Medium>(
        &mut self,
        space: &Space<M>,
        held: &mut Held,
        name: &str,
    ) -> Result<bool> {
        let Some(&at) = self.named.get(name) else {
            return Ok(false);
        };
        let pool = &space.pool;
        ensure(pool.medium.load_word(at) == 0, || {
            Error::usage(format!(
                "the root {name:?} points to an object, which has to be freed first"
            ))
        })?;
        // The null becomes durable, and the operation that stored it is never repeated: it might
        // find another root there.
        held.own_past_operations(space, Range::new(at, ROOT_BYTES))?;
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
            "the root {name:?} has another type: {} bytes and kind {}, not {} and {}",
            found.size, found.kind, wanted.size, wanted.kind
        ),
        None => format!("the root {name:?} is damaged"),
    })
}
