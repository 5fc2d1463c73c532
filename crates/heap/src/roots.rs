//! Named words from which everything else is reached.

use std::collections::BTreeMap;

use crate::allocator::Space;
use crate::error::{Error, Result};
use crate::lane::Held;
use crate::lane::window::Range;
use crate::layout::chunk::Use;
use crate::layout::root::{ROOT_BYTES, ROOT_CHECK_AT, ROOT_WORDS, Root};
use crate::medium::{Medium, WORD_BYTES};
use crate::pool::Pool;

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
    /// One is damaged. A root that was not made wholly is none: it has never pointed to anything; nor
    /// is one that was removed, as it was null.
    pub fn read<M: Medium>(space: &Space<M>, chunks: &[u64]) -> Result<Self> {
        let mut roots = Self::default();
        for &chunk in chunks {
            for at in places(&space.pool, chunk).rev() {
                let words = space.pool.load_words(at);
                match Root::decode(at, &words) {
                    Some(root) => drop(roots.named.insert(root.name, at)),
                    None if words[0] == 0 => roots.free.push(at),
                    None => {
                        let what = format!("the pool is damaged: the root at {at} is damaged");
                        return Err(Error::damaged(what));
                    }
                }
            }
        }
        Ok(roots)
    }

    /// All roots: where they lie, and what they are.
    pub fn all<M: Medium>(&self, space: &Space<M>) -> Vec<(u64, Root)> {
        let read = |&at: &u64| Some((at, Root::decode(at, &space.pool.load_words(at))?));
        self.named.values().filter_map(read).collect()
    }

    /// Where a root lies; it is made if there is none of this name.
    ///
    /// # Errors
    ///
    /// The name is too long, there is one for something else, there is no room, or a fence failed.
    pub fn place<M: Medium>(&mut self, space: &Space<M>, root: &Root) -> Result<u64> {
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
        if pool.medium.load_word(at) != 0 {
            return Err(Error::usage(format!(
                "the root {name:?} points to something, which has to be freed before"
            )));
        }
        // The null becomes durable, and what stored it is not done again: it might find another root
        // there.
        held.settle_all_of(space, Range::word(at))?;
        pool.medium.store_word(at + ROOT_CHECK_AT, 0);
        pool.medium.flush(at + ROOT_CHECK_AT, WORD_BYTES);
        pool.medium.fence()?;
        self.named.remove(name);
        self.free.push(at);
        Ok(true)
    }
}

/// Where the roots of a chunk lie.
pub(crate) fn places<M: Medium>(
    pool: &Pool<M>,
    chunk: u64,
) -> impl DoubleEndedIterator<Item = u64> + use<M> {
    let geometry = &pool.geometry;
    let first = geometry.offset_of(chunk);
    (0..geometry.chunk_bytes() / ROOT_BYTES).map(move |i| first + i * ROOT_BYTES)
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
