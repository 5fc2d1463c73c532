//! Puts pages of another process into its page table: one byte of each is read.
//!
//! A page that was paged out to a disk stays in the swap cache, charged as memory, until the kernel
//! needs room. Once it is in the page table again, unchanged, another `MADV_PAGEOUT` lets it go
//! without a write (Linux 6.18).

use std::io;

use terrace_policy::{PAGE_BYTES, Page, Space};

/// Ranges that one call can have (`UIO_MAXIOV`).
const MAX_RANGES: usize = 1024;

/// Reads a byte of each page; passes over those that cannot be read.
///
/// # Errors
/// `EPERM` without CAP_SYS_PTRACE.
pub fn read(space: Space, pages: &[Page]) -> io::Result<()> {
    for mut pages in pages.chunks(MAX_RANGES) {
        while !pages.is_empty() {
            // The page at which a call ended cannot be read.
            let done = read_some(space, pages)?;
            pages = pages.get(done + 1..).unwrap_or(&[]);
        }
    }
    Ok(())
}

/// Reads a byte of each page up to one that cannot be read; returns how many.
fn read_some(space: Space, pages: &[Page]) -> io::Result<usize> {
    let mut bytes = [0_u8; MAX_RANGES];
    let ours = libc::iovec {
        iov_base: bytes.as_mut_ptr().cast(),
        iov_len: pages.len().min(MAX_RANGES),
    };
    let theirs: Vec<libc::iovec> = pages
        .iter()
        .take(MAX_RANGES)
        .map(|page| libc::iovec {
            iov_base: (page.0 * PAGE_BYTES) as *mut libc::c_void,
            iov_len: 1,
        })
        .collect();
    // SAFETY: our range is a buffer of at least as many bytes as are read, which lives through the
    // call; the other process's memory is only read, and checked by the kernel.
    let read = unsafe {
        libc::process_vm_readv(
            space.0 as libc::pid_t,
            &raw const ours,
            1,
            theirs.as_ptr(),
            theirs.len() as libc::c_ulong,
            0,
        )
    };
    match usize::try_from(read) {
        Ok(bytes) => Ok(bytes),
        Err(_) => match io::Error::last_os_error() {
            // The first page is not mapped any more, or the process has ended.
            e if matches!(e.raw_os_error(), Some(libc::EFAULT)) => Ok(0),
            e if matches!(e.raw_os_error(), Some(libc::ESRCH)) => Ok(pages.len()),
            e => Err(e),
        },
    }
}
