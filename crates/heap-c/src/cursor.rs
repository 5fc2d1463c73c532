//! Cursors over ordered maps.

use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;

use terrace_heap::containers::{BTreeMap, btree_map};
use terrace_heap::{Error, Mapped, Result, Transaction};

use crate::container::Tree;
use crate::error::{NONE, OK};

type Place = btree_map::Cursor<'static, [u8], [u8], Mapped>;

/// `nvm_cursor`.
pub struct Cursor {
    /// Dropped before what it refers to.
    place: Place,
    of: Of,
    at: At,
    /// The prefix of all keys at which it stops.
    prefix: Vec<u8>,
    /// The entry at which it is, as it was when the cursor came to it.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What a cursor reads.
struct Of {
    tree: Arc<Tree>,
    /// The transaction in which it was opened, if any.
    tx: Option<Rc<Transaction<'static, Mapped>>>,
}

/// Where a cursor is, among the keys with its prefix.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Not positioned yet.
    Nowhere,
    Before,
    Entry,
    Behind,
}

impl Of {
    /// Returns a place that is not positioned yet.
    fn place(&self) -> Result<Place> {
        let map: *const BTreeMap<[u8], [u8]> = &raw const self.tree.container;
        // SAFETY: shared ownership keeps it where it is, and the cursor, which has its share, drops
        // the place before that.
        let map: &'static BTreeMap<[u8], [u8]> = unsafe { &*map };
        match &self.tx {
            None => Ok(map.cursor()),
            Some(tx) => {
                // SAFETY: same as above.
                let tx: &'static Transaction<'static, Mapped> = unsafe { &*Rc::as_ptr(tx) };
                Ok(tx.open(map)?.cursor())
            }
        }
    }
}

impl Cursor {
    pub fn new(tree: Arc<Tree>, tx: Option<Rc<Transaction<'static, Mapped>>>) -> Result<Self> {
        let of = Of { tree, tx };
        Ok(Self {
            place: of.place()?,
            of,
            at: At::Nowhere,
            prefix: Vec::new(),
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// Checks that the cursor can be moved now.
    ///
    /// # Errors
    ///
    /// It was opened outside of the transaction that this thread has under way.
    pub fn expect_usable(&self) -> Result<()> {
        if self.of.tx.is_none() && self.of.tree.handle.heap.in_transaction() {
            return Err(Error::usage(
                "the cursor was opened outside of the transaction that this thread has under way; \
                 open one within it",
            ));
        }
        Ok(())
    }

    /// Moves by `go` and keeps a copy of the entry there; where there is none it is at `edge`.
    fn go(
        &mut self,
        edge: At,
        go: impl for<'p> FnOnce(&'p mut Place, &[u8]) -> Result<Option<(&'p [u8], &'p [u8])>>,
    ) -> Result<c_int> {
        // After a failure the place may be anywhere.
        self.at = At::Nowhere;
        let found = go(&mut self.place, &self.prefix)?;
        let Some((key, value)) = found.filter(|(key, _)| key.starts_with(&self.prefix)) else {
            self.at = edge;
            return Ok(NONE);
        };
        self.at = At::Entry;
        copy(key, &mut self.key);
        copy(value, &mut self.value);
        Ok(OK)
    }

    pub fn first(&mut self) -> Result<c_int> {
        self.go(At::Behind, |place, prefix| place.seek(prefix))
    }

    pub fn last(&mut self) -> Result<c_int> {
        match above_all(&self.prefix) {
            Some(above) => self.go(At::Before, |place, _| {
                place.seek(&above)?;
                place.prev()
            }),
            None => {
                self.place = self.of.place()?;
                self.go(At::Before, |place, _| place.prev())
            }
        }
    }

    pub fn next(&mut self) -> Result<c_int> {
        match self.at {
            At::Nowhere | At::Before => self.first(),
            At::Entry => self.go(At::Behind, |place, _| place.next()),
            At::Behind => Ok(NONE),
        }
    }

    pub fn prev(&mut self) -> Result<c_int> {
        match self.at {
            At::Nowhere | At::Behind => self.last(),
            At::Entry => self.go(At::Before, |place, _| place.prev()),
            At::Before => Ok(NONE),
        }
    }

    /// Moves to the first key at or above a key.
    pub fn seek(&mut self, key: &[u8]) -> Result<c_int> {
        self.go(At::Behind, |place, prefix| place.seek(key.max(prefix)))
    }

    /// Keeps to the keys with a prefix, and moves to the first one.
    pub fn set_prefix(&mut self, prefix: &[u8]) -> Result<c_int> {
        copy(prefix, &mut self.prefix);
        self.first()
    }

    /// Returns the key and the value of the entry at which it is.
    pub fn entry(&self) -> Option<(&[u8], &[u8])> {
        (self.at == At::Entry).then_some((&self.key, &self.value))
    }
}

fn copy(from: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(from);
}

/// Returns the smallest bytes above everything with a prefix; none if nothing is above it.
fn above_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut above = prefix[..=last].to_vec();
    above[last] += 1;
    Some(above)
}
