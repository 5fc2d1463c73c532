//! Memory that is mapped at once and takes room only where it is touched.

use std::io;
use std::ptr::null_mut;

/// Maps `bytes` zeros, which stay mapped.
///
/// # Errors
/// Returns the error of the system, which refused the memory.
pub fn zeros(bytes: usize) -> io::Result<*mut libc::c_void> {
    // SAFETY: a new mapping, which touches no memory of this process.
    let address = unsafe {
        libc::mmap(
            null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    match address == libc::MAP_FAILED {
        true => Err(io::Error::last_os_error()),
        false => Ok(address),
    }
}
