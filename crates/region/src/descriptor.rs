//! Descriptors of extended memory in a program that does not know of them.
//!
//! Programs close descriptors that they do not know, and use numbers as they like. Without its
//! userfaultfd memory would turn to zeros, and the number of a file could become that of another.
//! So descriptors have high numbers, and code that stands between a program and its system calls
//! can ask which numbers are kept from it.

use std::ops::{Deref, DerefMut};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::fcntl_dupfd_cloexec;

/// Numbers that can be kept.
const MOST: usize = 1 << 16;
/// The least number that is sought, below which programs have their own.
const HIGH: RawFd = 900;
const BITS: usize = u64::BITS as usize;

/// A bit for each number.
static KEPT: [AtomicU64; MOST / BITS] = [const { AtomicU64::new(0) }; MOST / BITS];

/// A descriptor that the program must not close.
#[derive(Debug)]
pub(crate) struct Kept<T: AsRawFd>(T);

impl<T: AsRawFd + From<OwnedFd> + Into<OwnedFd>> Kept<T> {
    /// Keeps a descriptor, under a high number if there is one.
    pub fn new(found: T) -> Self {
        let found: OwnedFd = found.into();
        let high = fcntl_dupfd_cloexec(&found, HIGH).unwrap_or(found);
        note(high.as_raw_fd(), true);
        Self(T::from(high))
    }
}

impl<T: AsRawFd> Kept<T> {
    /// Keeps a descriptor under the number that it has.
    pub fn in_place(found: T) -> Self {
        note(found.as_raw_fd(), true);
        Self(found)
    }
}

impl<T: AsRawFd> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: AsRawFd> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: AsRawFd> Drop for Kept<T> {
    fn drop(&mut self) {
        note(self.0.as_raw_fd(), false);
    }
}

impl<T: AsRawFd + AsFd> AsFd for Kept<T> {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn note(number: RawFd, kept: bool) {
    let at = number as usize;
    let Some(word) = KEPT.get(at / BITS) else {
        return;
    };
    let bit = 1 << (at % BITS);
    match kept {
        true => word.fetch_or(bit, Ordering::Relaxed),
        false => word.fetch_and(!bit, Ordering::Relaxed),
    };
}

/// Whether a number is that of a descriptor which extended memory needs.
pub fn is_kept(number: RawFd) -> bool {
    let word = usize::try_from(number)
        .ok()
        .and_then(|at| Some(KEPT.get(at / BITS)?.load(Ordering::Relaxed) >> (at % BITS)));
    word.is_some_and(|word| word & 1 == 1)
}

/// Returns the least number from `first` on that [`is_kept`].
pub fn next_kept(first: RawFd) -> Option<RawFd> {
    let words = KEPT.iter().enumerate().skip(first.max(0) as usize / BITS);
    let bits = words.filter(|(_, word)| word.load(Ordering::Relaxed) != 0);
    let numbers = bits.flat_map(|(at, _)| (at * BITS..(at + 1) * BITS).map(|at| at as RawFd));
    numbers.skip_while(|at| *at < first).find(|at| is_kept(*at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn what_is_kept_is_told_until_it_is_dropped() {
        let kept = Kept::new(File::open("/dev/null").unwrap());
        let number = kept.as_raw_fd();
        assert!(number >= HIGH && is_kept(number));
        assert_eq!(next_kept(number), Some(number));
        assert!(next_kept(0).is_some_and(|first| first <= number));
        assert!(!is_kept(-1) && !is_kept(RawFd::MAX) && !is_kept(0));
        drop(kept);
        assert_ne!(next_kept(number), Some(number));
    }
}
