//! Ordered maps from bytes to bytes.

use std::ffi::{c_char, c_int, c_void};

use terrace_heap::containers::BTreeMap;

use crate::container::Container;
use crate::error::{NONE, OK, outcome, pointer, status};
use crate::handle::Handle;
use crate::registry::{Opened, find, remove};
use crate::text::{Buffer, bytes, number};

/// `nvm_tree`.
pub type Tree = Container<BTreeMap<[u8], [u8]>>;

impl Opened for Tree {
    const WHAT: &'static str = "ordered map";
}

/// # Safety
///
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_tree_open(heap: *mut Handle, name: *const c_char) -> *mut Tree {
    // SAFETY: the caller's.
    pointer(|| unsafe { Container::open(heap, name, BTreeMap::open) })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_tree_close(tree: *mut Tree) -> c_int {
    status(|| remove(tree))
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there, and so with `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_tree_put(
    tree: *mut Tree,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
) -> c_int {
    status(|| {
        let tree = find(tree)?;
        // SAFETY: the caller's.
        let (key, value) = unsafe { (bytes(key, key_len)?, bytes(value, value_len)?) };
        tree.either(|map| map.insert(key, value), |map| map.insert(key, value))
            .map(drop)
    })
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there; as of [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_tree_get(
    tree: *mut Tree,
    key: *const c_void,
    key_len: usize,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        let tree = find(tree)?;
        // SAFETY: the caller's.
        let (key, buffer) = unsafe { (bytes(key, key_len)?, Buffer::new(into, room, len)?) };
        let found = tree.either(|map| map.get(key), |map| map.get(key))?;
        Ok(buffer.fill(found.as_deref()))
    })
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_tree_remove(
    tree: *mut Tree,
    key: *const c_void,
    key_len: usize,
) -> c_int {
    outcome(|| {
        let tree = find(tree)?;
        // SAFETY: the caller's.
        let key = unsafe { bytes(key, key_len)? };
        let old = tree.either(|map| map.remove(key), |map| map.remove(key))?;
        Ok(old.map_or(NONE, |_| OK))
    })
}

/// # Safety
///
/// `count` is null or a number of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_tree_count(tree: *mut Tree, count: *mut u64) -> c_int {
    status(|| {
        let tree = find(tree)?;
        // SAFETY: the caller's.
        let count = unsafe { number(count)? };
        *count = tree.either(|map| map.len(), |map| map.len())?;
        Ok(())
    })
}
