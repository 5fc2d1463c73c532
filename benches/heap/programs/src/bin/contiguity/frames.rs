//! The frames behind pages: /proc/self/pagemap.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use terrace_heap::{Error, Result};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;
/// Bits of an entry (Documentation/admin-guide/mm/pagemap.rst).
const PRESENT: u64 = 1 << 63;
const FRAME: u64 = (1 << 55) - 1;

/// Returns the frame of each page in a range of addresses; `None` where there is none.
///
/// # Errors
///
/// The kernel hides frame numbers from this program, or has no pagemap.
pub fn frames(start: *const u8, len: u64) -> Result<Vec<Option<u64>>> {
    let entries = entries(start, len)?;
    let frame = |entry: &u64| (entry & PRESENT != 0).then_some(entry & FRAME);
    let frames: Vec<Option<u64>> = entries.iter().map(frame).collect();
    // Without the privilege every number reads as 0, and frame 0 is never a program's.
    if frames.contains(&Some(0)) {
        return Err(Error::usage(
            "the kernel hides frame numbers from this program; run it as root (CAP_SYS_ADMIN) to \
             measure contiguity",
        ));
    }
    Ok(frames)
}

fn entries(start: *const u8, len: u64) -> Result<Vec<u64>> {
    let first = start.addr() as u64 / PAGE_BYTES;
    let end = (start.addr() as u64 + len).div_ceil(PAGE_BYTES);
    let mut entries = vec![0u64; (end - first) as usize];
    let read = |into: &mut [u8]| -> io::Result<()> {
        File::open("/proc/self/pagemap")?.read_exact_at(into, first * 8)
    };
    read(terrace_heap::bytemuck::cast_slice_mut(&mut entries))
        .map_err(|reason| Error::system("/proc/self/pagemap cannot be read", reason))?;
    Ok(entries)
}
