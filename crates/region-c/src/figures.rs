//! Figures of an extension.

use std::ffi::c_int;

use terrace_base::Error;
use terrace_region::Figures;

use crate::error::status;
use crate::registry::{self, Handle};

const WORD: usize = size_of::<u64>();

/// Returns the words of `struct terrace_figures`; new ones are added at the end.
fn words(figures: &Figures) -> [u64; 14] {
    [
        figures.first_touches,
        figures.fetches,
        figures.returns,
        figures.evicted_clean,
        figures.evicted_dirty,
        figures.pages_written,
        figures.written.bytes,
        figures.write_errors,
        figures.read_errors,
        figures.kept,
        figures.fetch_nanos,
        figures.dram,
        figures.peak_dram,
        figures.peak_footprint,
    ]
}

/// # Safety
///
/// `into` is null, or `size` bytes of the caller are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn terrace_figures(
    extension: *mut Handle,
    into: *mut u64,
    size: usize,
) -> c_int {
    status(|| {
        let open = registry::find(extension)?;
        if into.is_null() {
            return Err(Error::usage("the figures lie at NULL"));
        }
        if size == 0 || !size.is_multiple_of(WORD) || isize::try_from(size).is_err() {
            return Err(Error::usage(format!(
                "no version of struct terrace_figures has {size} bytes; name its sizeof"
            )));
        }
        // Words that this version does not know are zeros.
        let known = words(&open.extension.figures()).into_iter();
        for (at, word) in (0..size / WORD).zip(known.chain(std::iter::repeat(0))) {
            // SAFETY: promised by the caller.
            unsafe { into.add(at).write_unaligned(word) };
        }
        Ok(())
    })
}
