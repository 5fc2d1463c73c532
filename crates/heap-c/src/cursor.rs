//! Cursors over ordered maps.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use terrace_heap::containers::{BTreeMap, btree_map};
use terrace_heap::{Error, Mapped, Result, Transaction};

use crate::error::{NONE, OK, outcome, pointer, status};
use crate::registry::{self, Opened, find};
use crate::stack::{close_cursor, open_cursor, with_cursor};
use crate::text::{Buffer, bytes};
use crate::tree::Tree;

type Place = btree_map::Cursor<'static, [u8], [u8], Mapped>;

/// `nvm_cursor`.
pub struct Cursor {
    /// Dropped before what it refers to.
    place: Place,
    of: Of,
    at: At,
    /// It keeps to the keys that begin so.
    prefix: Vec<u8>,
    /// Of the entry at which it is, as it was when the cursor came to it.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What a cursor reads.
struct Of {
    tree: Arc<Tree>,
    /// If it was opened within one.
    tx: Option<Rc<Transaction<'static, Mapped>>>,
}

/// Where a cursor is, among the keys to which it keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// Not yet anywhere.
    Nowhere,
    Before,
    Entry,
    Behind,
}

/// A cursor outside of transactions.
struct Alone(Cursor);

// SAFETY: all of it can be sent but a transaction, and it has none (`nvm_cursor_open`).
unsafe impl Send for Alone {}

impl Opened for Mutex<Alone> {
    const WHAT: &'static str = "cursor";
}

impl Of {
    /// A place that is nowhere yet.
    fn place(&self) -> Result<Place> {
        let map: *const BTreeMap<[u8], [u8]> = &raw const self.tree.container;
        // SAFETY: shared ownership keeps it where it is, and the cursor, which has its share, drops the
        // place before that.
        let map: &'static BTreeMap<[u8], [u8]> = unsafe { &*map };
        match &self.tx {
            None => Ok(map.cursor()),
            Some(tx) => {
                // SAFETY: as above.
                let tx: &'static Transaction<'static, Mapped> = unsafe { &*Rc::as_ptr(tx) };
                Ok(tx.open(map)?.cursor())
            }
        }
    }
}

impl Cursor {
    fn new(tree: Arc<Tree>, tx: Option<Rc<Transaction<'static, Mapped>>>) -> Result<Self> {
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

    /// Whether it can be moved now.
    ///
    /// # Errors
    ///
    /// It was opened outside of the transaction that this thread has under way.
    fn expect_usable(&self) -> Result<()> {
        match self.of.tx.is_none() && self.of.tree.handle.heap.in_transaction() {
            false => Ok(()),
            true => Err(Error::usage(
                "the cursor was opened outside of the transaction that this thread has under way; \
                 open one within it",
            )),
        }
    }

    /// Goes somewhere, and shows the entry that is there; beyond the last one it is at `edge`.
    fn go(
        &mut self,
        edge: At,
        go: impl for<'p> FnOnce(&'p mut Place, &[u8]) -> Result<Option<(&'p [u8], &'p [u8])>>,
    ) -> Result<c_int> {
        // If it fails the place may be anywhere.
        self.at = At::Nowhere;
        let found = go(&mut self.place, &self.prefix)?;
        let found = found.filter(|(key, _)| key.starts_with(&self.prefix));
        self.at = found.map_or(edge, |_| At::Entry);
        let Some((key, value)) = found else {
            return Ok(NONE);
        };
        copy(key, &mut self.key);
        copy(value, &mut self.value);
        Ok(OK)
    }

    fn first(&mut self) -> Result<c_int> {
        self.go(At::Behind, |place, prefix| place.seek(prefix))
    }

