//! The calls of cursors.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::Arc;

use parking_lot::Mutex;
use terrace_heap::Result;

use crate::container::Tree;
use crate::cursor::Cursor;
use crate::error::{outcome, pointer, status};
use crate::registry::{self, Opened, find, on};
use crate::stack::{close_cursor, open_cursor, with_cursor};
use crate::text::{Buffer, bytes};

/// A cursor outside of transactions.
struct Alone(Cursor);

// SAFETY: all of it can be sent but a transaction, and it has none (`nvm_cursor_open`).
unsafe impl Send for Alone {}

impl Opened for Mutex<Alone> {
    const WHAT: &'static str = "cursor";
}

/// Calls `work` with a cursor of this thread's transactions, or with one outside of them.
fn with<R>(cursor: *mut Cursor, work: impl FnOnce(&mut Cursor) -> Result<R>) -> Result<R> {
    let mut work = Some(work);
    let mut work = |cursor: &mut Cursor| work.take().expect("a cursor has one number")(cursor);
    if let Some(done) = with_cursor(cursor.addr(), &mut work) {
        return done;
    }
    let alone = find(cursor.cast::<Mutex<Alone>>())?;
    work(&mut alone.lock().0)
}

/// Moves a cursor, if it can be moved now.
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
    pointer(on(tree, |tree| {
        let handle = Arc::clone(&tree.handle);
        let within = open_cursor(&handle, |tx| Cursor::new(Arc::clone(&tree), Some(tx)));
        match within {
            Some(number) => Ok(ptr::without_provenance_mut(number?)),
            None => {
                let alone = Alone(Cursor::new(tree, None)?);
                registry::add(handle.number, Mutex::new(alone)).map(<*mut _>::cast)
            }
        }
    }))
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
        // SAFETY: promised by the caller.
        cursor.seek(unsafe { bytes(key, len)? })
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
        // SAFETY: promised by the caller.
        cursor.set_prefix(unsafe { bytes(prefix, len)? })
    })
}

/// # Safety
///
/// Same as for [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_key(
    cursor: *mut Cursor,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        // SAFETY: promised by the caller.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        with(cursor, |cursor| {
            Ok(buffer.fill(cursor.entry().map(|(key, _)| key)))
        })
    })
}

/// # Safety
///
/// Same as for [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_cursor_value(
    cursor: *mut Cursor,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        // SAFETY: promised by the caller.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        with(cursor, |cursor| {
            Ok(buffer.fill(cursor.entry().map(|(_, value)| value)))
        })
    })
}
