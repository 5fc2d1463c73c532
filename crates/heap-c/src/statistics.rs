//! Statistics: the room in a heap, and what was stored and flushed.

use std::ffi::c_int;
use std::ptr;

use terrace_heap::{Error, Result};

use crate::error::status;
use crate::handle::Handle;
use crate::registry::on;

/// `struct nvm_statistics`: words; new ones are added at the end.
#[repr(C)]
pub struct Statistics {
    bytes: u64,
    free: u64,
    longest_free: u64,
    stored: u64,
    lines: u64,
    fences: u64,
    syncs: u64,
}

const WORD: usize = size_of::<u64>();

fn statistics(handle: &Handle) -> Result<Statistics> {
    let (usage, counts) = (handle.heap.usage()?, handle.heap.counts());
    Ok(Statistics {
        bytes: usage.bytes,
        free: usage.free,
        longest_free: usage.longest,
        stored: counts.bytes,
        lines: counts.lines,
        fences: counts.fences,
        syncs: counts.syncs,
    })
}

/// # Safety
///
/// `into` is null, or `size` bytes of the caller's are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_statistics(
    heap: *mut Handle,
    into: *mut Statistics,
    size: usize,
) -> c_int {
    status(on(heap, |handle| {
        if into.is_null() {
            return Err(Error::usage("the statistics lie at NULL"));
        }
        if size == 0 || !size.is_multiple_of(WORD) || isize::try_from(size).is_err() {
            return Err(Error::usage(format!(
                "no version of struct nvm_statistics has {size} bytes; name its sizeof"
            )));
        }
        let now = statistics(&handle)?;
        // SAFETY: the caller's; as many bytes are copied as both structures have, and words that this
        // version does not know are zeros.
        unsafe {
            ptr::write_bytes(into.cast::<u8>(), 0, size);
            let known = size.min(size_of::<Statistics>());
            ptr::copy_nonoverlapping((&raw const now).cast::<u8>(), into.cast(), known);
        }
        Ok(())
    }))
}
