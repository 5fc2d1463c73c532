//! What was reported of each page of a process: a copy of the page, and the version of the report.
//!
//! A table of two levels over page numbers. Its parts are mapped when they are first needed and
//! take memory only where pages are touched; they stay until the process ends. A forked child does
//! not inherit them (`MADV_DONTFORK`): it begins with an empty table, and a fork does not become
//! slower by them.

use std::cell::UnsafeCell;
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::mapping;
use crate::page::{Page, SHIFT};

/// Page numbers have 36 bits, of addresses of 48: the low ones choose within a part.
const PART_BITS: u32 = 15;
const PARTS: usize = 1 << (48 - SHIFT - PART_BITS);
const PAGES: usize = 1 << PART_BITS;

/// The pages of a process.
#[derive(Debug)]
pub struct Shadow {
    /// `PARTS` pointers to the parts that there are.
    parts: AtomicPtr<AtomicPtr<Part>>,
}

/// Neighbouring pages.
#[repr(C)]
struct Part {
    pages: [UnsafeCell<Page>; PAGES],
    versions: [UnsafeCell<u32>; PAGES],
    epochs: [UnsafeCell<u32>; PAGES],
    /// By page: 1 while a thread works on it.
    locks: [AtomicU32; PAGES],
}

/// What was reported of a page.
pub struct Known<'a> {
    /// What it held then; zeros where it was never reported.
    pub page: &'a mut Page,
    /// The number of reports so far.
    pub version: &'a mut u32,
    /// When it was compared last, in a count that its user keeps; 0 where it never was.
    pub epoch: &'a mut u32,
}

impl Shadow {
    /// Makes the table of a process that has not reported anything.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn new() -> io::Result<Self> {
        let parts = AtomicPtr::new(map(PARTS * size_of::<AtomicPtr<Part>>())?.cast());
        Ok(Self { parts })
    }

    /// Begins anew in a forked child, which has not inherited the table.
    ///
    /// # Errors
    /// Returns the error of the system, which refused the memory.
    pub fn begin(&self) -> io::Result<()> {
        let parts = Self::new()?.parts.into_inner();
        self.parts.store(parts, Ordering::Release);
        Ok(())
    }

    /// Works on a page, named by its number, while no other thread does. Returns none where there
    /// is no memory for it.
    #[inline]
    pub fn with<T>(&self, page: u64, work: impl FnOnce(Known<'_>) -> T) -> Option<T> {
        let part = self.part(page >> PART_BITS)?;
        let place = page as usize % PAGES;
        lock(&part.locks[place]);
        // SAFETY: no other thread has a reference to any of them while the lock is held, which is
        // given back below after the last use.
        let known = unsafe {
            Known {
                page: &mut *part.pages[place].get(),
                version: &mut *part.versions[place].get(),
                epoch: &mut *part.epochs[place].get(),
            }
        };
        let done = work(known);
        part.locks[place].store(0, Ordering::Release);
        Some(done)
    }

    #[inline]
    fn part(&self, number: u64) -> Option<&Part> {
        let number = usize::try_from(number).ok().filter(|n| *n < PARTS)?;
        let parts = self.parts.load(Ordering::Acquire);
        if parts.is_null() {
            return None;
        }
        // SAFETY: the table has `PARTS` pointers, zeros at first, and stays mapped.
        let slot = unsafe { &*parts.add(number) };
        let part = slot.load(Ordering::Acquire);
        let part = if part.is_null() { make(slot)? } else { part };
        // SAFETY: mapped with this size by `make`, zeros at first, which are values of all its
        // fields, and never unmapped.
        Some(unsafe { &*part })
    }
}

/// Maps a part for `slot`, unless another thread is faster.
#[cold]
fn make(slot: &AtomicPtr<Part>) -> Option<*mut Part> {
    let part = map(size_of::<Part>()).ok()?.cast();
    match slot.compare_exchange(null_mut(), part, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(part),
        Err(theirs) => {
            // SAFETY: mapped above with this size, and no other thread knows it.
            unsafe { libc::munmap(part.cast(), size_of::<Part>()) };
            Some(theirs)
        }
    }
}

/// Maps zeros that a forked child does not inherit; only what is touched takes memory.
fn map(bytes: usize) -> io::Result<*mut libc::c_void> {
    let address = mapping::zeros(bytes)?;
    // SAFETY: the mapping just made.
    if unsafe { libc::madvise(address, bytes, libc::MADV_DONTFORK) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(address)
}

/// Waits for the lock, which is held for less than a microsecond unless its holder is not running.
#[inline]
fn lock(lock: &AtomicU32) {
    let taken = || lock.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed);
    while taken().is_err() {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::WORDS;

    /// The version of a page and its first word.
    fn seen(shadow: &Shadow, page: u64) -> (u32, [u8; 8]) {
        let seen = shadow.with(page, |known| (*known.version, known.page[0]));
        seen.unwrap()
    }

    #[test]
    fn pages_are_told_apart() {
        let shadow = Shadow::new().unwrap();
        let pages = [0, 1, PAGES as u64 - 1, PAGES as u64, 1 << 20, (1 << 36) - 1];
        for page in pages {
            assert_eq!(seen(&shadow, page), (0, [0; 8]));
            let change = |known: Known<'_>| {
                *known.version += 1;
                *known.page = [(page + 1).to_le_bytes(); WORDS];
            };
            shadow.with(page, change).unwrap();
        }
        for page in pages {
            assert_eq!(seen(&shadow, page), (1, (page + 1).to_le_bytes()));
        }
        assert!(shadow.with(1 << 36, |_| ()).is_none());
    }

    #[test]
    fn one_thread_works_on_a_page_at_a_time() {
        const EACH: u32 = 20_000;
        let shadow = Shadow::new().unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..EACH {
                        let change = |known: Known<'_>| {
                            *known.version += 1;
                            known.page.fill(u64::from(*known.version).to_le_bytes());
                        };
                        shadow.with(7, change).unwrap();
                    }
                });
            }
        });
        let last = u64::from(4 * EACH).to_le_bytes();
        assert_eq!(seen(&shadow, 7), (4 * EACH, last));
    }

    #[test]
    fn a_forked_child_begins_with_nothing() {
        let shadow = Shadow::new().unwrap();
        shadow.with(7, |known| *known.version = 5).unwrap();
        // SAFETY: the child makes system calls alone, allocates nothing, and does not return.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let begun = shadow.begin().is_ok() && shadow.with(7, |known| *known.version) == Some(0);
            // SAFETY: ends the process at once.
            unsafe { libc::_exit(i32::from(!begun)) };
        }
        let mut status = 0;
        // SAFETY: the status is ours.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_eq!(status, 0);
        assert_eq!(shadow.with(7, |known| *known.version), Some(5));
    }
}
