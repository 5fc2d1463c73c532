//! Statistics: the room in a heap, and what was stored and flushed.

use std::ffi::c_int;

use terrace_heap::{Error, Result};

use crate::error::status;
use crate::handle::Handle;
use crate::registry::on;

const WORD: usize = size_of::<u64>();

/// Returns the words of `struct nvm_statistics`; new ones are added at the end.
fn statistics(handle: &Handle) -> Result<[u64; 7]> {
    let (usage, counts) = (handle.heap.usage()?, handle.heap.counts());
    Ok([
        usage.bytes,
        usage.free,
        usage.longest,
        counts.bytes,
        counts.lines,
        counts.fences,
        counts.syncs,
    ])
}

/// # Safety
///
/// `into` is null, or `size` bytes of the caller are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvm_statistics(heap: *mut Handle, into: *mut u64, size: usize) -> c_int {
    status(on(heap, |handle| {
        if into.is_null() {
            return Err(Error::usage("the statistics lie at NULL"));
        }
        if size == 0 || !size.is_multiple_of(WORD) || isize::try_from(size).is_err() {
            return Err(Error::usage(format!(
                "no version of struct nvm_statistics has {size} bytes; name its sizeof"
            )));
        }
        // Words that this version does not know are zeros.
        let known = statistics(&handle)?.into_iter().chain(std::iter::repeat(0));
        for (i, word) in (0..size / WORD).zip(known) {
            // SAFETY: promised by the caller.
            unsafe { into.add(i).write_unaligned(word) };
        }
        Ok(())
    }))
}
