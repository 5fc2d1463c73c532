//! Hash maps from bytes to bytes.

use std::ffi::{c_char, c_int, c_void};

use terrace_heap::containers::HashMap;

use crate::container::Container;
use crate::error::{NONE, OK, outcome, pointer, status};
use crate::handle::Handle;
use crate::registry::{Opened, find, remove};
use crate::text::{Buffer, bytes, number};

/// `nvm_hash`.
pub type Hash = Container<HashMap<[u8], [u8]>>;

impl Opened for Hash {
    const WHAT: &'static str = "hash map";
}

/// # Safety
///
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_hash_open(heap: *mut Handle, name: *const c_char) -> *mut Hash {
    // SAFETY: the caller's.
    pointer(|| unsafe { Container::open(heap, name, HashMap::open) })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_hash_close(hash: *mut Hash) -> c_int {
    status(|| remove(hash))
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there, and so with `value`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_hash_put(
    hash: *mut Hash,
    key: *const c_void,
    key_len: usize,
    value: *const c_void,
    value_len: usize,
) -> c_int {
    status(|| {
        let hash = find(hash)?;
        // SAFETY: the caller's.
        let (key, value) = unsafe { (bytes(key, key_len)?, bytes(value, value_len)?) };
        hash.either(|map| map.insert(key, value), |map| map.insert(key, value))
            .map(drop)
    })
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there; as of [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_hash_get(
    hash: *mut Hash,
    key: *const c_void,
    key_len: usize,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(|| {
        let hash = find(hash)?;
        // SAFETY: the caller's.
        let (key, buffer) = unsafe { (bytes(key, key_len)?, Buffer::new(into, room, len)?) };
        let found = hash.either(|map| map.get(key), |map| map.get(key))?;
        Ok(buffer.fill(found.as_deref()))
    })
}

/// # Safety
///
/// `key` is null, or `key_len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_hash_remove(
    hash: *mut Hash,
    key: *const c_void,
    key_len: usize,
) -> c_int {
    outcome(|| {
        let hash = find(hash)?;
        // SAFETY: the caller's.
        let key = unsafe { bytes(key, key_len)? };
        let old = hash.either(|map| map.remove(key), |map| map.remove(key))?;
        Ok(old.map_or(NONE, |_| OK))
    })
}

/// # Safety
///
/// `count` is null or a number of the caller's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_hash_count(hash: *mut Hash, count: *mut u64) -> c_int {
    status(|| {
        let hash = find(hash)?;
        // SAFETY: the caller's.
        let count = unsafe { number(count)? };
        *count = hash.either(|map| map.len(), |map| map.len())?;
        Ok(())
    })
}