    fn last(&mut self) -> Result<c_int> {
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

    fn next(&mut self) -> Result<c_int> {
        match self.at {
            At::Nowhere | At::Before => self.first(),
            At::Entry => self.go(At::Behind, |place, _| place.next()),
            At::Behind => Ok(NONE),
        }
    }

    fn prev(&mut self) -> Result<c_int> {
        match self.at {
            At::Nowhere | At::Behind => self.last(),
            At::Entry => self.go(At::Before, |place, _| place.prev()),
            At::Before => Ok(NONE),
        }
    }

    /// One part of the entry at which it is.
    fn part<'c>(&self, part: &'c [u8]) -> Option<&'c [u8]> {
        (self.at == At::Entry).then_some(part)
    }
}

fn copy(from: &[u8], into: &mut Vec<u8>) {
    into.clear();
    into.extend_from_slice(from);
}

/// The first bytes above all that begin so; none if nothing is above them.
fn above_all(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != u8::MAX)?;
    let mut above = prefix[..=last].to_vec();
    above[last] += 1;
    Some(above)
}

/// Does something with a cursor of this thread's transactions, or with one outside of them.
fn with<R>(cursor: *mut Cursor, work: impl FnOnce(&mut Cursor) -> Result<R>) -> Result<R> {
    let mut work = Some(work);
    let mut work = |cursor: &mut Cursor| work.take().expect("a cursor has one number")(cursor);
    if let Some(done) = with_cursor(cursor.addr(), &mut work) {
        return done;
    }
    let alone = find(cursor.cast::<Mutex<Alone>>())?;
    let mut alone = alone.lock().unwrap_or_else(PoisonError::into_inner);
    work(&mut alone.0)
}

/// Has a cursor go somewhere.
fn moved(cursor: *mut Cursor, go: impl FnOnce(&mut Cursor) -> Result<c_int>) -> c_int {
    outcome(|| {
        with(cursor, |cursor| {
            cursor.expect_usable()?;
            go(cursor)
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_open(tree: *mut Tree) -> *mut Cursor {
    pointer(|| {
        let tree = find(tree)?;
        let handle = Arc::clone(&tree.handle);
        let within = open_cursor(&handle, |tx| Cursor::new(Arc::clone(&tree), Some(tx)));
        match within {
            Some(number) => Ok(ptr::without_provenance_mut(number?)),
            None => {
                let alone = Alone(Cursor::new(tree, None)?);
                registry::add(&handle, Mutex::new(alone)).map(<*mut _>::cast)
            }
        }
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_close(cursor: *mut Cursor) -> c_int {
    status(|| match close_cursor(cursor.addr()) {
        true => Ok(()),
        false => registry::remove(cursor.cast::<Mutex<Alone>>()),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_first(cursor: *mut Cursor) -> c_int {
    moved(cursor, Cursor::first)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_last(cursor: *mut Cursor) -> c_int {
    moved(cursor, Cursor::last)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_next(cursor: *mut Cursor) -> c_int {
    moved(cursor, Cursor::next)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_cursor_prev(cursor: *mut Cursor) -> c_int {
    moved(cursor, Cursor::prev)
}

/// # Safety
///
/// `key` is null, or `len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_seek(
    cursor: *mut Cursor,
    key: *const c_void,
    len: usize,
) -> c_int {
    moved(cursor, |cursor| {
        // SAFETY: the caller's.
        let key = unsafe { bytes(key, len)? };
        cursor.go(At::Behind, |place, prefix| place.seek(key.max(prefix)))
    })
}

/// # Safety
///
/// `prefix` is null, or `len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_prefix(
    cursor: *mut Cursor,
    prefix: *const c_void,
    len: usize,
) -> c_int {
    moved(cursor, |cursor| {
        // SAFETY: the caller's.
        copy(unsafe { bytes(prefix, len)? }, &mut cursor.prefix);
        cursor.first()
    })
}

/// # Safety
///
/// As of [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_key(
    cursor: *mut Cursor,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        // SAFETY: the caller's.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        with(cursor, |cursor| Ok(buffer.fill(cursor.part(&cursor.key))))
    })
}

/// # Safety
///
/// As of [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_value(
    cursor: *mut Cursor,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        // SAFETY: the caller's.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        with(cursor, |cursor| Ok(buffer.fill(cursor.part(&cursor.value))))
    })
}
