//! `close` and its like: they leave the descriptors of extended memory
//! alone.

use std::ffi::{c_int, c_long, c_uint};

use terrace_region::descriptor::{is_kept, next_kept};

unsafe extern "C" {
    fn __close(number: c_int) -> c_int;
}

/// The call fails for descriptors that the program does not know.
fn refuse(error: c_int) -> c_int {
    // SAFETY: the thread's own number.
    unsafe { *libc::__errno_location() = error };
    -1
}

/// Closes a descriptor.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn close(number: c_int) -> c_int {
    match is_kept(number) {
        true => refuse(libc::EBADF),
        // SAFETY: the caller's promises.
        false => unsafe { __close(number) },
    }
}

/// Closes the descriptors of a range.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    let mut from = first;
    while from <= last {
        let kept = c_int::try_from(from).ok().and_then(next_kept);
        let kept = kept.map(|kept| kept as c_uint).filter(|kept| *kept <= last);
        let to = match kept {
            Some(kept) if kept == from => {
                from += 1;
                continue;
            }
            Some(kept) => kept - 1,
            None => last,
        };
        // SAFETY: the caller's promises; the call sets errno.
        let closed = unsafe { libc::syscall(libc::SYS_close_range, from, to, c_long::from(flags)) };
        if closed != 0 {
            return -1;
        }
        match to.checked_add(1) {
            Some(next) => from = next,
            None => break,
        }
    }
    match first > last {
        true => refuse(libc::EINVAL),
        false => 0,
    }
}

/// Closes the descriptors from a number on.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn closefrom(first: c_int) {
    // SAFETY: the caller's promises.
    unsafe { close_range(first.max(0) as c_uint, c_uint::MAX, 0) };
}

/// Has a number stand for another descriptor.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn dup2(old: c_int, new: c_int) -> c_int {
    match is_kept(new) {
        true => refuse(libc::EBUSY),
        // SAFETY: the caller's promises; the call sets errno.
        false => unsafe { libc::syscall(libc::SYS_dup2, old, new) as c_int },
    }
}

/// Has a number stand for another descriptor.
///
/// # Safety
/// As that of the C library.
pub unsafe extern "C" fn dup3(old: c_int, new: c_int, flags: c_int) -> c_int {
    match is_kept(new) {
        true => refuse(libc::EBUSY),
        // SAFETY: the caller's promises; the call sets errno.
        false => unsafe { libc::syscall(libc::SYS_dup3, old, new, c_long::from(flags)) as c_int },
    }
}
