//! Available memory, as the kernel estimates it. Allocates nothing.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// For how many milliseconds a reading is used.
const FRESH_MILLIS: u64 = 100;

/// Returns the bytes available to programs without swapping (`MemAvailable`), at most 100 ms ago;
/// the maximum if the kernel does not tell.
pub(super) fn available() -> u64 {
    static BYTES: AtomicU64 = AtomicU64::new(u64::MAX);
    static READ_AT: AtomicU64 = AtomicU64::new(0);
    let now = millis();
    if now.saturating_sub(READ_AT.load(Relaxed)) >= FRESH_MILLIS {
        READ_AT.store(now, Relaxed);
        BYTES.store(read().unwrap_or(u64::MAX), Relaxed);
    }
    BYTES.load(Relaxed)
}

/// Returns milliseconds since some moment.
fn millis() -> u64 {
    let mut now = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: it fills a local variable; zeros are a valid time should it fail.
    let now = unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, now.as_mut_ptr());
        now.assume_init()
    };
    FRESH_MILLIS + now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

fn read() -> Option<u64> {
    let mut text = [0; 512];
    parse(read_file(c"/proc/meminfo", &mut text)?)
}

/// Returns the beginning of a file of the kernel's.
pub(super) fn read_file<'a>(path: &CStr, into: &'a mut [u8]) -> Option<&'a [u8]> {
    // SAFETY: a string with a zero at its end; the file is closed again.
    let len = unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return None;
        }
        let len = libc::read(file, into.as_mut_ptr().cast(), into.len());
        libc::close(file);
        len
    };
    into.get(..usize::try_from(len).ok()?)
}

/// Returns the figure behind `MemAvailable:`, in kibibytes there.
fn parse(text: &[u8]) -> Option<u64> {
    let mut lines = text.split(|&byte| byte == b'\n');
    let rest = lines.find_map(|line| line.strip_prefix(b"MemAvailable:"))?;
    let digits = rest.iter().skip_while(|byte| **byte == b' ');
    let digits = digits.take_while(|byte| byte.is_ascii_digit());
    Some(digits.fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0')) * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_what_is_available() {
        let text = b"MemTotal: 24683532 kB\nMemFree: 1 kB\nMemAvailable:   22872064 kB\nBuf";
        assert_eq!(parse(text), Some(22_872_064 << 10));
        assert_eq!(parse(b"MemTotal: 24683532 kB\n"), None);
        let now = available();
        assert!(now > 0 && now < u64::MAX);
    }
}
