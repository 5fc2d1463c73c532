//! Maps from bytes to bytes: hash maps and ordered maps, which differ in their names only.

use std::ffi::{c_char, c_int, c_void};

use terrace_heap::Result;
use terrace_heap::containers::{BTreeMap, HashMap};

use crate::container::{Container, Tree};
use crate::error::{NONE, OK, outcome, pointer, status};
use crate::handle::Handle;
use crate::registry::{Opened, on, remove};
use crate::stack::within;
use crate::text::{Buffer, bytes, number};

/// `nvm_hash`.
pub type Hash = Container<HashMap<[u8], [u8]>>;

/// Defines the calls of one kind of map.
macro_rules! map_calls {
    ($Map:ty, $what:literal, $make:expr,
     $open:ident $close:ident $put:ident $get:ident $remove:ident $count:ident $clear:ident) => {
        impl Opened for $Map {
            const WHAT: &'static str = $what;
        }

        /// # Safety
        ///
        /// `name` is null or a string.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $open(heap: *mut Handle, name: *const c_char) -> *mut $Map {
            // SAFETY: promised by the caller.
            pointer(|| unsafe { Container::open(heap, name, $make) })
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $close(map: *mut $Map) -> c_int {
            status(|| remove(map))
        }

        /// # Safety
        ///
        /// `key` is null, or `key_len` bytes lie there, and so with `value`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $put(
            map: *mut $Map,
            key: *const c_void,
            key_len: usize,
            value: *const c_void,
            value_len: usize,
        ) -> c_int {
            status(on(map, |map| {
                // SAFETY: promised by the caller.
                let (key, value) = unsafe { (bytes(key, key_len)?, bytes(value, value_len)?) };
                map.either(|map| map.insert(key, value), |map| map.insert(key, value))
                    .map(drop)
            }))
        }

        /// # Safety
        ///
        /// `key` is null, or `key_len` bytes lie there; as of [`Buffer::new`].
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $get(
            map: *mut $Map,
            key: *const c_void,
            key_len: usize,
            into: *mut c_void,
            room: usize,
            len: *mut usize,
        ) -> c_int {
            outcome(on(map, |map| {
                // SAFETY: promised by the caller.
                let key = unsafe { bytes(key, key_len)? };
                // SAFETY: promised by the caller.
                let buffer = unsafe { Buffer::new(into, room, len)? };
                let found = map.either(|map| map.get(key), |map| map.get(key))?;
                Ok(buffer.fill(found.as_deref()))
            }))
        }

        /// # Safety
        ///
        /// `key` is null, or `key_len` bytes lie there.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $remove(
            map: *mut $Map,
            key: *const c_void,
            key_len: usize,
        ) -> c_int {
            outcome(on(map, |map| {
                // SAFETY: promised by the caller.
                let key = unsafe { bytes(key, key_len)? };
                let old = map.either(|map| map.remove(key), |map| map.remove(key))?;
                Ok(old.map_or(NONE, |_| OK))
            }))
        }

        #[unsafe(no_mangle)]
        pub extern "C" fn $clear(map: *mut $Map) -> c_int {
            status(on(map, |map| {
                map.either(|map| map.clear(), |map| map.clear())
            }))
        }

        /// # Safety
        ///
        /// `count` is null, or points to a number of the caller.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $count(map: *mut $Map, count: *mut u64) -> c_int {
            status(on(map, |map| {
                // SAFETY: promised by the caller.
                let count = unsafe { number(count)? };
                *count = map.either(|map| map.len(), |map| map.len())?;
                Ok(())
            }))
        }
    };
}

map_calls!(Hash, "hash map", HashMap::open,
    nvm_hash_open nvm_hash_close nvm_hash_put nvm_hash_get nvm_hash_remove nvm_hash_count nvm_hash_clear);
map_calls!(Tree, "ordered map", BTreeMap::open,
    nvm_tree_open nvm_tree_close nvm_tree_put nvm_tree_get nvm_tree_remove nvm_tree_count nvm_tree_clear);

/// An end of an ordered map.
#[derive(Clone, Copy)]
enum End {
    First,
    Last,
}

/// Removes the entry at an end of a map, if the buffers have room for it.
fn pop(tree: &Tree, end: End, key: &Buffer, value: &Buffer) -> Result<c_int> {
    // In a transaction, so that nothing changes between reading the lengths and the pop.
    within(&tree.handle, |tx| {
        let map = tx.open(&tree.container)?;
        let found = match end {
            End::First => map.first()?,
            End::Last => map.last()?,
        };
        let (found_key, found_value) = found.unzip();
        let has_room = |buffer: &Buffer, found: &Option<Vec<u8>>| {
            buffer.has_room(found.as_ref().map_or(0, Vec::len))
        };
        if let Some(last) = &found_key
            && has_room(key, &found_key)
            && has_room(value, &found_value)
        {
            map.remove(last)?;
        }
        let told = key.fill(found_key.as_deref());
        Ok(told.max(value.fill(found_value.as_deref())))
    })
}

/// Defines the call that removes the entry at an end.
macro_rules! pop_call {
    ($name:ident $end:expr) => {
        /// # Safety
        ///
        /// Same as for [`Buffer::new`], for both buffers.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            tree: *mut Tree,
            key: *mut c_void,
            key_room: usize,
            key_len: *mut usize,
            value: *mut c_void,
            value_room: usize,
            value_len: *mut usize,
        ) -> c_int {
            outcome(on(tree, |tree| {
                // SAFETY: promised by the caller.
                let key = unsafe { Buffer::new(key, key_room, key_len)? };
                // SAFETY: promised by the caller.
                let value = unsafe { Buffer::new(value, value_room, value_len)? };
                pop(&tree, $end, &key, &value)
            }))
        }
    };
}

pop_call!(nvm_tree_pop_first End::First);
pop_call!(nvm_tree_pop_last End::Last);
