//! Keeps the objects of a placement in DRAM, under `terrace run --place`.

use std::ffi::c_void;

use libc::c_long;

const PAGE: usize = 4096;

/// Locks pages when they are touched, and not before.
const ON_FAULT: c_long = libc::MLOCK_ONFAULT as c_long;

/// Keeps an object that was allocated in DRAM, if the placement says so.
pub fn allocated(object: usize, bytes: usize) {
    if !terrace_placed::take(object, bytes) {
        return;
    }
    if let Some((start, length)) = pages(object, bytes)
        && !lock(start, length)
    {
        terrace_placed::give_back(object);
    }
}

/// Lets the pages of an object go, which is about to be freed.
pub fn freed(object: usize) {
    let bytes = terrace_placed::give_back(object);
    if let Some((start, length)) = bytes.and_then(|bytes| pages(object, bytes)) {
        unlock(start, length);
    }
}

/// Returns the whole pages of an object, if it has any.
fn pages(object: usize, bytes: usize) -> Option<(usize, usize)> {
    let start = object.next_multiple_of(PAGE);
    let end = (object + bytes) / PAGE * PAGE;
    (start < end).then(|| (start, end - start))
}

fn lock(start: usize, length: usize) -> bool {
    // SAFETY: the call changes no contents of memory.
    quietly(|| unsafe { libc::syscall(libc::SYS_mlock2, start, length, ON_FAULT) }) == 0
}

fn unlock(start: usize, length: usize) {
    // SAFETY: the call changes no contents of memory.
    quietly(|| unsafe { c_long::from(libc::munlock(start as *const c_void, length)) });
}

/// Makes a call, and leaves errno alone.
fn quietly(call: impl FnOnce() -> c_long) -> c_long {
    // SAFETY: the thread's own number.
    unsafe {
        let before = *libc::__errno_location();
        let result = call();
        *libc::__errno_location() = before;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole() {
        assert_eq!(pages(4096, 8192), Some((4096, 8192)));
        assert_eq!(pages(4097, 8192), Some((8192, 4096)));
        assert_eq!(pages(4112, 3 * 4096 - 16), Some((8192, 2 * 4096)));
        assert_eq!(pages(4097, 4096), None);
    }
}
