//! Pages that are there, and pages that are not.

use super::*;
use crate::page::{BYTES, WORDS, Word};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

/// Maps two pages of `file`, or of no file.
fn mapped(file: Option<&std::fs::File>, protection: i32) -> *mut Page {
    let kind = file.map_or(libc::MAP_ANONYMOUS, |_| 0);
    let descriptor = file.map_or(-1, |file| file.as_raw_fd());
    // SAFETY: a new mapping.
    let address = unsafe {
        let flags = libc::MAP_PRIVATE | kind;
        libc::mmap(null_mut(), 2 * BYTES, protection, flags, descriptor, 0)
    };
    assert_ne!(address, libc::MAP_FAILED);
    address.cast()
}

fn read(from: *const Page) -> Option<Page> {
    prepare().unwrap();
    copy(from, &mut MaybeUninit::uninit()).copied()
}

#[test]
fn a_page_that_is_there_is_copied() {
    let mut here = Box::new([[0; 8]; WORDS]);
    (0_u64..)
        .zip(&mut *here)
        .for_each(|(i, word)| *word = (i * i).to_le_bytes());
    assert_eq!(read(&raw const *here), Some(*here));
}

#[test]
fn a_page_that_is_protected_or_unmapped_is_not() {
    let pages = mapped(None, libc::PROT_NONE);
    assert_eq!(read(pages), None);
    // SAFETY: the mapping just made.
    unsafe { libc::mprotect(pages.cast(), BYTES, libc::PROT_READ) };
    assert_eq!(read(pages), Some([[0; 8]; WORDS]));
    // The second half is not there.
    assert_eq!(read(pages.wrapping_byte_add(BYTES / 2)), None);
    // SAFETY: the mapping made above, to which nothing refers.
    unsafe { libc::munmap(pages.cast(), 2 * BYTES) };
    assert_eq!(read(pages), None);
}

#[test]
fn a_word_is_there_or_is_not() {
    prepare().unwrap();
    let word = |from: *const Word| copy(from, &mut MaybeUninit::uninit()).copied();
    let here = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    assert_eq!(word(&raw const here), Some(here));
    let pages = mapped(None, libc::PROT_READ);
    let last = pages.wrapping_add(2).cast::<Word>();
    assert_eq!(word(last.wrapping_sub(1)), Some([0; 8]));
    // SAFETY: the mapping made above, to which nothing refers.
    unsafe { libc::munmap(pages.cast(), 2 * BYTES) };
    assert_eq!(word(last.wrapping_sub(1)), None);
}

#[test]
fn a_page_beyond_the_end_of_its_file_is_not() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(100).unwrap();
    let pages = mapped(Some(&file), libc::PROT_READ);
    assert_eq!(read(pages), Some([[0; 8]; WORDS]));
    assert_eq!(read(pages.wrapping_add(1)), None);
    file.set_len(0).unwrap();
    assert_eq!(read(pages), None);
    // SAFETY: the mapping made above.
    unsafe { libc::munmap(pages.cast(), 2 * BYTES) };
}

/// Another fault goes to the handler that was there: the standard library's, which then has the
/// default action end the process.
#[test]
fn another_fault_ends_the_process() {
    prepare().unwrap();
    let pages = mapped(None, libc::PROT_NONE);
    // SAFETY: the child allocates nothing and does not return.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: not sound, as intended: it is not mapped, and ends the process.
        unsafe {
            let _ = pages.cast::<u8>().read_volatile();
            libc::_exit(0);
        }
    }
    let mut status = 0;
    // SAFETY: the status is ours.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert!(libc::WIFSIGNALED(status));
    assert_eq!(libc::WTERMSIG(status), libc::SIGSEGV);
}
