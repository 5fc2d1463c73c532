//! Queues of bytes.

use std::ffi::{c_char, c_int, c_void};

use terrace_heap::containers::{Queue as Log, queue};
use terrace_heap::{Mapped, Result};

use crate::container::Container;
use crate::error::{outcome, pointer, status};
use crate::handle::Handle;
use crate::registry::{Opened, on, remove};
use crate::stack::within;
use crate::text::{Buffer, bytes, number};

/// `nvm_queue`.
pub type Queue = Container<Log<[u8]>>;

impl Opened for Queue {
    const WHAT: &'static str = "queue";
}

/// # Safety
///
/// `name` is null or a string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_queue_open(heap: *mut Handle, name: *const c_char) -> *mut Queue {
    // SAFETY: promised by the caller.
    pointer(|| unsafe { Container::open(heap, name, Log::open) })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_queue_close(queue: *mut Queue) -> c_int {
    status(|| remove(queue))
}

/// # Safety
///
/// `value` is null, or `len` bytes lie there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_queue_push(
    queue: *mut Queue,
    value: *const c_void,
    len: usize,
) -> c_int {
    status(on(queue, |queue| {
        // SAFETY: promised by the caller.
        let value = unsafe { bytes(value, len)? };
        queue.either(|queue| queue.push(value), |queue| queue.push(value))
    }))
}

/// # Safety
///
/// Same as for [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_queue_front(
    queue: *mut Queue,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(on(queue, |queue| {
        // SAFETY: promised by the caller.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        let front = queue.either(|queue| queue.front(), |queue| queue.front())?;
        Ok(buffer.fill(front.as_deref()))
    }))
}

/// # Safety
///
/// Same as for [`Buffer::new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_queue_pop(
    queue: *mut Queue,
    into: *mut c_void,
    room: usize,
    len: *mut usize,
) -> c_int {
    outcome(on(queue, |queue| {
        // SAFETY: promised by the caller.
        let buffer = unsafe { Buffer::new(into, room, len)? };
        // In a transaction, so that nothing changes between reading the length and the pop.
        within(&queue.handle, |tx| {
            pop(&tx.open(&queue.container)?, &buffer)
        })
    }))
}

/// Removes the element at the front, if the buffer has room for it.
fn pop(queue: &queue::Opened<'_, [u8], Mapped>, buffer: &Buffer) -> Result<c_int> {
    let front = queue.front()?;
    if let Some(front) = &front
        && buffer.has_room(front.len())
    {
        queue.pop()?;
    }
    Ok(buffer.fill(front.as_deref()))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvm_queue_clear(queue: *mut Queue) -> c_int {
    status(on(queue, |queue| {
        queue.either(|queue| queue.clear(), |queue| queue.clear())
    }))
}

/// # Safety
///
/// `count` is null, or points to a number of the caller.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_queue_count(queue: *mut Queue, count: *mut u64) -> c_int {
    status(on(queue, |queue| {
        // SAFETY: promised by the caller.
        let count = unsafe { number(count)? };
        *count = queue.either(|queue| queue.len(), |queue| queue.len())?;
        Ok(())
    }))
}
