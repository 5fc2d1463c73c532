//! The functions of the API, each with arguments of any kind.

use std::ffi::{c_int, c_void};

use crate::calls::{Program, heap_bytes, hint, len, number, size, status, string, work};
use crate::container::{Tree, nvm_remove};
use crate::cursors::*;
use crate::error::nvm_error_status;
use crate::handle::*;
use crate::input::Input;
use crate::maps::*;
use crate::memory::*;
use crate::queue::*;
use crate::statistics::*;
use crate::transaction::*;

/// `nvm_heap *`.
pub type Heap = *mut Handle;

/// A call, with what it takes of an input.
pub type Call = fn(&mut Program, &mut Input);

/// Each function.
// SAFETY: strings end with a zero, and at `bytes` lie as many as `len` says or can be; nothing that
// was freed or closed is read or written by the program itself.
pub const API: &[Call] = unsafe {
    &[
        |c, i| c.keep_heap(nvm_create(c.path(i), heap_bytes(i))),
        |c, i| c.keep_heap(nvm_open(c.path(i))),
        |c, i| c.keep_heap(nvm_anonymous(heap_bytes(i))),
        |c, i| status(nvm_close(c.heap(i))),
        |c, i| status(nvm_grow(c.heap(i), heap_bytes(i))),
        |c, i| number(nvm_bytes(c.heap(i))),
        |c, i| string(nvm_kind(c.heap(i))),
        |c, i| c.keep(nvm_base(c.heap(i))),
        |c, i| c.keep(nvm_pointer(c.heap(i), i.size())),
        |c, i| number(nvm_offset(c.heap(i), c.pointer(i))),
        |c, i| c.keep(nvm_persist_alloc(c.heap(i), size(i), c.name(i))),
        |_, _| number(nvm_found()),
        |c, i| c.keep(nvm_persist_alloc_at(c.heap(i), size(i), c.pointer(i))),
        |c, i| c.keep(nvm_root(c.heap(i), c.name(i))),
        |c, i| number(nvm_size(c.heap(i), c.pointer(i))),
        |c, i| c.keep(nvm_cap_alloc(c.heap(i), size(i))),
        |c, i| status(nvm_free(c.heap(i), c.pointer(i))),
        |c, i| status(nvm_free_at(c.heap(i), c.pointer(i))),
        |c, i| c.keep(nvm_realloc(c.heap(i), c.pointer(i), size(i))),
        |c, i| c.keep(nvm_realloc_at(c.heap(i), c.pointer(i), size(i))),
        |c, i| status(nvm_remove_root(c.heap(i), c.name(i))),
        |c, i| status(nvm_begin(c.heap(i))),
        |c, i| status(nvm_commit(c.heap(i))),
        |c, i| status(nvm_abort(c.heap(i))),
        |c, i| status(nvm_set_word(c.heap(i), c.pointer(i), i.size())),
        |c, i| {
            status(nvm_set(
                c.heap(i),
                c.pointer(i),
                c.bytes(i),
                len(i),
                hint(i),
            ))
        },
        |c, i| status(nvm_get(c.heap(i), c.pointer(i), c.bytes(i), len(i))),
        |c, i| status(nvm_persist(c.heap(i), c.pointer(i), size(i))),
        |c, i| status(nvm_transaction(c.heap(i), Some(work), c.pointer(i))),
        |c, i| status(nvm_transaction(c.heap(i), None, c.pointer(i))),
        |_, _| number(nvm_error_status()),
        |c, i| status(nvm_statistics(c.heap(i), c.bytes(i).cast(), len(i))),
        |c, i| c.keep_handle(nvm_hash_open(c.heap(i), c.name(i))),
        |c, i| status(nvm_hash_close(c.handle(i))),
        |c, i| {
            status(nvm_hash_put(
                c.handle(i),
                c.bytes(i),
                len(i),
                c.bytes(i),
                len(i),
            ))
        },
        |c, i| {
            status(nvm_hash_get(
                c.handle(i),
                c.bytes(i),
                len(i),
                c.bytes(i),
                len(i),
                c.told(i),
            ))
        },
        |c, i| status(nvm_hash_remove(c.handle(i), c.bytes(i), len(i))),
        |c, i| status(nvm_hash_count(c.handle(i), c.count(i))),
        |c, i| c.keep_handle(nvm_tree_open(c.heap(i), c.name(i))),
        |c, i| status(nvm_tree_close(c.handle(i))),
        |c, i| {
            status(nvm_tree_put(
                c.handle(i),
                c.bytes(i),
                len(i),
                c.bytes(i),
                len(i),
            ))
        },
        |c, i| {
            status(nvm_tree_get(
                c.handle(i),
                c.bytes(i),
                len(i),
                c.bytes(i),
                len(i),
                c.told(i),
            ))
        },
        |c, i| status(nvm_tree_remove(c.handle(i), c.bytes(i), len(i))),
        |c, i| status(nvm_tree_count(c.handle(i), c.count(i))),
        |c, i| c.keep_handle(nvm_queue_open(c.heap(i), c.name(i))),
        |c, i| status(nvm_queue_close(c.handle(i))),
        |c, i| status(nvm_queue_push(c.handle(i), c.bytes(i), len(i))),
        |c, i| status(nvm_queue_pop(c.handle(i), c.bytes(i), len(i), c.told(i))),
        |c, i| status(nvm_queue_front(c.handle(i), c.bytes(i), len(i), c.told(i))),
        |c, i| status(nvm_queue_count(c.handle(i), c.count(i))),
        |c, i| status(nvm_hash_clear(c.handle(i))),
        |c, i| status(nvm_tree_clear(c.handle(i))),
        |c, i| status(nvm_queue_clear(c.handle(i))),
        |c, i| status(nvm_remove(c.heap(i), c.name(i))),
        |c, i| pop(c, i, nvm_tree_pop_first),
        |c, i| pop(c, i, nvm_tree_pop_last),
        |c, i| c.keep_handle(nvm_cursor_open(c.handle(i))),
        |c, i| status(nvm_cursor_close(c.handle(i))),
        |c, i| status(nvm_cursor_first(c.handle(i))),
        |c, i| status(nvm_cursor_last(c.handle(i))),
        |c, i| status(nvm_cursor_next(c.handle(i))),
        |c, i| status(nvm_cursor_prev(c.handle(i))),
        |c, i| status(nvm_cursor_seek(c.handle(i), c.bytes(i), len(i))),
        |c, i| status(nvm_cursor_prefix(c.handle(i), c.bytes(i), len(i))),
        |c, i| status(nvm_cursor_key(c.handle(i), c.bytes(i), len(i), c.told(i))),
        |c, i| status(nvm_cursor_value(c.handle(i), c.bytes(i), len(i), c.told(i))),
        |c, i| status(nvm_compact(c.heap(i), i.size(), c.count(i), c.count(i))),
    ]
};

/// A call that removes the entry at an end of an ordered map.
type Pop = unsafe extern "C" fn(
    *mut Tree,
    *mut c_void,
    usize,
    *mut usize,
    *mut c_void,
    usize,
    *mut usize,
) -> c_int;

fn pop(c: &mut Program, i: &mut Input, call: Pop) {
    let (tree, key, key_len, told) = (c.handle(i), c.bytes(i), len(i), c.told(i));
    let (value, value_len, value_told) = (c.bytes(i), len(i), c.told(i));
    // SAFETY: as above.
    status(unsafe { call(tree, key, key_len, told, value, value_len, value_told) });
}
