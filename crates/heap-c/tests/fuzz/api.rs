//! The functions of the API, each with arguments of any kind.

use crate::calls::{Program, heap_bytes, hint, len, number, size, status, string};
use crate::handle::*;
use crate::input::Input;
use crate::memory::*;
use crate::transaction::*;

/// `nvm_heap *`.
pub type Heap = *mut Handle;

/// A call, with what it takes of an input.
pub type Call = fn(&mut Program, &mut Input);

/// Each function.
// SAFETY: strings end with a zero, and at `bytes` lie as many as `len` says or can be; nothing that was
// freed or closed is read or written by the program itself.
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
    ]
};
