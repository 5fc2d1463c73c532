//! Answers of system calls.

use std::io;

/// Returns the answer of a system call, or of the C library's function for it. Allocates nothing,
/// so that it may be used between fork and exec.
///
/// # Errors
/// The kernel's, if the answer is negative: it is in `errno` then.
pub fn answered(answer: impl Into<i64>) -> io::Result<i64> {
    match answer.into() {
        answer @ 0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_number_or_an_error() {
        // SAFETY: takes integers.
        let descriptor = unsafe { libc::dup(0) };
        assert_eq!(answered(descriptor).unwrap(), i64::from(descriptor));
        // SAFETY: the descriptor is ours, and closed once.
        assert_eq!(answered(unsafe { libc::close(descriptor) }).unwrap(), 0);
        // SAFETY: takes integers; there is no such descriptor.
        let error = answered(unsafe { libc::syscall(libc::SYS_close, -1) }).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EBADF));
    }
}
